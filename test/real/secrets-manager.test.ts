import { describe } from 'vitest';
import { autoUnsealContract } from '../contract/auto-unseal.contract.ts';
import { secretsManagerContract } from '../contract/secrets-manager.contract.ts';
import { describeContract } from './describe-contract.ts';
import { startOpenBao } from './openbao.ts';
import { findServer } from './real-server.ts';
import { runOrThrow } from './scripts.ts';

const { program = '', missing } = findServer('openbao');
const version = () => runOrThrow([program, 'version']);

describeContract('vault', { name: 'OpenBao', missing, version }, () => {
  describe('with key shares', () => secretsManagerContract(() => startOpenBao(program)));
  describe('with auto-unseal', () => autoUnsealContract(() => startOpenBao(program, { opensItself: true })));
});
