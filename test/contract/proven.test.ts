import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findStaleness, hashSuite, readProofs, type Suite, suiteNames, suites } from './suites.ts';

const proofs = readProofs();
const inCi = (suite: Suite) => suite.real !== undefined && suite.provide === undefined;

describe('a simulator is as it was when it passed against the real server', () => {
  for (const name of suiteNames) {
    const proof = proofs[name];
    if (inCi(suites[name])) test.skip(`${name}: CI runs the suite itself`);
    else if (proof && 'unproven' in proof) test.skip(`${name} is unproven: ${proof.unproven}`);
    else
      test(name, async () => {
        expect(findStaleness(name, proof, await hashSuite(suites[name]))).toBeUndefined();
      });
  }

  test('every simulator and every contract of one belongs to a suite', () => {
    const root = resolve(import.meta.dirname, '../..');
    const products = readdirSync(join(root, 'source/products'), { recursive: true, encoding: 'utf8' });
    const withSimulator = products.filter((path) => path.endsWith('/simulator')).map((path) => `source/products/${path}/`);
    const entries = Object.values(suites).flatMap(({ simulators, contracts }: Suite) => [...simulators, ...contracts]);
    expect(withSimulator.filter((path) => !entries.some((entry) => entry.startsWith(path)))).toEqual([]);
    const contracts = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.contract.ts'));
    // What a host must do has no simulator: this machine and one over ssh are both real.
    const ofSimulators = contracts.filter((name) => !name.startsWith('host-'));
    expect(ofSimulators.filter((name) => !entries.includes(`test/contract/${name}`))).toEqual([]);
  });
});

describe('the hash of a simulator and its contract', () => {
  const suite = { simulators: ['source/simulator.ts'], contracts: ['test/contract/seal.contract.ts'] };
  const files = {
    'source/simulator.ts': "import { limit } from './limits.ts';\nexport const create = (seals: number) => Math.min(seals, limit);\n",
    'source/limits.ts': 'export const limit = 5;\nexport const unused = 1;\n',
    'source/client.ts': 'export const ask = (open: () => number) => open();\n',
    'test/contract/seal.contract.ts':
      "import { ask } from '../../source/client.ts';\nexport function contract(open: () => number) {\n  if (ask(open) !== 3) throw new Error('no');\n}\n",
  };
  let folder: string;
  let before: string;
  const hashWith = async (changes: Partial<Record<keyof typeof files | 'source/bounds.ts', string>>) => {
    rmSync(folder, { recursive: true, force: true });
    for (const [path, content] of Object.entries({ ...files, ...changes })) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), content);
    }
    return await hashSuite(suite, folder);
  };
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'quarterdeck-proofs-'));
    before = await hashWith({});
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each([
    ['the simulator', { 'source/simulator.ts': files['source/simulator.ts'].replace('Math.min', 'Math.max') }],
    ['what the simulator imports', { 'source/limits.ts': files['source/limits.ts'].replace('5', '6') }],
    ['the contract', { 'test/contract/seal.contract.ts': files['test/contract/seal.contract.ts'].replace('3', '2') }],
  ])('changes with %s, and the proof is stale', async (_, changes) => {
    const after = await hashWith(changes);
    expect(after).not.toBe(before);
    const proof = { server: 'OpenBao 2.6.2', date: '2026-11-26', tests: 40, hash: before };
    expect(findStaleness('vault', proof, before)).toBeUndefined();
    expect(findStaleness('vault', proof, after)).toBe(
      'The simulator or contract of vault changed since it passed against OpenBao 2.6.2 on 2026-11-26. ' +
        'Run: test/real/servers openbao && npm run prove vault',
    );
  });

  test.each([
    [
      'comments, types and formatting',
      { 'source/limits.ts': '/** Shares. */\nexport const limit: number =\n  5; export const unused = 1' },
    ],
    ['the client', { 'source/client.ts': 'export const ask = () => 3;\n' }],
    ['names of local variables', { 'source/simulator.ts': files['source/simulator.ts'].replaceAll('seals', 'shares') }],
    ['code that is not reached', { 'source/limits.ts': 'export const limit = 5;\n' }],
    [
      'the name of a file',
      { 'source/simulator.ts': files['source/simulator.ts'].replace('limits', 'bounds'), 'source/bounds.ts': files['source/limits.ts'] },
    ],
  ])('is the same after a change of %s', async (_, changes) => {
    expect(await hashWith(changes)).toBe(before);
  });
});
