import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { mintGrant } from '../grants/mint.ts';
import { dropHost, withHost, withoutHost, writeHost } from './hosts-file.ts';

const file = '/home/op/.config/quarterdeck/config.yaml';

describe('hosts in config.yaml', () => {
  it('adds a host and leaves comments, order, quotes and indentation as they are', () => {
    const text = `# mine
theme: "dark"   # by night

keys:
    stop: [X]
# the machines
hosts:
    # in the cupboard
    nas: { ssh: op@nas }   # old
productionHosts: [nas]
`;
    expect(withHost(file, text, 'vps', { ssh: 'vps', sudo: true })).toBe(`# mine
theme: "dark"   # by night

keys:
    stop: [X]
# the machines
hosts:
    # in the cupboard
    nas: { ssh: op@nas }   # old
    vps: { ssh: vps, sudo: true }
productionHosts: [nas]
`);
  });

  it.each([
    ['', 'hosts:\n  nas: { ssh: op@nas }\n', ''],
    ['# nothing yet\n', '# nothing yet\nhosts:\n  nas: { ssh: op@nas }\n', '# nothing yet\n'],
    ['theme: dark', 'theme: dark\nhosts:\n  nas: { ssh: op@nas }\n', 'theme: dark\n'],
    ['hosts: {}\ntheme: dark\n', 'hosts:\n  nas: { ssh: op@nas }\ntheme: dark\n', 'theme: dark\n'],
  ])('adds the first host to %j, and takes it away again', (text, expected, without) => {
    const written = withHost(file, text, 'nas', { ssh: 'op@nas' });
    expect(written).toBe(expected);
    expect(withoutHost(file, written, 'nas')).toBe(without);
  });

  it('adds and removes where hosts stand on one line', () => {
    const written = withHost(file, 'hosts: {nas: {ssh: nas}}\n', 'vps', { ssh: '[::1]:22' });
    expect(written).toMatch(/^hosts: \{.*nas.*vps.*\}\n$/);
    expect(withoutHost(file, written, 'nas')).toMatch(/^hosts: \{ vps: .*\}\n$/);
  });

  it('removes one host and nothing else', () => {
    const text = '# mine\nhosts:\n  # the first\n  nas: {ssh: nas}\n  vps: {ssh: vps} # far away\ntheme: dark\n';
    expect(withoutHost(file, text, 'nas')).toBe('# mine\nhosts:\n  # the first\n  vps: {ssh: vps} # far away\ntheme: dark\n');
    expect(withoutHost(file, text, 'vps')).toBe('# mine\nhosts:\n  # the first\n  nas: {ssh: nas}\ntheme: dark\n');
  });

  it('refuses a name that is taken, a name that is not there, and a file that is wrong', () => {
    const text = 'hosts:\n  nas: {ssh: nas}\n';
    expect(() => withHost(file, text, 'nas', { ssh: 'other' })).toThrow('A host named nas already exists.');
    expect(() => withoutHost(file, text, 'vps')).toThrow('No host is named vps.');
    expect(() => withHost(file, 'thme: dark\n', 'nas', { ssh: 'nas' })).toThrow('is invalid and was not changed');
    expect(() => withHost(file, 'theme: [\n', 'nas', { ssh: 'nas' })).toThrow('is invalid and was not changed');
  });

  it('writes a file that its owner alone can read, and takes the host away again', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'qd-hosts-'));
    try {
      const path = join(folder, 'config', 'config.yaml');
      const grant = mintGrant('add', 'operate', new AbortController().signal);
      await writeHost(grant, path, 'nas', { ssh: 'op@nas:2222' });
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      await writeFile(path, `# kept\n${await readFile(path, 'utf8')}`);
      await dropHost(grant, path, 'nas');
      expect(await readFile(path, 'utf8')).toBe('# kept\n');
      // A comment in another encoding would be written back as question marks.
      const other = Buffer.from('# für später\n', 'latin1');
      await writeFile(path, other);
      await expect(writeHost(grant, path, 'nas', { ssh: 'nas' })).rejects.toMatchObject({ code: 'config.unreadable' });
      expect(await readFile(path)).toEqual(other);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
