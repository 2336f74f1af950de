import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { mintGrant } from '../../source/grants/mint.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import {
  createSnapshot,
  type EtcdTools,
  findEtcdTools,
  queryEtcd,
  snapshotCommands,
  snapshotFile,
  verifySnapshot,
} from '../../source/products/kubernetes/client/etcd-snapshot.ts';
import { execOverHost } from '../../source/products/kubernetes/node-exec.ts';
import { describeUnless } from '../required.ts';
import { missingEtcd } from './etcd-programs.ts';
import { freePort, type RunningServer, runServer } from './real-server.ts';

describeUnless(missingEtcd(), 'a real etcd (R73)', () => {
  const signal = new AbortController().signal;
  const grant = mintGrant('snapshot', 'operate', signal);
  const nodeExec = execOverHost(openLocalHost(), 'on this machine', true);
  let folder: string;
  let server: RunningServer;
  let tools: EtcdTools;
  let endpoint: string;
  const etcdctl = (...words: string[]) =>
    execFileSync('etcdctl', ['--endpoints', endpoint, ...words], {
      env: { ...process.env, ETCDCTL_API: '3' },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });

  async function start(name: string): Promise<void> {
    const [client, peer] = [await freePort(), await freePort()];
    endpoint = `http://127.0.0.1:${client}`;
    const peers = `http://127.0.0.1:${peer}`;
    const args = [
      '--name',
      name,
      '--data-dir',
      join(folder, name),
      '--listen-client-urls',
      endpoint,
      '--advertise-client-urls',
      endpoint,
      '--listen-peer-urls',
      peers,
      '--initial-advertise-peer-urls',
      peers,
      '--initial-cluster',
      `${name}=${peers}`,
    ];
    server = await runServer('etcd', args, { cwd: folder, answers: `${endpoint}/health` });
    // It answers before it has a leader.
    await vi.waitFor(() => etcdctl('put', 'ready', name), { timeout: 20_000, interval: 100 });
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'quarterdeck-etcd-'));
    await start('first');
    const found = await findEtcdTools(nodeExec, signal);
    if (!found) throw new Error('etcdctl is not found');
    tools = { ...found, folder };
  });
  afterAll(async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test('its programs are found, and what can read a snapshot', () => {
    expect(tools).toMatchObject({ prefix: [], version: expect.stringMatching(/^3\.\d+\.\d+$/) });
    expect(tools.verifier).toBe(tools.version.startsWith('3.4') ? 'etcdctl' : tools.verifier);
  });

  test('a snapshot is taken, read by its own program, and holds what was there', async () => {
    for (const key of ['one', 'two', 'three']) etcdctl('put', key, `value of ${key}`);
    const { revision, alarms } = await queryEtcd(nodeExec, tools, { endpoint }, signal);
    expect(alarms).toBe('');
    const file = snapshotFile(tools.folder, Date.now());
    const snapshot = await createSnapshot(grant, nodeExec, tools, { endpoint }, file);
    expect(snapshot).toMatchObject({ file, keys: expect.any(Number), hash: expect.stringMatching(/^[0-9a-f]+$/) });
    expect(snapshot.revision).toBe(revision);
    expect(snapshot.keys).toBeGreaterThanOrEqual(4);
    // It holds every secret of a cluster.
    expect((await stat(file)).mode & 0o077).toBe(0);
    // What its program prints for people says the same.
    expect(etcdctl('snapshot', 'status', file)).toMatch(new RegExp(`^${snapshot.hash}, ${revision}, ${snapshot.keys}, `));
    expect(snapshotCommands(tools, { endpoint }, file).map((argv) => argv.join(' '))).toEqual([
      `mkdir -p -m 700 ${folder}`,
      `etcdctl --endpoints ${endpoint} snapshot save ${file}`,
      `${tools.verifier} snapshot status ${file} -w json`,
    ]);
    // And a server that is made of it knows the keys.
    etcdctl(
      'snapshot',
      'restore',
      file,
      '--data-dir',
      join(folder, 'restored'),
      '--name',
      'restored',
      '--initial-cluster',
      'restored=http://127.0.0.1:1',
      '--initial-advertise-peer-urls',
      'http://127.0.0.1:1',
    );
    await expect(stat(join(folder, 'restored', 'member', 'snap', 'db'))).resolves.toMatchObject({ size: expect.any(Number) });
  });

  test('one that was cut off, is empty or is not there is no snapshot', async () => {
    const file = join(folder, 'cut.db');
    await createSnapshot(grant, nodeExec, tools, { endpoint }, file);
    const { size } = await stat(file);
    // `snapshot status` accepts one that lacks only pages that it does not read.
    for (const length of [size - 1, size - 32, size - 4096, Math.floor(size / 3), 0]) {
      await truncate(file, length);
      await expect(verifySnapshot(nodeExec, tools, file, signal), `${length} of ${size}`).rejects.toMatchObject({
        code: 'failed.snapshot',
      });
    }
    await expect(verifySnapshot(nodeExec, tools, join(folder, 'nothing.db'), signal)).rejects.toMatchObject({ code: 'failed.snapshot' });
  });

  test('an etcd that does not answer, and a folder that cannot be written, are told in its own words', async () => {
    const nowhere = { endpoint: 'http://127.0.0.1:1' };
    await expect(createSnapshot(grant, nodeExec, tools, nowhere, join(folder, 'no.db'))).rejects.toMatchObject({
      code: 'failed.snapshot',
      message: expect.stringMatching(/^etcdctl endpoint status failed \(\d+\): /),
    });
    await expect(createSnapshot(grant, nodeExec, tools, { endpoint }, '/proc/no.db')).rejects.toMatchObject({
      code: 'failed.snapshot',
      message: expect.stringMatching(/^etcdctl failed \(5\): .*no\.db/),
    });
  });
});
