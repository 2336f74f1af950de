import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { inspectConfig } from '../../config-files/wireguard/inspect-config.ts';
import { makeKeyPair, publicKeyOf } from '../../config-files/wireguard/wireguard-keys.ts';
import type { FlowInput } from '../../flows/flow.ts';
import type { ShownSecret } from '../../session/session.ts';

let fixture: FlowFixture;
beforeEach(async () => {
  fixture = await FlowFixture.open();
});
afterEach(() => fixture.close());

const server = makeKeyPair();
const answers = { serverPublicKey: server.publicKey, endpoint: 'vpn.example.net:51820', dns: '10.8.0.1', killSwitch: 'yes' };
function run(
  flow: string,
  words: readonly string[],
  options: FlowInput['options'] = {},
  operator = new OperatorDouble(),
  more: Partial<FlowInput> = {},
) {
  fixture.operator = operator;
  return fixture.run(flow, undefined, { words, options, ...more });
}
const filled = (typed: Record<string, string>, kind: OperatorDouble['kind'] = 'terminal') => {
  const operator = new OperatorDouble(kind);
  operator.typed = { wireguard: [typed] };
  return operator;
};
const secrets = () => fixture.operator.shown.filter((shown): shown is ShownSecret => shown.kind === 'secret');

describe('making a configuration', () => {
  test('shown once, with a code for a phone; the key is in no journal and no audit', async () => {
    const operator = filled({ ...answers, device: 'phone', killSwitch: 'no' });
    operator.answers = { way: ['show'] };
    const { message, data } = await run('wireguard-make', ['alice-phone'], {}, operator);
    const [config, peer] = secrets();
    expect(config?.label).toBe('Configuration of alice-phone');
    expect(config?.code?.length).toBeGreaterThan(40);
    const privateKey = /PrivateKey = (.*)/.exec(config?.value ?? '')?.[1] ?? '';
    const preshared = /PresharedKey = (.*)/.exec(config?.value ?? '')?.[1] ?? '';
    expect(peer?.value).toContain(preshared);
    expect(message).toContain(publicKeyOf(privateKey));
    expect(inspectConfig(config?.value ?? '').problems).toEqual([]);
    const kept = JSON.stringify([await fixture.audited(), data, message, fixture.operator.texts(), fixture.operator.steps]);
    expect(kept).not.toContain(privateKey);
    expect(kept).not.toContain(preshared);
    expect((await fixture.audited()).map(({ request }) => request)).toContain(
      'create a key pair and a preshared key here, and show the configuration once',
    );
  });

  test('to a file that only its owner may read, and what the server gets beside it; never over one that is there', async () => {
    const out = join(fixture.folder, 'alice.conf');
    await run('wireguard-make', ['alice'], { out }, filled(answers, 'unattended'));
    expect((await stat(out)).mode & 0o777).toBe(0o600);
    const config = await readFile(out, 'utf8');
    expect(config).toMatch(/^MTU = 1420$/m);
    expect(inspectConfig(config).problems).toEqual([]);
    const peer = await readFile(join(fixture.folder, 'alice.server.conf'), 'utf8');
    expect(peer).toContain(`PublicKey = ${inspectConfig(config).publicKey}`);
    expect(secrets()).toEqual([]);
    await expect(run('wireguard-make', ['alice'], { out }, filled(answers, 'unattended'))).rejects.toMatchObject({
      code: 'refused.fileThere',
    });
    expect(await readFile(out, 'utf8')).toBe(config);
  });

  test.each([
    [{ ...answers, killSwitch: 'yes', networks: '10.8.0.0/24' }, 'killSwitch'],
    [{ ...answers, device: 'phone' }, 'killSwitch'],
    [{ ...answers, dns: '' }, 'dns'],
    [{ ...answers, killSwitch: 'no', dns: '', domains: 'lan' }, 'domains'],
    [{ ...answers, mtu: '1500' }, 'mtu'],
    [{ ...answers, serverPublicKey: 'x' }, 'serverPublicKey'],
    [{ ...answers, endpoint: 'vpn' }, 'endpoint'],
    [{ ...answers, networks: '10.8.0.1' }, 'networks'],
  ])('%j is refused at %s', async (typed, field) => {
    await expect(run('wireguard-make', ['alice'], {}, filled(typed, 'unattended'))).rejects.toMatchObject({
      code: 'usage.answer',
      message: expect.stringContaining(''),
    });
    const form = fixture.operator.forms[0];
    const values = { ...Object.fromEntries((form?.fields ?? []).map(({ id, value }) => [id, value])), ...typed };
    const problem =
      form?.check?.(values)[field] ?? form?.fields.find(({ id }) => id === field)?.check?.(values[field as keyof typeof values] ?? '');
    expect(problem).toMatch(/\.$/);
  });
});

describe('checking a configuration', () => {
  const broken = () =>
    `[Interface]\nPrivateKey = ${server.privateKey}\nAddress = 10.8.0.2\nMTU = 1500\n[Peer]\nPublicKey = x\nAllowedIPs = 10.8.0.0/24\n`;

  test('places, fields and remedies; the key is not among them; ends with 1', async () => {
    const file = join(fixture.folder, 'wg0.conf');
    await writeFile(file, broken(), { mode: 0o600 });
    const { message, exitCode, data } = await run('wireguard-check', [file]);
    expect([exitCode, message]).toEqual([1, `${file}: 1 mistake, 1 warning.`]);
    const items = fixture.operator.shown.flatMap((shown) => (shown.kind === 'item' ? [[shown.title, shown.state]] : []));
    expect(items).toEqual([
      [`${file}:4:7 [Interface] MTU`, 'warning'],
      [`${file}:6:13 [Peer] PublicKey`, 'blocked'],
    ]);
    expect(JSON.stringify([data, fixture.operator.shown, await fixture.audited()])).not.toContain(server.privateKey);
    expect(JSON.stringify(data)).toContain(server.publicKey);
  });

  test('one that others can read is a mistake of its own', async () => {
    const file = join(fixture.folder, 'wg0.conf');
    await writeFile(file, broken());
    await chmod(file, 0o644);
    expect((await run('wireguard-check', [file])).data).toMatchObject({
      problems: [{ message: expect.stringMatching(/^Other users of this machine can read/) }, {}, {}],
    });
  });

  test('piped in, missing, one too many', async () => {
    expect((await run('wireguard-check', [], {}, new OperatorDouble('unattended'), { stdin: Buffer.from(broken()) })).exitCode).toBe(1);
    await expect(run('wireguard-check', ['/nowhere.conf'])).rejects.toMatchObject({ code: 'usage.file' });
    await expect(run('wireguard-check', ['a', 'b'])).rejects.toMatchObject({ code: 'usage.words' });
  });
});

describe('checking ingress rules (R24)', () => {
  test('places, and which rule an address gets', async () => {
    const file = join(fixture.folder, 'config.yml');
    await writeFile(file, 'tunnel: t\ncredentials-file: /c\ningress:\n  - hostname: app.example.com\n    service: http://app:80\n');
    const bad = await run('ingress-check', [file]);
    expect([bad.exitCode, bad.message]).toEqual([1, `${file}: 1 mistake.`]);
    expect(fixture.operator.shown).toMatchObject([{ kind: 'item', state: 'blocked', title: `${file}:4:5 ingress[0]` }]);
    await writeFile(
      file,
      'tunnel: t\ncredentials-file: /c\ningress:\n  - hostname: app.example.com\n    service: http://app:80\n  - service: http_status:404\n',
    );
    const good = await run('ingress-check', [file, 'https://app.example.com/x', 'other.example.com']);
    expect(good).toMatchObject({
      exitCode: 0,
      data: {
        matches: [
          { rule: 1, service: 'http://app:80' },
          { rule: 2, service: 'http_status:404' },
        ],
      },
    });
  });
});
