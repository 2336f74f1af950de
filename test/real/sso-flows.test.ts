import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExecResult } from '../../source/engine/engine.ts';
import type { Flow, FlowInput } from '../../source/flows/flow.ts';
import type { Host } from '../../source/hosts/host.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import { flowOf } from '../contract/flows/registry.ts';
import { accessControl, contractUsers } from '../contract/sso-portal.contract.ts';
import { answering } from '../doubles/cancelling-operator.ts';
import { composeLabels } from '../doubles/container-facts.ts';
import { componentView, stateOf } from '../doubles/fleet-double.ts';
import { FlowFixture } from '../doubles/flow-fixture.ts';
import type { OperatorDouble } from '../doubles/operator-double.ts';
import { wholeCatalog } from '../doubles/whole-catalog.ts';
import { describeUnless } from '../required.ts';
import { findServer, freePort, type RunningServer, runServer } from './real-server.ts';
import { openRemote } from './remote-host.ts';
import { describeSshd, startSshd } from './sshd.ts';

const ssoAdd = flowOf('sso-add');
const ssoCheck = flowOf('sso-check');
const ssoTest = flowOf('sso-test');
const ssoUnban = flowOf('sso-unban');
const ssoDisable = flowOf('sso-disable');
const ssoPassword = flowOf('sso-password');

const { program = '', missing } = findServer('authelia');
const id = 'sso-portal';
const secret = 'correct horse battery';
const site = 'auth.home.example.org';

/** The procedures on a real portal: its command is run where a container would run it, its log is what an engine would hand out. */
function flowsOn(open: () => Promise<{ host: Host; leave: () => Promise<void> }>): void {
  let folder: string;
  let server: RunningServer;
  let fixture: FlowFixture;
  let machine: Awaited<ReturnType<typeof open>>;
  let url: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'qd-sso-flows-'));
    mkdirSync(join(folder, 'users'));
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const usersFile = join(folder, 'users', 'users.yml');
    const config = join(folder, 'configuration.yml');
    writeFileSync(usersFile, await contractUsers());
    writeFileSync(
      config,
      `server: {address: 'tcp://127.0.0.1:${port}/'}
log: {level: info, format: text}
authentication_backend: {file: {path: ${usersFile}, watch: true}}
session: {cookies: [{domain: home.example.org, authelia_url: 'https://${site}'}]}
storage: {local: {path: ${folder}/db.sqlite3}}
notifier: {filesystem: {filename: ${folder}/notification.txt}}
ntp: {disable_startup_check: true}
${accessControl}`,
    );
    const env = {
      ...process.env,
      AUTHELIA_IDENTITY_VALIDATION_RESET_PASSWORD_JWT_SECRET: 'a secret of the tests, long enough for it',
      AUTHELIA_SESSION_SECRET: 'another secret of the tests, long enough',
      AUTHELIA_STORAGE_ENCRYPTION_KEY: 'a third secret of the tests, long enough',
      X_AUTHELIA_CONFIG: config,
      X_AUTHELIA_CONFIG_FILTERS: 'template',
    };
    server = await runServer(program, [], { cwd: folder, answers: `${url}/api/health`, env, limitMs: 120_000 });
    machine = await open();
    const { entries } = await wholeCatalog();
    fixture = await FlowFixture.open();
    fixture.host = machine.host;
    fixture.catalog = { entries, get: (wanted) => entries.find((one) => one.id === wanted), problems: [] };
    const mounts = [{ kind: 'bind', source: join(folder, 'users'), target: join(folder, 'users'), readOnly: false }];
    fixture.engine.add('portal', {
      labels: composeLabels(id, 'portal'),
      ports: [{ address: '127.0.0.1', hostPort: port, containerPort: 9091, protocol: 'tcp' }],
      mounts,
    });
    const run = (argv: readonly string[]) =>
      new Promise<ExecResult>((resolve) => {
        execFile(program, argv.slice(1), { env, encoding: 'buffer' }, (error, stdout, stderr) =>
          resolve({ exitCode: error ? (typeof error.code === 'number' ? error.code : -1) : 0, stdout, stderr, cut: false }),
        );
      });
    const writer = fixture.engine.writer.bind(fixture.engine);
    fixture.engine.writer = (grant) => ({ ...writer(grant), exec: (_container, argv) => run(argv) });
    Object.assign(fixture.engine, {
      execReading: (_container: string, argv: readonly string[]) => run(argv),
      async *logs(_container: string, { tail }: { tail?: number }) {
        const lines = server.output().split('\n').filter(Boolean);
        const all = lines.map((text, at) => ({ text, stamp: new Date(Date.UTC(2026, 0, 1) + at).toISOString() }));
        yield tail === undefined ? all : all.slice(-tail);
      },
    });
  }, 240_000);
  afterAll(async () => {
    await machine?.leave();
    await fixture?.close();
    await server?.stop();
    if (folder) rmSync(folder, { recursive: true, force: true });
  });

  const component = componentView(id, { key: `local/${id}/${id}`, project: id, speaks: 'authelia', state: stateOf('healthy') });
  const run = (flow: Flow, words: readonly string[], answers: OperatorDouble['answers'] = {}, options: FlowInput['options'] = {}) => {
    fixture.operator = answering(answers);
    return fixture.run(flow, component, { words, options });
  };
  const logIn = async (username: string, password: string) => {
    const headers = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': site, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ username, password, keepMeLoggedIn: false });
    return (await fetch(`${url}/api/firstfactor`, { method: 'POST', headers, body })).status;
  };

  test('somebody is added, given another password and disabled: the portal reads each change, and lets in who may (R49)', async () => {
    const added = await run(
      ssoAdd,
      ['noor'],
      { password: [secret], 'password-again': [secret] },
      { name: 'Noor', email: 'noor@example.org', group: ['family'] },
    );
    expect(added.message).toBe(`Added user noor to ${id}. The portal has read the file.`);
    expect(await logIn('noor', secret)).toBe(200);
    const reset = await run(ssoPassword, ['noor'], { password: [''] });
    expect(reset.message).toContain('The portal has read the file.');
    const shown = fixture.operator.shown.find(({ kind }) => kind === 'secret');
    const made = shown?.kind === 'secret' ? shown.value : '';
    expect([await logIn('noor', made), await logIn('noor', secret)]).toEqual([200, 401]);
    expect((await run(ssoDisable, ['noor'])).message).toMatch(/^Disabled noor\. The portal has read the file/);
    expect(await logIn('noor', made)).toBe(401);
    expect(readFileSync(join(folder, 'users', 'users.yml'), 'utf8')).toContain('# kept');
    expect(JSON.stringify([await fixture.audited(), fixture.engine.requests])).not.toMatch(new RegExp(`${secret}|${made}`));
  });

  test('a ban is lifted, and who was banned logs in again', async () => {
    for (let time = 0; time < 3; time++) await logIn('jonas', 'wrong');
    expect(await logIn('jonas', secret)).toBe(401);
    expect((await run(ssoUnban, ['jonas'])).message).toBe(`Lifted 1 ban on jonas in ${id}.`);
    expect(await logIn('jonas', secret)).toBe(200);
  });

  test('the portal itself says which rule is taken, and what a proxy is told (R36)', async () => {
    const { message } = await run(ssoTest, ['https://wiki.home.example.org/', 'ida']);
    expect(message).toContain("'one_factor' from rule #3 will be applied");
    expect((await run(ssoCheck, ['https://media.home.example.org/'])).message).toContain('users are redirected to the portal to log in');
    expect((await run(ssoCheck, ['https://elsewhere.org/'])).message).toContain('is not configured for this domain');
  });
}

describeUnless(missing, 'the procedures on a real Authelia', () => {
  describe('on this machine', () => {
    flowsOn(async () => {
      const host = openLocalHost();
      return { host, leave: () => host.close() };
    });
  });
  describeSshd('over ssh', () => {
    flowsOn(async () => {
      const sshd = await startSshd();
      const remote = await openRemote(sshd);
      return {
        host: remote.host,
        leave: async () => {
          await remote.leave();
          await sshd.leave();
        },
      };
    });
  });
});
