import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openSshHost, type SshHost } from '../../source/hosts/ssh/ssh-host.ts';
import { makeShortFolder } from '../short-folder.ts';
import { askpass } from './remote-host.ts';
import { describeSshd, type Sshd, startSshd } from './sshd.ts';

const names = ['nas', 'shed', 'attic', 'cellar'];

describeSshd('several hosts that are connected at the same moment', () => {
  const signal = AbortSignal.timeout(110_000);
  let folder: string;
  let sshds: Sshd[] = [];
  let hosts: SshHost[] = [];

  beforeAll(async () => {
    folder = await makeShortFolder('qd-several-');
    sshds = await Promise.all(names.map((name) => startSshd({ env: { QD_TEST_HOST: name } })));
    const programs = await Promise.all(sshds.map((sshd) => sshd.client({ remote: {} })));
    hosts = programs.map(({ program }, index) =>
      openSshHost({
        name: names[index] ?? '',
        destination: { target: 'remote' },
        // One folder of sockets for all, as in one process.
        runFolder: join(folder, 'run'),
        askpass,
        env: { ...process.env, QUARTERDECK_SSH: program },
        answer: async () => undefined,
      }),
    );
  }, 60_000);

  afterAll(async () => {
    await Promise.all(hosts.map((host) => host.close()));
    await Promise.all(sshds.map((sshd) => sshd.leave()));
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  it('each answers for itself, over a connection of its own', { timeout: 120_000 }, async () => {
    const reported = await Promise.all(
      hosts.map(async (host) => {
        const { stdout } = await host.exec(['printenv', 'QD_TEST_HOST'], { signal, limitMs: 60_000 });
        return Buffer.from(stdout).toString().trim();
      }),
    );
    expect(reported).toEqual(names);
    const [own = ''] = await readdir(join(folder, 'run'));
    const controls = (await readdir(join(folder, 'run', own))).filter((name) => /-c$/.test(name));
    expect(controls).toHaveLength(names.length);
  });
});
