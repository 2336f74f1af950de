import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'ldapts';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import { makeDigest } from '../../source/secrets/password-digest.ts';
import { flowOf } from '../contract/flows/registry.ts';
import { breakOffs, type Ground } from '../doubles/break-offs.ts';
import { catalogEntry, composeLabels } from '../doubles/container-facts.ts';
import { componentView, stateOf } from '../doubles/fleet-double.ts';
import { FlowFixture } from '../doubles/flow-fixture.ts';
import { OperatorDouble } from '../doubles/operator-double.ts';
import { describeUnless, requiredProgram } from '../required.ts';
import { freePort } from './real-server.ts';

const ldapAdd = flowOf('ldap-add');
const ldapUsers = flowOf('ldap-users');

const program = '/usr/sbin/slapd';
const id = 'ldap-directory';
const base = 'dc=home,dc=example,dc=org';
const admin = `cn=admin,${base}`;
const adminPassword = 'the password of the administrator';
const secret = 'correct horse battery';

describeUnless(requiredProgram(program, 'slapd'), 'a real OpenLDAP', () => {
  let folder: string;
  let port: number;
  let server: ChildProcess;
  let fixture: FlowFixture;
  const component = componentView(id, { key: `local/${id}/${id}`, project: id, speaks: 'ldap', state: stateOf('healthy') });

  function operator(answers: OperatorDouble['answers']): OperatorDouble {
    const made = new OperatorDouble();
    made.answers = answers;
    fixture.operator = made;
    return made;
  }
  const add = (user: string, answers: OperatorDouble['answers'] = {}) => {
    operator({ 'bind-password': [adminPassword], password: [secret], 'password-again': [secret], ...answers });
    return fixture.run(ldapAdd, component, { words: [user], options: { bind: admin, name: 'Ida Blum', email: `${user}@example.org` } });
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'qd-slapd-'));
    mkdirSync(join(folder, 'data'));
    port = await freePort();
    const digest = await makeDigest(adminPassword, { memoryKiB: 1024, passes: 1, parallelism: 1, keyBytes: 32, saltBytes: 16 });
    const config = join(folder, 'slapd.conf');
    writeFileSync(
      config,
      `include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload argon2
pidfile ${folder}/slapd.pid
password-hash {ARGON2}
database mdb
suffix "${base}"
rootdn "${admin}"
rootpw {ARGON2}${digest}
directory ${folder}/data
access to attrs=userPassword by self write by anonymous auth by * none
access to * by users read by anonymous auth
`,
    );
    const entries = `dn: ${base}\nobjectClass: dcObject\nobjectClass: organization\no: home\ndc: home\n\ndn: ou=people,${base}\nobjectClass: organizationalUnit\nou: people\n\ndn: uid=admin,ou=people,${base}\nobjectClass: account\nobjectClass: simpleSecurityObject\nuid: admin\nuserPassword: {ARGON2}${digest}\n`;
    const loaded = spawnSync('/usr/sbin/slapadd', ['-f', config], { input: entries, encoding: 'utf8' });
    if (loaded.status !== 0) throw new Error(loaded.stderr);
    server = spawn(program, ['-f', config, '-h', `ldap://127.0.0.1:${port}`, '-d', '0'], { stdio: 'ignore' });
    await vi.waitUntil(() => answers(port), { timeout: 30_000, interval: 50 });
    fixture = await FlowFixture.open();
    fixture.host = openLocalHost();
    const ldap = { name: 'ldap', role: 'LDAP', exposure: 'loopback', fixed: false, web: false, tls: false } as const;
    const field = { type: 'secret-string' as const, secret: true, required: true, target: 'environment' as const, excludes: [] };
    const entry = catalogEntry(
      id,
      { lldap: { image: 'lldap/lldap', main: true } },
      {
        api: { name: 'ldap', port: 'ldap' },
        fields: [{ ...field, name: 'admin password', env: 'LLDAP_LDAP_USER_PASS' }],
        ports: [{ ...ldap, service: 'lldap', host: port, container: 3890, protocol: 'tcp' }],
      },
    );
    fixture.catalog = { entries: [entry], get: (wanted) => (wanted === id ? entry : undefined), problems: [] };
    fixture.engine.add('lldap', {
      image: 'lldap/lldap:stable',
      labels: composeLabels(id, 'lldap'),
      ports: [{ address: '127.0.0.1', hostPort: port, containerPort: 3890, protocol: 'tcp' }],
    });
  }, 60_000);
  afterAll(async () => {
    await fixture?.host?.close();
    await fixture?.close();
    server?.kill('SIGKILL');
    if (folder) rmSync(folder, { recursive: true, force: true });
  });

  test('somebody is added, the directory hashes the password itself, and they log in', async () => {
    const { message, data } = await add('ida');
    expect(message).toBe(`Added ida to ${id}, and verified the login.`);
    expect(data).toEqual({ dn: `uid=ida,ou=people,${base}` });
    const stored = spawnSync('/usr/sbin/slapcat', ['-f', join(folder, 'slapd.conf')], { encoding: 'utf8' }).stdout;
    const hash = /^userPassword:: (\S+(?:\n \S+)*)/m.exec(stored)?.[1]?.replaceAll('\n ', '') ?? '';
    expect(Buffer.from(hash, 'base64').toString()).toMatch(/^\{ARGON2\}\$argon2/);
    expect(stored).toMatch(/^sn: Blum$/m);
    expect(JSON.stringify([await fixture.audited(), fixture.operator.shown])).not.toMatch(new RegExp(`${secret}|${adminPassword}`));
  });

  test('gone on with: what is there already is not done again', async () => {
    const { message } = await add('ida');
    expect(message).toMatch(/verified the login/);
    expect((await fixture.audited()).filter(({ outcome }) => outcome === 'already').length).toBe(2);
  });

  test('a user that exists keeps the password', async () => {
    const other = 'another horse battery';
    await expect(add('ida', { password: [other], 'password-again': [other] })).rejects.toMatchObject({
      code: 'usage.user',
      message: `User ida already exists in ${id} with another password.`,
    });
    expect((await add('ida')).message).toMatch(/verified the login/);
  });

  test('killed at each act and gone on with: there once, and they log in', async () => {
    const words = ['guest'];
    const options = { bind: admin, name: 'A Guest', email: 'guest@example.org' };
    const dn = `uid=guest,ou=people,${base}`;
    const remove = async () => {
      const client = new Client({ url: `ldap://127.0.0.1:${port}`, timeout: 10_000 });
      await client.bind(admin, adminPassword);
      await client.del(dn);
      await client.unbind();
    };
    const ground = async (): Promise<Ground> => ({
      flow: ldapAdd,
      operator: () => operator({ 'bind-password': [adminPassword], password: [secret], 'password-again': [secret] }),
      run: (watched, operating, left) => {
        fixture.operator = operating as OperatorDouble;
        fixture.resume = left?.run;
        return fixture.run(watched, component, { words: left?.words ?? words, options: left?.options ?? options });
      },
      journal: fixture.journal,
      end: async () => {
        const { stdout } = spawnSync('/usr/sbin/slapcat', ['-f', join(folder, 'slapd.conf'), '-s', dn], { encoding: 'utf8' });
        return [stdout.match(/^uid: .*$/gm), stdout.match(/^userPassword:/gm)?.length];
      },
      folders: [fixture.folder],
      close: remove,
    });
    const { acts, tries } = await breakOffs(ground);
    fixture.resume = undefined;
    expect(acts).toEqual(['add guest', 'password guest']);
    expect(tries.filter(({ problem }) => problem !== undefined)).toEqual([]);
    for (const { said } of tries) expect(said).toMatch(/verified the login\.$/);
  });

  test('they are listed, for who may look', async () => {
    operator({ 'bind-password': [adminPassword] });
    const { message, data } = await fixture.run(ldapUsers, component, { words: [admin] });
    expect(message).toBe(`${id} has 1 user below ${base}.`);
    expect(data).toMatchObject({ people: [{ uid: 'ida', name: 'Ida Blum', mail: 'ida@example.org' }] });
  });

  test('nothing typed: the password of the administrator that is kept is taken, and told where it is none any more', async () => {
    const look = () => {
      operator({ 'bind-password': [''] });
      return fixture.run(ldapUsers, component);
    };
    const name = `local/${id}/LLDAP_LDAP_USER_PASS` as const;
    await expect(look()).rejects.toMatchObject({ code: 'usage.answer', message: expect.stringContaining('is stored') });
    await fixture.vault.write(undefined, name, adminPassword, 'generated');
    const { message } = await look();
    expect(message).toBe(`${id} has 1 user below ${base}.`);
    expect(JSON.stringify([fixture.operator.shown, fixture.operator.asked])).not.toContain(adminPassword);
    await fixture.vault.write(undefined, name, 'another than now', 'set');
    await expect(look()).rejects.toMatchObject({
      code: 'refused.login',
      message: expect.stringContaining('it may have been changed since it was stored'),
    });
  });

  test('a wrong password is tried once, and told', async () => {
    await expect(add('noor', { 'bind-password': ['wrong'] })).rejects.toMatchObject({ code: 'refused.login' });
  });

  test('who may not add anybody is told so', async () => {
    operator({ 'bind-password': [secret], password: [secret], 'password-again': [secret] });
    const options = { bind: `uid=ida,ou=people,${base}`, name: 'Noor', email: 'noor@example.org' };
    await expect(fixture.run(ldapAdd, component, { words: ['noor'], options })).rejects.toMatchObject({
      code: 'refused.directory',
      message: expect.stringContaining('permission denied for this user'),
    });
  });

  test.each(['', 'a b', 'x,ou=groups', '*', 'ida)(uid=*'])('"%s" is no name', async (name) => {
    operator({});
    await expect(fixture.run(ldapAdd, component, { words: [name] })).rejects.toMatchObject({ code: 'usage.user' });
  });
});

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
