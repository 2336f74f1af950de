import { spawnSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { inspectConfig } from '../../source/config-files/wireguard/inspect-config.ts';
import { keyProblem, makeKeyPair, makePresharedKey, publicKeyOf } from '../../source/config-files/wireguard/wireguard-keys.ts';
import type { FlowInput } from '../../source/flows/flow.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import { clientConfig } from '../../source/products/wireguard/client/client-config.ts';
import { FlowFixture } from '../doubles/flow-fixture.ts';
import { OperatorDouble } from '../doubles/operator-double.ts';
import { catalogFiles } from '../doubles/rendered-files.ts';
import { describeUnless, requiredProgram } from '../required.ts';

function said(argv: readonly string[], input = ''): string {
  const [program = '', ...args] = argv;
  const { status, stdout, stderr } = spawnSync(program, args, { input, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${argv.join(' ')}: ${stderr}`);
  return stdout.trim();
}

describeUnless(requiredProgram('wg', 'wireguard-tools'), "WireGuard's own tools", () => {
  test('take the keys that are made here, and make the same public ones of them', () => {
    for (let round = 0; round < 20; round++) {
      const { privateKey, publicKey } = makeKeyPair();
      expect(said(['wg', 'pubkey'], privateKey)).toBe(publicKey);
      const theirs = said(['wg', 'genkey']);
      expect(publicKeyOf(theirs)).toBe(said(['wg', 'pubkey'], theirs));
      expect([theirs, said(['wg', 'genpsk']), makePresharedKey()].map(keyProblem)).toEqual([undefined, undefined, undefined]);
    }
  });

  test('read what is made here, and refuse what the inspector refuses', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'qd-wg-'));
    try {
      const file = join(folder, 'alice.conf');
      const server = makeKeyPair();
      const keys = { ...makeKeyPair(), presharedKey: makePresharedKey() };
      const wanted = {
        name: 'alice',
        device: 'linux',
        addresses: ['10.8.0.2/32', 'fd00::2/128'],
        serverPublicKey: server.publicKey,
        endpoint: 'vpn.example.net:51820',
        networks: ['0.0.0.0/0', '::/0'],
        dns: ['10.8.0.1'],
        domains: ['lan'],
        killSwitch: true,
        mtu: 1420,
        keepalive: 25,
        presharedKey: true,
      } as const;
      const config = clientConfig(wanted, keys);
      expect(inspectConfig(config).problems).toEqual([]);
      await writeFile(file, config, { mode: 0o600 });
      const stripped = said(['wg-quick', 'strip', file]);
      expect(stripped).toContain(`PrivateKey = ${keys.privateKey}`);
      expect(stripped).toContain('AllowedIPs = 0.0.0.0/0, ::/0');
      expect(stripped).not.toMatch(/PostUp|DNS|MTU/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describeUnless(requiredProgram('nebula-cert', 'nebula'), 'an overlay mesh', () => {
  let fixture: FlowFixture;
  let path: string | undefined;
  beforeEach(async () => {
    fixture = await FlowFixture.open();
    fixture.host = openLocalHost();
    path = process.env['PATH'];
  });
  afterEach(async () => {
    process.env['PATH'] = path;
    await fixture.host?.close();
    await fixture.close();
  });
  const run = (flow: string, words: readonly string[], options: FlowInput['options'] = {}, more: Partial<FlowInput> = {}) => {
    fixture.operator = new OperatorDouble('unattended');
    return fixture.run(flow, undefined, { words, options, ...more });
  };
  const kept = async (variable: string) => (await fixture.vault.read(`local/overlay-mesh/${variable}`, AbortSignal.timeout(5000))) ?? '';

  test('authority, node, renewal; the keys rest in the vault alone, and never in an argument or an environment', async () => {
    // The real one, behind somebody who writes down what it is started with.
    const bin = join(fixture.folder, 'bin');
    const log = join(fixture.folder, 'started.log');
    await mkdir(bin);
    const real = said(['sh', '-c', 'command -v nebula-cert']);
    await writeFile(join(bin, 'nebula-cert'), `#!/bin/sh\n{ printf '%s\\n' "$@"; env; } >>${log}\nexec ${real} "$@"\n`);
    await chmod(join(bin, 'nebula-cert'), 0o755);
    process.env['PATH'] = `${bin}${delimiter}${path}`;

    const { message } = await run('overlay-ca', ['home mesh'], { for: '10d' });
    expect(message).toMatch(/^Created the CA home mesh, valid until \d{4}-\d\d-\d\d\./);
    const out = join(fixture.folder, 'nas');
    await run('overlay-sign', ['nas'], { ip: '10.1.0.1/24', groups: 'servers,home', out });
    const again = await run('overlay-sign', ['nas'], { for: '2d' });
    expect(again.data).toMatchObject({ certificate: { name: 'nas', networks: ['10.1.0.1/24'], groups: ['servers', 'home'] } });
    const keys = [await kept('CA_KEY'), await kept('KEY_nas'), await readFile(join(out, 'nas.key'), 'utf8')].map(
      (pem) => pem.split('\n')[1] ?? '',
    );
    expect(new Set(keys).size).toBe(3);
    expect(keys.every((key) => key.length > 40)).toBe(true);
    const traces =
      (await readFile(log, 'utf8')) +
      JSON.stringify([await fixture.audited(), fixture.operator.shown, again]) +
      (await readFile(join(fixture.folder, 'data/overlay-mesh/local.json'), 'utf8'));
    for (const key of keys) expect(traces).not.toContain(key);
    expect((await stat(join(out, 'nas.key'))).mode & 0o777).toBe(0o600);
    for (const base of ['/dev/shm', tmpdir()])
      expect((await readdir(base)).filter((name) => name.startsWith('quarterdeck-overlay.'))).toEqual([]);

    const list = await run('overlay-list', []);
    expect(list).toMatchObject({
      exitCode: 0,
      message: expect.stringMatching(/Expiring within 30 days: 2 of 2 certificates/),
      data: { nodes: [{ name: 'nas', network: '10.1.0.1/24' }] },
    });
    expect(await run('overlay-inspect', [join(out, 'nas.crt')])).toMatchObject({ message: 'nas is valid.', exitCode: 0 });
  });

  test('nebula itself takes them: its own check of a configuration passes', async () => {
    await run('overlay-ca', ['home mesh'], { for: '10d' });
    const out = join(fixture.folder, 'etc');
    await run('overlay-sign', ['host'], { ip: '10.1.0.1/24', out });
    const config = ((await catalogFiles()).files('overlay-mesh')['files/config.yml'] ?? '').replaceAll('/etc/nebula', out);
    await writeFile(join(out, 'config.yml'), config);
    expect(spawnSync('nebula', ['-test', '-config', join(out, 'config.yml')], { encoding: 'utf8' })).toMatchObject({ status: 0 });
  });

  test('one of another authority, one that is over, and what is none', async () => {
    const other = await mkdtemp(join(tmpdir(), 'qd-nebula-'));
    try {
      said([
        'sh',
        '-c',
        'cd "$1" && nebula-cert ca -name other -duration 1h && nebula-cert sign -name guest -ip 10.1.0.9/24 -duration 1s',
        'sh',
        other,
      ]);
      await run('overlay-ca', ['home mesh'], { for: '10d' });
      const found = await run('overlay-inspect', [join(other, 'guest.crt')]);
      expect([found.exitCode, found.message]).toEqual([1, 'guest is not valid.']);
      expect(fixture.operator.shown).toContainEqual(expect.objectContaining({ kind: 'item', id: 'authority', state: 'blocked' }));
      await writeFile(join(other, 'none.crt'), 'hello');
      await expect(run('overlay-inspect', [join(other, 'none.crt')])).rejects.toMatchObject({
        code: expect.stringMatching(/failed\.overlay|usage\.file/),
      });
    } finally {
      await rm(other, { recursive: true, force: true });
    }
  });

  test('a second authority, an address that is taken, more time than the authority has', async () => {
    await run('overlay-ca', ['home mesh'], { for: '1d' });
    await expect(run('overlay-ca', ['other'], { for: '1d' })).rejects.toMatchObject({ code: 'refused.authority' });
    await run('overlay-sign', ['nas'], { ip: '10.1.0.1/24' });
    await expect(run('overlay-sign', ['tv'], { ip: '10.1.0.1/24' })).rejects.toMatchObject({
      message: expect.stringMatching(/nas already has this address/),
    });
    await expect(run('overlay-sign', ['tv'], { ip: '10.1.0.2/24', for: '2d' })).rejects.toMatchObject({ code: 'usage.duration' });
    await expect(run('overlay-sign', ['tv'], { ip: 'soon' })).rejects.toMatchObject({ code: 'usage.overlay' });
  });

  test('in a dry run, nothing is made', async () => {
    fixture.policy = { ...fixture.policy, dryRun: true };
    expect((await run('overlay-ca', ['home mesh'], { for: '1d' })).message).toBe('Dry run: no CA was created.');
    expect(await kept('CA_KEY')).toBe('');
  });

  test('without the program on this machine it is said what is missing', async () => {
    process.env['PATH'] = join(fixture.folder, 'empty');
    await mkdir(join(fixture.folder, 'empty'));
    for (const name of ['sh', 'mktemp', 'rm'])
      await writeFile(join(fixture.folder, 'empty', name), `#!/bin/sh\nexec /bin/${name} "$@"\n`, { mode: 0o755 });
    await expect(run('overlay-ca', ['home mesh'], { for: '1d' })).rejects.toMatchObject({
      code: 'refused.noProgram',
      remedy: expect.stringContaining('nebula'),
    });
  });
});
