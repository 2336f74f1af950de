import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { sshNames } from './ssh-names.ts';

let home: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'qd-names-'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

async function write(path: string, text: string): Promise<void> {
  const full = join(home, '.ssh', path);
  await mkdir(join(full, '..'), { recursive: true });
  await writeFile(full, text);
}

it('offers the hosts of the ssh configuration, with what it includes, and those of known_hosts that can be read', async () => {
  await write(
    'config',
    'Include conf.d/*.conf ~/.ssh/more\nhost nas backup # the cupboard\nHost *.lan !x -oProxyCommand=x\nHost="vps"\n Match all\n',
  );
  await write('conf.d/a.conf', 'Host first\n');
  await write('conf.d/b.conf', 'Host second\nInclude config\n');
  await write('conf.d/not-this', 'Host never\n');
  await write('more', 'HOST third\n');
  await write(
    'known_hosts',
    '# comment\nnas,192.168.1.20 ssh-ed25519 AAAA\n[box.example.org]:2222 ssh-ed25519 AAAA\n|1|c2FsdA==|aGFzaA== ssh-ed25519 AAAA\n@revoked bad ssh-ed25519 AAAA\n*.wild ssh-ed25519 AAAA\n',
  );
  expect(await sshNames(home)).toEqual(['first', 'second', 'third', 'nas', 'backup', 'vps', '192.168.1.20', 'box.example.org:2222']);
});

it('offers nothing where ssh has no configuration', async () => {
  expect(await sshNames(home)).toEqual([]);
});
