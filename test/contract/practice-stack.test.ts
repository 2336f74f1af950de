import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { QuarterdeckApp } from '../../source/app/app.ts';
import { createApp } from '../../source/app/create-app.ts';
import { openOwn, type PracticeAccess } from '../../source/app/practice-access.ts';
import { ownPaths } from '../../source/config/paths.ts';
import type { ComponentView } from '../../source/fleet/model.ts';
import { clusterPort } from '../../source/products/kubernetes/simulator/cluster.ts';
import { OperatorDouble } from '../doubles/operator-double.ts';
import { ask } from '../real/ask.ts';

let home: string;
let access: PracticeAccess;
let app: QuarterdeckApp;
const ending = new AbortController();

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'qd-world-'));
  access = await openOwn(ownPaths({ QUARTERDECK_HOME: home }, home));
  app = await createApp({ readOnly: false, dryRun: false, signal: ending.signal, practice: access });
  await app.fleet.settle(AbortSignal.timeout(20_000), 'complete');
});
afterAll(async () => {
  ending.abort();
  await app?.close();
  await access?.close();
  await rm(home, { recursive: true, force: true });
});

async function lines(name: string, tty = false): Promise<{ text: string; stream: string; timeMs: number | undefined }[]> {
  const found: { text: string; stream: string; timeMs: number | undefined }[] = [];
  const reading = app.context.engineOf('practice').logs(name, { signal: AbortSignal.timeout(10_000), follow: false, tty });
  for await (const batch of reading) found.push(...batch);
  return found;
}
const component = (id: string): ComponentView | undefined => app.fleet.snapshot().components.find((one) => one.id === id);
const word = (id: string) => component(id)?.state.label;
const becomes = (id: string, wanted: RegExp) => expect.poll(() => word(id), { timeout: 15_000 }).toMatch(wanted);
async function play(name: string): Promise<string> {
  const incident = app.flows.find(({ id }) => id === 'incident');
  if (!incident) throw new Error('no incident is offered');
  const outcome = await app.run(incident, { engineName: 'practice', words: [name], options: {} }, new OperatorDouble(), ending.signal);
  // Probes are asked every few seconds; a test does not wait for them.
  app.fleet.refresh();
  return outcome.message;
}

describe('the practice world at its start', () => {
  test('has components of every group but clusters, each as its own probe says, and some left to deploy', () => {
    for (const id of ['recipe-manager', 'internal-ca', 'vpn-client-gateway']) expect(component(id), id).toBeUndefined();
    const known = app.catalog.entries.filter(({ id }) => component(id) !== undefined);
    expect(new Set(known.map(({ group }) => group))).toEqual(new Set(['security', 'ai', 'media', 'vpn', 'productivity', 'networking']));
    const said = Object.fromEntries(known.map(({ id }) => [id, word(id)]));
    expect(said).toEqual({
      'dns-filter-second': 'setup required',
      'file-sync': 'unhealthy',
      'idp-enterprise': 'stopped',
      'intrusion-prevention': 'healthy',
      'ldap-directory': 'healthy',
      'llm-proxy': 'database down',
      'media-server': 'healthy',
      'mesh-control-server': 'healthy',
      'model-runtime': '1 of 2 loaded',
      'password-vault': 'sign-ups open',
      'reverse-proxy': 'proxying',
      'rss-reader': 'healthy',
      'secrets-manager-path': 'sealed 0/3',
      'sso-portal': 'healthy',
      'vulnerability-scanner': expect.stringMatching(/^loading 1\d\/30 min$/),
    });
  });

  test('shows its ports as a machine would, and no conflict', () => {
    const { ports } = app.fleet.snapshot();
    expect(ports.find(({ port }) => port === 8200)).toMatchObject({
      exposure: 'loopback',
      component: expect.stringContaining('secrets-manager-path'),
    });
    expect(ports.filter(({ conflictWith }) => conflictWith && conflictWith.length > 0)).toEqual([]);
  });

  test('has logs of hours, in the manner of each program: JSON, logfmt, a terminal with colours, lines on stderr', async () => {
    const proxy = await lines('reverse-proxy-caddy-1');
    expect(proxy.length).toBeGreaterThan(300);
    for (const { text } of proxy) expect(() => JSON.parse(text)).not.toThrow();
    expect(Date.now() - (proxy[20]?.timeMs ?? 0)).toBeGreaterThan(60 * 60_000);
    const times = proxy.map(({ timeMs = 0 }) => timeMs);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(new Set(proxy.map(({ stream }) => stream))).toEqual(new Set(['stderr']));
    expect((await lines('sso-portal-portal-1')).at(-1)?.text).toMatch(/^time="[^"]+" level=\w+ msg=/);
    expect((await lines('llm-proxy-litellm-1', true)).some(({ text }) => text.includes('\x1b[32m'))).toBe(true);
    expect((await lines('media-server-jellyfin-1')).some(({ text }) => text.startsWith('   at '))).toBe(true);
  });

  test('no log is younger than what it tells of: products too wrote their first words when they were started', async () => {
    for (const name of [
      'secrets-manager-path-openbao-1',
      'mesh-control-server-control-1',
      'intrusion-prevention-crowdsec-1',
      'practice-control-plane',
    ]) {
      const { State } = JSON.parse((await ask({ socket: join(access.folder, 'engine.sock') }, `/containers/${name}/json`)).body) as {
        State: { StartedAt: string };
      };
      const said = await lines(name);
      const startedMs = Date.parse(State.StartedAt);
      expect(Math.abs((said[0]?.timeMs ?? 0) - startedMs), name).toBeLessThan(2_000);
      // The times that programs write themselves say the same; the cluster's have no year.
      const own = said.map(({ text }) => /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/.exec(text)?.[0]).find(Boolean);
      if (name !== 'practice-control-plane') expect(Math.abs(Date.parse(own ?? '') - startedMs), name).toBeLessThan(2_000);
      const times = said.map(({ timeMs = 0 }) => timeMs);
      expect(times, name).toEqual([...times].sort((a, b) => a - b));
    }
    // What answers all day has something to tell of it.
    const stamped = (await lines('rss-reader-db-1')).filter(({ text }) => /^\d{4}-/.test(text));
    expect(stamped.length).toBeGreaterThan(100);
    for (const { text, timeMs = 0 } of stamped)
      expect(Math.abs(Date.parse(`${text.slice(0, 10)}T${text.slice(11, 23)}Z`) - timeMs), text).toBeLessThan(2_000);
    for (const name of ['mesh-control-server-control-1', 'intrusion-prevention-crowdsec-1'])
      expect((await lines(name)).filter(({ timeMs = 0 }) => timeMs < Date.now() - 3_600_000).length, name).toBeGreaterThan(50);
  });

  test('tells the same past at every start', async () => {
    const texts = async (where: PracticeAccess) =>
      (await ask({ socket: join(where.folder, 'engine.sock') }, '/containers/idp-enterprise-keycloak-1/json')).body;
    const { Id } = JSON.parse(await texts(access)) as { Id: string };
    expect(Id).toMatch(/^[0-9a-f]{64}$/);
    const other = await mkdtemp(join(tmpdir(), 'qd-world-'));
    // In a process of its own it would have a folder of its own.
    const again = await openOwn(ownPaths({ QUARTERDECK_HOME: other }, other));
    try {
      expect((JSON.parse(await texts(again)) as { Id: string }).Id).toBe(Id);
      // But no secret of an earlier one.
      expect(again.facts.rootToken).not.toBe(access.facts.rootToken);
      expect(again.facts.shares).not.toEqual(access.facts.shares);
    } finally {
      await again.close();
      await rm(other, { recursive: true, force: true });
    }
  });
});

describe('incidents on cue', () => {
  test('a restart loop: dies with an error, restarts are counted, calm ends it', async () => {
    expect(await play('restart-loop')).toBe('Incident started: A program in a restart loop.');
    await becomes('password-vault', /^restarting \d+x$/);
    await expect.poll(() => component('password-vault')?.restarts ?? 0, { timeout: 15_000 }).toBeGreaterThan(2);
    await play('calm');
    // The console keeps calling it a loop until it has stayed up for half a minute; the vault itself answers at once.
    const alive = () =>
      ask({ socket: join(access.folder, 'ports', '8180.sock') }, '/alive').then(
        ({ status }) => status,
        () => 0,
      );
    await expect.poll(alive, { timeout: 10_000 }).toBe(200);
  });

  test('a full disk: the database is unhealthy, the reader fails, df shows where the room went', async () => {
    await play('full-disk');
    await becomes('rss-reader', /^database down$/);
    const { volumes } = await app.context.engineOf('practice').diskUsage(ending.signal);
    expect(volumes.find(({ name }) => name === 'rss-reader_db')?.sizeBytes).toBeGreaterThan(50e9);
    await play('calm');
    await becomes('rss-reader', /^healthy$/);
  });

  test('an attack: failed logins in bursts, and CrowdSec decides', async () => {
    const socket = join(access.folder, 'engine.sock');
    const failures = async () =>
      (
        (await ask({ socket }, `/containers/sso-portal-portal-1/logs?stdout=1&since=${Math.floor(Date.now() / 1000 - 5)}`)).body.match(
          /Unsuccessful 1FA/g,
        ) ?? []
      ).length;
    const decided = async () => {
      const argv = ['cscli', 'decisions', 'list', '-o', 'json'];
      const { stdout } = await app.context
        .engineOf('practice')
        .execReading('intrusion-prevention-crowdsec-1', argv, { signal: ending.signal });
      return (JSON.parse(Buffer.from(stdout).toString()) as unknown[] | null)?.length ?? 0;
    };
    const before = await decided();
    await play('attack');
    await expect.poll(failures, { timeout: 15_000 }).toBeGreaterThan(5);
    await expect.poll(decided, { timeout: 15_000 }).toBeGreaterThan(before);
    await play('calm');
  });

  test('a restart seals the secrets manager; key shares unseal it', async () => {
    const { address } = access.facts.products['secrets-manager-path'] ?? { address: '' };
    const unseal = (key: string) =>
      ask({ socket: address.replace('unix://', '') }, '/v1/sys/unseal', { method: 'PUT', body: JSON.stringify({ key }) });
    for (const share of access.facts.shares.slice(0, access.facts.threshold)) expect((await unseal(share)).status).toBe(200);
    app.fleet.refresh();
    await becomes('secrets-manager-path', /^healthy$/);
    await play('sealed');
    await becomes('secrets-manager-path', /^sealed 0\/3$/);
  });

  test('a mesh control server loses its database, and calm restarts it', async () => {
    const state = word('mesh-control-server');
    await play('mesh-database');
    await expect.poll(() => word('mesh-control-server'), { timeout: 15_000 }).not.toBe(state);
    await play('mesh-node-expired');
    await play('calm');
    await expect.poll(() => word('mesh-control-server'), { timeout: 15_000 }).toBe(state);
  });

  test('a node of the cluster is not ready', async () => {
    const token = /token: (\S+)/.exec(await readFile(access.facts.kubeconfig, 'utf8'))?.[1] ?? '';
    const ready = async () => {
      const headers = { Authorization: `Bearer ${token}` };
      const { body } = await ask({ socket: join(access.folder, 'ports', `${clusterPort}.sock`) }, '/api/v1/nodes/worker-2', { headers });
      const { status } = JSON.parse(body) as { status: { conditions: { type: string; status: string }[] } };
      return status.conditions.find(({ type }) => type === 'Ready')?.status;
    };
    expect(await ready()).toBe('True');
    await play('node-not-ready');
    expect(await ready()).not.toBe('True');
  });

  test('a restart mends what a restart can mend', async () => {
    const restart = app.flows.find(({ id }) => id === 'restart');
    const fileSync = component('file-sync');
    if (!restart || !fileSync) throw new Error('nothing to restart');
    await app.run(restart, { engineName: 'practice', component: fileSync, words: [], options: {} }, new OperatorDouble(), ending.signal);
    await becomes('file-sync', /^healthy$/);
  });

  test('one that is not known is refused, and read-only lets nothing happen', async () => {
    await expect(play('no-such')).rejects.toMatchObject({ code: 'usage.incident' });
    const incident = app.flows.find(({ id }) => id === 'incident');
    expect(incident?.right).toBe('operate');
  });
});
