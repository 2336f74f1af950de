import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { catalogEntry, containerDetail } from '../../test/doubles/container-facts.ts';
import { EngineDouble } from '../../test/doubles/engine-double.ts';
import { hostDouble } from '../../test/doubles/live-engine.ts';
import { VaultDouble } from '../../test/doubles/vault-double.ts';
import type { ComponentCall } from '../catalog/schema.ts';
import type { ProbeTarget } from '../fleet/probe-watch.ts';
import { ProbeCredentials } from './probe-credentials.ts';

let folder: string;
let vault: VaultDouble;
let opened: number;
let reads: string[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'qd-credentials-'));
  vault = new VaultDouble();
  [opened, reads] = [0, []];
  const { read } = vault;
  vault.read = (name, ...more) => {
    reads.push(name);
    return read.call(vault, name, ...more);
  };
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const credentials = () =>
  new ProbeCredentials({
    open: async () => {
      opened++;
      return vault;
    },
    refusedFile: join(folder, 'refused.json'),
  });

const input = (field?: string) => ({
  ...{ type: 'secret-string' as const, description: '', required: true, secret: true, file: false },
  ...(field !== undefined && { field }),
});
const call = { title: 'List', reads: true, auth: 'key', inputs: { API_KEY: input('API key') } } as unknown as ComponentCall;

function targetWith(target: 'credential' | 'environment', env: [string, string][] = []): ProbeTarget {
  const field = { name: 'API key', env: 'SHOP_KEY', type: 'secret-string' as const, secret: true, required: false, excludes: [], target };
  return {
    ...{ key: 'nas/shop/shop', engineName: 'nas', id: 'shop' },
    entry: catalogEntry('shop', { app: { image: 'shop', main: true } }, { fields: [field] }),
    ...{ host: hostDouble(), hostAddresses: [], engine: new EngineDouble(), engineFacts: undefined },
    containers: new Map([['app', containerDetail({ name: 'shop', env })]]),
  };
}

test('what login stored is read once, and again when it changed', async () => {
  await vault.write(undefined, 'nas/shop/SHOP_KEY', 'one', 'login');
  const own = credentials();
  const target = targetWith('credential');
  for (let time = 0; time < 3; time++) expect((await own.find(target, call))?.inputs).toEqual({ API_KEY: 'one' });
  expect(reads).toEqual(['nas/shop/SHOP_KEY']);
  await vault.write(undefined, 'nas/shop/SHOP_KEY', 'two', 'login');
  await own.drop({ afterLogin: false });
  expect((await own.find(target, call))?.inputs).toEqual({ API_KEY: 'two' });
  expect(reads).toHaveLength(2);
});

test('a value of the running deployment is used without opening the storage', async () => {
  const found = await credentials().find(targetWith('environment', [['SHOP_KEY', 'own']]), call);
  expect(found?.inputs).toEqual({ API_KEY: 'own' });
  expect(opened).toBe(0);
});

test('without one, there is none, and another component does not lend its own', async () => {
  await vault.write(undefined, 'nas/shop@other/login:API_KEY', 'one', 'login');
  expect(await credentials().find(targetWith('credential'), call)).toBeUndefined();
});

test('a storage that cannot be opened is not asked at each probe', async () => {
  const own = new ProbeCredentials({
    open: async () => {
      opened++;
      throw new Error('locked');
    },
  });
  for (let time = 0; time < 3; time++) expect(await own.find(targetWith('credential'), call)).toBeUndefined();
  expect(opened).toBe(1);
});

test('a refusal is remembered by the next process, for that value alone', async () => {
  await vault.write(undefined, 'nas/shop/login:API_KEY', 'one', 'login');
  const target = targetWith('credential');
  await (await credentials().find(target, call))?.refuse();
  expect((await credentials().find(target, call))?.isRefused).toBe(true);
  await vault.write(undefined, 'nas/shop/login:API_KEY', 'two', 'login');
  expect((await credentials().find(target, call))?.isRefused).toBe(false);
});

test('after the value of the deployment was refused, that of a login is used', async () => {
  const own = credentials();
  const target = targetWith('environment', [['SHOP_KEY', 'own']]);
  await (await own.find(target, call))?.refuse();
  expect(await own.find(target, call)).toMatchObject({ inputs: { API_KEY: 'own' }, isRefused: true });
  await vault.write(undefined, 'nas/shop/login:API_KEY', 'typed', 'login');
  await own.drop({ afterLogin: false });
  expect(await own.find(target, call)).toMatchObject({ inputs: { API_KEY: 'typed' }, isRefused: false });
});

test('after a login with the same value, it is sent again', async () => {
  await vault.write(undefined, 'nas/shop/login:API_KEY', 'one', 'login');
  const own = credentials();
  await (await own.find(targetWith('credential'), call))?.refuse();
  await own.drop({ afterLogin: true });
  expect((await own.find(targetWith('credential'), call))?.isRefused).toBe(false);
});
