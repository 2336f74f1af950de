import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { flowOf } from '../../../test/contract/flows/registry.ts';
import { breakOffs } from '../../../test/doubles/break-offs.ts';
import { answering } from '../../../test/doubles/cancelling-operator.ts';
import { catalogEntry, composeLabels } from '../../../test/doubles/container-facts.ts';
import { componentView, stateOf } from '../../../test/doubles/fleet-double.ts';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import type { ExecResult } from '../../engine/engine.ts';
import { openLocalHost } from '../../hosts/local-host.ts';

const caInspect = flowOf('ca-inspect');
const caIssue = flowOf('ca-issue');

const id = 'internal-ca';
const component = componentView(id, { project: id, speaks: 'step-ca', state: stateOf('healthy') });
let folder: string;
let fixture: FlowFixture;
/** Arguments of every program that ran in the container. */
let argvs: (readonly string[])[];

const openssl = (...words: string[]) => execFileSync('openssl', words, { cwd: folder, stdio: 'pipe' });

/** Runs the script for the container, with a `step` that signs as the real one does. */
function inContainer(argv: readonly string[], stdin: Uint8Array | undefined): Promise<ExecResult> {
  argvs.push(argv);
  return new Promise((resolve) => {
    const [program = '', ...words] = argv;
    const child = spawn(program, words, { env: { PATH: `${folder}/bin:${process.env['PATH']}`, AUTHORITY: folder }, cwd: folder });
    const pieces: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] };
    child.stdout.on('data', (piece: Buffer) => pieces.stdout.push(piece));
    child.stderr.on('data', (piece: Buffer) => pieces.stderr.push(piece));
    child.stdin.end(stdin);
    child.once('close', (code) =>
      resolve({ exitCode: code ?? -1, stdout: Buffer.concat(pieces.stdout), stderr: Buffer.concat(pieces.stderr), cut: false }),
    );
  });
}

const fakeStep = `#!/bin/sh
[ "$1 $2 $5 $6" = "ca sign --provisioner admin" ] && [ "$7 $8" = "--provisioner-password-file /home/step/secrets/password" ] || { echo "error: unexpected: $*" >&2; exit 1; }
[ ! -e "$AUTHORITY/other-password" ] || { echo "failed to decrypt JWE: invalid password" >&2; exit 1; }
case\${10} in 24h|72h) ;; *) echo "error: requested duration of \${10} is more than the authorized maximum certificate duration of 72h0m1s" >&2; exit 1;; esac
days=$((\${10%h} / 24))
openssl x509 -req -in "$3" -CA "$AUTHORITY/intermediate.crt" -CAkey "$AUTHORITY/intermediate.key" -days "$days" -copy_extensions copyall -out "$4" 2>/dev/null
cat "$AUTHORITY/intermediate.crt" >> "$4"
`;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'qd-ca-'));
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin', 'step'), fakeStep.replace('case$', 'case $'));
  chmodSync(join(folder, 'bin', 'step'), 0o755);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  openssl('req', '-x509', ...key, '-keyout', 'root.key', '-out', 'root.crt', '-subj', '/CN=Home Root CA', '-days', '3650');
  openssl(
    'req',
    '-x509',
    ...key,
    '-keyout',
    'intermediate.key',
    '-out',
    'intermediate.crt',
    '-subj',
    '/CN=Home Intermediate CA',
    '-days',
    '3650',
    '-CA',
    'root.crt',
    '-CAkey',
    'root.key',
  );
  openssl(
    'req',
    '-x509',
    ...key,
    '-keyout',
    'stranger.key',
    '-out',
    'stranger.crt',
    '-subj',
    '/CN=stranger.lan',
    '-addext',
    'subjectAltName=DNS:stranger.lan',
    '-days',
    '30',
  );
  fixture = await FlowFixture.open();
  fixture.host = openLocalHost();
  const entry = catalogEntry(
    id,
    { ca: { image: 'smallstep/step-ca', main: true } },
    { api: { name: 'step-ca', port: 'api', service: 'ca' } },
  );
  fixture.catalog = { entries: [entry], get: (wanted) => (wanted === id ? entry : undefined), problems: [] };
  fixture.engine.add('ca', { labels: composeLabels(id, 'ca') });
  const writer = fixture.engine.writer.bind(fixture.engine);
  fixture.engine.writer = (grant) => ({ ...writer(grant), exec: (_container, argv, options) => inContainer(argv, options?.stdin) });
  const certificates: Record<string, string> = { 'root_ca.crt': 'root.crt', 'intermediate_ca.crt': 'intermediate.crt' };
  Object.assign(fixture.engine, {
    readFile: async (_container: string, path: string) => readFileSync(join(folder, certificates[basename(path)] ?? '')),
  });
  argvs = [];
});
afterAll(async () => {
  await fixture.host?.close();
  await fixture.close();
  rmSync(folder, { recursive: true, force: true });
});

const engineName = () => join(folder, 'out');
function issue(names: string[], options: Record<string, string> = {}) {
  fixture.operator = new OperatorDouble();
  return fixture.run(caIssue, component, { words: names, options: { folder: engineName(), ...options } });
}
function inspect(what: string) {
  fixture.operator = new OperatorDouble();
  return fixture.run(caInspect, component, { words: [what] });
}

describe('issuing a certificate', () => {
  test('the key is made on the host, readable only by its owner, and never leaves it', async () => {
    const { message } = await issue(['nas.lan', '192.168.1.10']);
    expect(message).toMatch(/^Issued a certificate for nas\.lan, valid until .*out\/nas\.lan\.crt/);
    const key = readFileSync(join(engineName(), 'nas.lan.key'), 'utf8');
    expect(statSync(join(engineName(), 'nas.lan.key')).mode & 0o777).toBe(0o600);
    expect(key).toContain('PRIVATE KEY');
    const secret = key.split('\n')[1] ?? '';
    expect(JSON.stringify([argvs, await fixture.audited(), fixture.operator.shown])).not.toContain(secret);
    expect(readFileSync(join(engineName(), 'nas.lan.crt'), 'utf8').match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
  });

  test('gone on with, or asked again soon: what is there is not made anew', async () => {
    const before = readFileSync(join(engineName(), 'nas.lan.crt'), 'utf8');
    const { message } = await issue(['nas.lan', '192.168.1.10']);
    expect(message).toMatch(/already covers these names, and does not need to be renewed yet/);
    expect(readFileSync(join(engineName(), 'nas.lan.crt'), 'utf8')).toBe(before);
  });

  test('killed before and after it was signed: gone on with, it is there, and was signed once', async () => {
    const out = join(folder, 'broken');
    let signed = 0;
    const { acts, tries } = await breakOffs(async () => {
      rmSync(out, { recursive: true, force: true });
      signed = argvs.length;
      return {
        flow: caIssue,
        operator: () => answering({}),
        run: (flow, operator, left) => {
          fixture.resume = left?.run;
          fixture.operator = operator as OperatorDouble;
          return fixture.run(flow, component, { words: ['tv.lan'], options: { folder: out } }).finally(() => (fixture.resume = undefined));
        },
        journal: fixture.journal,
        end: async () => [existsSync(join(out, 'tv.lan.crt')), statSync(join(out, 'tv.lan.key')).mode & 0o777, argvs.length - signed],
        folders: [],
        close: async () => {},
      };
    });
    expect(acts).toEqual(['issue tv.lan']);
    expect(tries.filter(({ problem }) => problem !== undefined)).toEqual([]);
  });

  test('what the authority refuses is told with its reason, and no certificate is written', async () => {
    await expect(issue(['long.lan'], { days: '400' })).rejects.toMatchObject({
      code: 'failed.authority',
      message: expect.stringContaining('does not issue certificates for that validity period'),
    });
    expect(existsSync(join(engineName(), 'long.lan.crt'))).toBe(false);
  });

  test.each([
    [127, '', 'The host has no openssl'],
    [1, "genpkey: Can't open key\nmore\n", "genpkey: Can't open key."],
    [1, '', 'openssl exited with code 1.'],
  ])('a request that was not created (%s, %j) is told with its reason', async (exitCode, stderr, why) => {
    const own = fixture.host;
    if (!own) throw new Error('no host');
    fixture.host = { ...own, run: async () => ({ exitCode, stdout: new Uint8Array(), stderr: Buffer.from(stderr), cut: false }) };
    await expect(issue(['new.lan'])).rejects.toMatchObject({ code: 'failed.key', message: expect.stringContaining(why) });
    fixture.host = own;
  });

  test('a provisioner whose password is not that of the keys is told, with what to do', async () => {
    writeFileSync(join(folder, 'other-password'), '');
    try {
      await expect(issue(['old.lan'])).rejects.toMatchObject({
        code: 'failed.authority',
        message: expect.stringContaining('password of the provisioner "admin" differs'),
        remedy: expect.stringContaining('step ca provisioner add admin --type JWK --create --password-file /home/step/secrets/password'),
      });
    } finally {
      rmSync(join(folder, 'other-password'));
    }
    expect(existsSync(join(engineName(), 'old.lan.crt'))).toBe(false);
  });

  test.each([
    [['nas lan'], {}],
    [['nas.lan; rm -rf /'], {}],
    [['-subj'], {}],
    [['nas.lan'], { folder: 'relative' }],
    [['nas.lan'], { folder: '/etc/../tmp' }],
    [['nas.lan'], { days: 'many' }],
  ])('%j with %j is refused before anything is made', async (names, options) => {
    await expect(issue(names, options)).rejects.toMatchObject({ code: expect.stringMatching(/^usage\./) });
  });
});

describe('inspecting a certificate', () => {
  test('one of the authority in a file', async () => {
    const { message, data } = await inspect(join(engineName(), 'nas.lan.crt'));
    expect(message).toBe(`The certificate for nas.lan is valid and was issued by ${id}.`);
    expect(data).toMatchObject({
      items: [{ evidence: 'nas.lan, 192.168.1.10' }, { state: 'ok' }, { evidence: 'Home Intermediate CA, Home Root CA' }, { state: 'ok' }],
    });
  });

  test('the root of the authority, which names no hosts', async () => {
    expect((await inspect(join(folder, 'root.crt'))).message).toBe(`The certificate for Home Root CA is valid and was issued by ${id}.`);
  });

  test('one that signed itself is refused, with the reason', async () => {
    await expect(inspect(join(folder, 'stranger.crt'))).rejects.toMatchObject({
      code: 'failed.certificate',
      message: expect.stringContaining('stranger.lan, self-signed'),
    });
  });

  test('what a server shows is looked at for the name that it was asked by', async () => {
    const server: Server = createServer({
      key: readFileSync(join(engineName(), 'nas.lan.key')),
      cert: readFileSync(join(engineName(), 'nas.lan.crt')),
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await expect(inspect(`127.0.0.1:${port}`)).rejects.toMatchObject({
      message: expect.stringContaining('nas.lan, 192.168.1.10, but not 127.0.0.1'),
    });
    await new Promise((resolve) => server.close(resolve));
    await expect(inspect(`127.0.0.1:${port}`)).rejects.toMatchObject({ code: 'unreachable.page' });
  });

  test.each(['', 'a b', '/nowhere/at/all.crt'])('"%s" is none', async (what) => {
    await expect(inspect(what)).rejects.toMatchObject({ code: 'usage.certificate' });
  });
});
