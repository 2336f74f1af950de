import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { PracticeFixture } from '../../../test/doubles/practice-fixture.ts';
import { catalogFiles } from '../../../test/doubles/rendered-files.ts';

vi.setConfig({ testTimeout: 60_000 });
let fixture: PracticeFixture;
beforeAll(async () => {
  fixture = await PracticeFixture.open();
});
afterAll(() => fixture?.close());

const piped = (text: string) => ({ stdin: Buffer.from(text) });
const delivered = async () => (await catalogFiles()).files('llm-proxy')['files/config.yaml'] ?? '';
const shown = () => fixture.operator.shown.flatMap((one) => (one.kind === 'item' ? [`${one.title} ${one.evidence}`] : []));

test('a mistake is named with its line and column, and what it should be (R25)', async () => {
  const text = (await delivered())
    .replace('model: "ollama/llama3.2"', 'model: llama 3.2')
    .replace('os.environ/LITELLM_MASTER_KEY', 'sk-1234567890abcdef');
  const outcome = await fixture.run('config-check', '', { words: ['llm-proxy'], ...piped(text) });
  expect(outcome).toMatchObject({ exitCode: 1, message: 'the input: 1 mistake, 1 warning.' });
  expect(shown()).toEqual([
    expect.stringMatching(/^the input:7:14 model_list\[0\]\.litellm_params\.model .*is invalid/),
    expect.stringMatching(/^the input:\d+:15 general_settings\.master_key The file contains the master key/),
  ]);
  expect(outcome.data).toMatchObject({ component: 'llm-proxy', checked: true, verified: false });
});

test('what is deployed is right in its form; that its program could not be asked in practice is said', async () => {
  const outcome = await fixture.run('config-check', '', { words: ['sso-portal'] });
  expect(outcome.exitCode ?? 0).toBe(0);
  expect(outcome.message).toMatch(/configuration\.yml: its format is valid\.$/);
  expect(fixture.operator.shown.map((one) => (one.kind === 'text' ? one.text : ''))).toContainEqual(
    expect.stringMatching(/^Could not run authelia in the container/),
  );
  expect((await fixture.run('config-check', '', { words: ['load-balancer'], ...piped('ui = yes') })).message).toBe(
    'the input was not checked: only HAProxy itself can check it, once it is deployed.',
  );
  expect((await fixture.run('config-check', '', { words: ['llm-proxy'] })).message).toMatch(/config\.yaml: its format is valid\.$/);
});

test('what was not checked is said, and no mistake', async () => {
  const said = async (id: string, text: string) => {
    fixture.operator.shown.length = 0;
    const { message, exitCode, data } = await fixture.run('config-check', '', { words: [id], ...piped(text) });
    const lines = fixture.operator.shown.flatMap((one) => (one.kind === 'text' ? [one.text] : []));
    return { message, exitCode: exitCode ?? 0, checked: (data as { checked: boolean }).checked, lines };
  };
  for (const [id, product] of [
    ['caching-proxy', 'Squid'],
    ['recursive-resolver', 'Unbound'],
    ['reverse-proxy', 'Caddy'],
    ['identity-server', 'Kanidm'],
    ['ai-app-platform', 'Dify'],
  ] as const)
    expect(await said(id, 'x y z')).toEqual({
      message: `the input was not checked: only ${product} itself can check it, once it is deployed.`,
      exitCode: 0,
      checked: false,
      lines: [],
    });
  expect(await said('dns-filter-second', 'x: y')).toMatchObject({
    message: 'the input was not checked: its format is not supported, and AdGuard Home does not provide a check.',
    checked: false,
  });
  expect(await said('siem', 'plugins.security.ssl.http.enabled: true\n')).toMatchObject({
    message: 'the input: its syntax is valid; the settings of Wazuh were not checked.',
  });
  expect(await said('authoritative-dns', 'launch=gmysql\ninclude-dir=/etc/powerdns/pdns.d\n')).toMatchObject({
    message: expect.stringMatching(/^the input: its format is valid; not checked by PowerDNS .*itself\.$/),
  });
  expect(await said('authoritative-dns', 'launch=gmysql\ngmysql-password=x\n')).toMatchObject({
    message: expect.stringMatching(/^the input: 2 warnings, otherwise its format is valid; not checked by PowerDNS/),
    exitCode: 0,
  });
  expect(
    await said('dynamic-proxy', 'http:\n  routers:\n{{ range .x }}\n    a{{ . }}: {rule: Path(`/x`), service: y}\n{{ end }}\n'),
  ).toMatchObject({
    message: 'the input was not checked: its format is not supported.',
    exitCode: 0,
    lines: [expect.stringMatching(/^the input:3 Text in double braces is rendered before/)],
  });
  const mine = join(fixture.access.folder, 'dynamic.toml');
  await writeFile(mine, '[http.routers.a]\nrule = "Path(`/x`)"\n');
  expect(await fixture.run('config-check', '', { words: ['dynamic-proxy', mine] })).toMatchObject({
    message: expect.stringMatching(/dynamic\.toml was not checked: its format is not supported\.$/),
  });
});

test('a file of this machine, no file, and a component without one', async () => {
  const file = join(fixture.access.folder, 'mine.yaml');
  await writeFile(file, 'model_list: {}\n');
  expect(await fixture.run('config-check', '', { words: ['llm-proxy', file] })).toMatchObject({ exitCode: 1 });
  expect(shown()[0]).toMatch(/mine\.yaml:1:13 model_list "model_list" must be a list/);
  await expect(fixture.run('config-check', '', { words: ['llm-proxy', `${file}.not`] })).rejects.toMatchObject({ code: 'usage.file' });
  await expect(fixture.run('config-check', '', { words: ['llm-proxy', file, 'more'] })).rejects.toMatchObject({ code: 'usage.words' });
  await expect(fixture.run('config-check', '', { words: ['password-vault'] })).rejects.toMatchObject({
    code: 'usage.component',
    message: expect.stringContaining('no configuration file'),
  });
  await expect(fixture.run('config-check', '', { words: ['llm-prxy'] })).rejects.toMatchObject({
    code: 'usage.component',
    message: 'The catalog has no component "llm-prxy".',
    remedy: 'Did you mean "llm-proxy"?',
  });
  await expect(fixture.run('config-check', '', { words: ['limit-range'] })).rejects.toMatchObject({
    code: 'usage.file',
    remedy: 'Pass the file: quarterdeck config check limit-range FILE',
  });
});

test('an edit with a mistake in its form is refused with its place, and nothing is written', async () => {
  const before = await fixture.text('llm-proxy/files/config.yaml');
  await expect(
    fixture.run('edit', 'llm-proxy', { words: ['config.yaml'], ...piped(before.replace('model_list:', 'model_lists:')) }),
  ).rejects.toMatchObject({ code: 'config.file', message: expect.stringMatching(/model_list/), where: { line: expect.any(Number) } });
  expect(await fixture.text('llm-proxy/files/config.yaml')).toBe(before);
});

test("the mesh's policy and the tunnel of a device are read by what knows them, from a file of one's own", async () => {
  const folder = await mkdtemp(join(tmpdir(), 'config-check-'));
  const checked = async (id: string, name: string, text: string) => {
    await writeFile(join(folder, name), text);
    return fixture.run('config-check', '', { words: [id, join(folder, name)] });
  };
  try {
    const policy =
      '{\n  // all\n  "groups": {"group:home": ["ann@"]},\n  "acls": [\n    {"action": "accept", "src": ["group:home"], "dst": ["*:*"]},\n  ],\n}\n';
    expect(await checked('mesh-control-server', 'policy.hujson', policy)).toMatchObject({
      exitCode: 0,
      message: expect.stringMatching(/its format is valid/),
    });
    expect(
      await checked('mesh-control-server', 'policy.hujson', policy.replace('"src": ["group:home"]', '"src": ["group:hom"]')),
    ).toMatchObject({ exitCode: 1 });
    expect(shown()).toContainEqual(expect.stringMatching(/policy\.hujson:5:\d+ .*group:hom/));
    const tunnel =
      '[Interface]\nPrivateKey = yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=\nAddress = 10.8.0.2/24\nDNS = 10.8.0.1\nMTU = 1420\n\n[Peer]\nPublicKey = xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=\nAllowedIPs = 10.8.0.0/24\nEndpoint = vpn.example.org:51820\n';
    expect(await checked('tunnel-client-config', 'home.conf', tunnel)).toMatchObject({ exitCode: 0 });
    expect(
      await checked('tunnel-client-config', 'home.conf', tunnel.replace('AllowedIPs = 10.8.0.0/24', 'AllowedIP = 10.8.0.0/24')),
    ).toMatchObject({ exitCode: 1 });
    expect(shown()).toContainEqual(expect.stringMatching(/home\.conf:9:\d+ .*AllowedIP/));
  } finally {
    await rm(folder, { recursive: true });
  }
});
