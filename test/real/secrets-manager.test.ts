import { describe } from 'vitest';
import { secretsManagerContract } from '../contract/secrets-manager.contract.ts';
import { startOpenBao } from './openbao.ts';
import { findServer } from './real-server.ts';

const { program, missing } = findServer('openbao');

describe.skipIf(missing)(`a real OpenBao${missing ? ` (${missing})` : ''}`, () => {
  secretsManagerContract(() => startOpenBao(program ?? ''));
});
