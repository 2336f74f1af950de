import { chmod, copyFile, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeShortFolder } from '../short-folder.ts';
import { librariesOf } from './libraries-of.ts';
import { runOrThrow } from './scripts.ts';

/** A machine that has busybox and nothing else, as routers and small boxes do: a root folder of its own, entered by each session of an sshd. */
export interface BusyboxSide {
  /** For the configuration of an sshd. */
  config: readonly string[];
  leave(): Promise<void>;
}

export const busyboxProgram = '/bin/busybox';

const quoted = (path: string) => `'${path.replaceAll("'", `'\\''`)}'`;

/** @param shared folders that are there under their own paths; `program` lies in one of them, and finds its libraries. What is mounted on them is mounted for each session alone, and is gone with it */
export async function makeBusyboxSide({
  shared,
  path,
  home,
  program,
}: {
  shared: readonly string[];
  path: string;
  home: string;
  program: string;
}): Promise<BusyboxSide> {
  const root = await makeShortFolder('qd-busybox-');
  await chmod(root, 0o755);
  for (const folder of ['bin', 'etc', 'proc', 'dev', 'tmp', ...shared.map((one) => one.slice(1))])
    await mkdir(join(root, folder), { recursive: true });
  await copyFile(busyboxProgram, join(root, 'bin/busybox'));
  await chmod(join(root, 'bin/busybox'), 0o755);
  for (const applet of (await runOrThrow([busyboxProgram, '--list'])).trim().split('\n'))
    if (applet !== 'busybox') await symlink('busybox', join(root, 'bin', applet));
  for (const library of await librariesOf(program)) {
    await mkdir(dirname(join(root, library)), { recursive: true });
    await copyFile(library, join(root, library));
  }
  await writeFile(join(root, 'etc/passwd'), `root:x:0:0::${home}:/bin/sh\n`);
  await writeFile(join(root, 'etc/group'), 'root:x:0:\n');
  const script = join(root, 'enter');
  const inside = [
    ...['/proc', '/dev', ...shared].map((folder) => `mount --rbind ${quoted(folder)} ${quoted(join(root, folder))} || exit 1`),
    `cd / && export HOME=${quoted(home)} || exit 1`,
    `exec chroot ${quoted(root)} /bin/busybox env PATH=${quoted(path)} /bin/sh -c "$SSH_ORIGINAL_COMMAND"`,
  ].join('\n');
  await writeFile(script, `#!/bin/sh\nPATH=/usr/sbin:/usr/bin:/sbin:/bin exec unshare --mount sh -c ${quoted(inside)}\n`, { mode: 0o755 });
  return { config: [`ForceCommand ${script}`], leave: async () => await rm(root, { recursive: true, force: true }) };
}
