import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeOwnFile } from './own-files.ts';
import { ownPaths } from './paths.ts';
import { defaultSettings, loadSettings, settingsFile } from './settings.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'settings-'));
});
afterEach(async () => {
  await rm(home, { recursive: true, force: true });
});

const load = async (text?: string | Uint8Array) => {
  const paths = ownPaths({ QUARTERDECK_HOME: home }, '/home/ann');
  if (text !== undefined) await writeOwnFile(settingsFile(paths), text);
  return loadSettings(paths, '/home/ann');
};

describe('loadSettings', () => {
  it('answers the defaults without a file, for an empty one and for comments alone', async () => {
    expect(await load()).toBe(defaultSettings);
    expect(await load('\n')).toBe(defaultSettings);
    expect(await load('# nothing yet\n')).toEqual(defaultSettings);
  });

  it('reads every setting and keeps the defaults of the others', async () => {
    const settings = await load(
      'theme: light\nascii: true\nconfirm: false\nkeys: {quit: Q, down: [j, down]}\ncatalogFolder: ~/catalog\nprobeInterval: 2m\nbackups: {nas: "restic:/srv/restic"}\nhosts: {nas: {ssh: op@nas, sudo: true}}\nproductionHosts: [nas]\n',
    );
    expect(settings).toEqual({
      theme: 'light',
      ascii: true,
      confirm: false,
      keys: { quit: ['Q'], down: ['j', 'down'] },
      catalogFolder: '/home/ann/catalog',
      probeIntervalMs: 120_000,
      stackFolder: '~/stack',
      backups: { nas: 'restic:/srv/restic' },
      hosts: { nas: { ssh: 'op@nas', sudo: true } },
      productionHosts: ['nas'],
      notifications: { targets: {}, rules: [], quietMinutes: undefined },
    });
  });

  it.each(['0s', '0m'])('probes once a second at most, also with %s', async (interval) => {
    expect((await load(`probeInterval: ${interval}\n`)).probeIntervalMs).toBe(1000);
  });

  it('refuses what is not UTF-8 with its place, since it would be written back otherwise', async () => {
    await expect(load(Buffer.from('theme: dark\n# für mich\n', 'latin1'))).rejects.toMatchObject({
      code: 'config.unreadable',
      message: expect.stringMatching(/config\.yaml cannot be read: line 2 is not valid UTF-8\.$/),
      where: { line: 2, column: 4 },
    });
  });

  it('names an unknown key with its place and the nearest name', async () => {
    await expect(load('theme: dark\n# mine\nkeys: {}\nthmee: dark\n')).rejects.toMatchObject({
      code: 'config.unknownKey',
      message: 'The configuration is invalid: Unknown key "thmee".',
      remedy: 'Did you mean "theme"?',
      where: { file: join(home, 'config', 'config.yaml'), line: 4, column: 1, field: 'thmee' },
    });
  });

  it.each([
    ['theme: blue\n', 'config.invalid', 1, 8, 'theme'],
    ['theme: auto\nascii: "yes"\n', 'config.invalid', 2, 8, 'ascii'],
    ['keys: [a]\n', 'config.invalid', 1, 7, 'keys'],
    ['probeInterval: soon\n', 'config.invalid', 1, 16, 'probeInterval'],
    ['stackFolder: stack\n', 'config.invalid', 1, 14, 'stackFolder'],
    ['- theme\n', 'config.invalid', 1, 1, undefined],
    ['just text', 'config.invalid', 1, 1, undefined],
    ['theme: dark\ntheme: light\n', 'config.syntax', 2, 1, undefined],
    ['theme: "dark\n', 'config.syntax', undefined, undefined, undefined],
    ['a: {b\n', 'config.syntax', undefined, undefined, undefined],
  ])('points at what is wrong in %j', async (text, code, line, column, field) => {
    const fault = await load(text).catch((thrown: unknown) => thrown);
    expect(fault).toMatchObject({ code, where: { ...(line && { line, column }), field } });
    expect((fault as { remedy: string }).remedy).toMatch(/^[A-Z].*[.?]$/);
  });
});
