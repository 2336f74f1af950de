import { describe } from 'vitest';
import { autoUnsealContract } from '../contract/auto-unseal.contract.ts';
import { secretsManagerContract } from '../contract/secrets-manager.contract.ts';
import { startOpenBao } from './openbao.ts';
import { findServer } from './real-server.ts';

const { program, missing } = findServer('openbao');

describe.skipIf(missing)(`a real OpenBao${missing ? ` (${missing})` : ''}`, () => {
  secretsManagerContract(() => startOpenBao(program ?? ''));
});

describe.skipIf(missing)(`a real OpenBao that opens itself${missing ? ` (${missing})` : ''}`, () => {
  autoUnsealContract(() => startOpenBao(program ?? '', { opensItself: true }));
});
