import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { ask } from './ask.ts';
import { runOrThrow } from './scripts.ts';

const name = 'docker.io/library/busybox:latest';

/** Puts busybox, the smallest of the images that `test/real/images` builds, into an engine. All of them would take as long as a test. */
export async function loadBusybox(engine: { socket: string }): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'qd-busybox-'));
  try {
    const archive = join(inject('composeFolder'), 'images.tar');
    await runOrThrow(['tar', '-x', '-C', folder, '-f', archive, 'manifest.json']);
    const entries = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as {
      Config: string;
      RepoTags: string[];
      Layers: string[];
    }[];
    const entry = entries.find(({ RepoTags }) => RepoTags.includes(name));
    if (!entry) throw new Error(`test/real/images builds no ${name}`);
    const files = [entry.Config, ...entry.Layers];
    await runOrThrow(['tar', '-x', '-C', folder, '-f', archive, ...files]);
    await writeFile(join(folder, 'manifest.json'), JSON.stringify([entry]));
    const small = join(folder, 'busybox.tar');
    await runOrThrow(['tar', '-c', '-C', folder, '-f', small, 'manifest.json', ...files]);
    const load = ['-H', 'Content-Type: application/x-tar', '-X', 'POST', '-T', small, 'http://engine/images/load'];
    const reported = await runOrThrow(['curl', '-s', '--max-time', '100', '--unix-socket', engine.socket, ...load]);
    const { status } = await ask(engine, '/images/busybox:latest/json');
    if (status !== 200) throw new Error(`${engine.socket} did not take busybox: ${reported}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
