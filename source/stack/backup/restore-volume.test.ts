import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RestoredVolume } from './restore-journal.ts';
import { volumeScripts } from './restore-volume.ts';

let folder: string;
let volume: string;
let programs: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'qd-swap-'));
  volume = join(folder, 'volume');
  programs = join(folder, 'bin');
  mkdirSync(volume, { mode: 0o750 });
  mkdirSync(programs);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Returns paths with their content, and the mode of the folder itself. */
function contentOf(at: string): Record<string, string> {
  const found: Record<string, string> = { '': (statSync(at).mode & 0o7777).toString(8) };
  for (const entry of readdirSync(at, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    found[path.slice(at.length + 1)] = entry.isFile() ? readFileSync(path, 'utf8') : 'folder';
  }
  return found;
}

function fill(at: string, files: Record<string, string>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(at, path, '..'), { recursive: true });
    writeFileSync(join(at, path), content);
  }
}

/** Lets the n-th program that changes something fail, and all after it: as if the container had been killed there. */
function run(script: string, failsAt = Number.POSITIVE_INFINITY): boolean {
  for (const program of ['mv', 'rm']) {
    const real = execFileSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).trim();
    writeFileSync(
      join(programs, program),
      `#!/bin/sh\necho >>${folder}/calls\n[ "$(wc -l <${folder}/calls)" -lt ${Number.isFinite(failsAt) ? failsAt : 1e9} ] || exit 1\nexec ${real} "$@"\n`,
    );
    chmodSync(join(programs, program), 0o755);
  }
  writeFileSync(join(folder, 'calls'), '');
  const { status } = spawnSync('sh', ['-c', script, volume], { env: { PATH: `${programs}:${process.env.PATH}` } });
  return status === 0;
}

const restored = (more: Partial<RestoredVolume> = {}): RestoredVolume => ({
  ...{ volume: 'data', source: 'data', isFile: false, kept: [], images: [] },
  ...more,
});
const before = {
  'db.sqlite3': 'newer',
  'dir/a b': 'newer',
  '.hidden': 'newer',
  "o'dd/x": 'newer',
  'media/big/film': 'mounted',
  'media/index': 'newer',
};
const arriving = { 'db.sqlite3': 'older', 'dir/c': 'older', '.other': 'older', 'media/index': 'older' };

for (const kept of [[], ['media/big']]) {
  test(`data are swapped whole${kept.length > 0 ? ', and what is mounted below stays' : ''}`, () => {
    const scripts = volumeScripts(restored({ kept }));
    fill(volume, before);
    expect(run(scripts.prepare)).toBe(true);
    fill(join(volume, '.quarterdeck-restore/new'), arriving);
    expect(run(scripts.swap)).toBe(true);
    expect(run(scripts.clean)).toBe(true);
    const mounted = kept.length > 0 ? { 'media/big': 'folder', 'media/big/film': 'mounted' } : {};
    expect(contentOf(volume)).toEqual({ '': '750', dir: 'folder', media: 'folder', ...arriving, ...mounted });
  });

  test(`whatever breaks off in the middle is undone, and so is an undo that breaks off${kept.length > 0 ? ', around what is mounted below' : ''}`, () => {
    const scripts = volumeScripts(restored({ kept }));
    let steps = 0;
    for (let failsAt = 1; ; failsAt++) {
      rmSync(volume, { recursive: true, force: true });
      mkdirSync(volume, { mode: 0o750 });
      fill(volume, before);
      const whole = contentOf(volume);
      expect(run(scripts.prepare)).toBe(true);
      fill(join(volume, '.quarterdeck-restore/new'), arriving);
      const done = run(scripts.swap, failsAt);
      run(scripts.undo, 1 + (failsAt % 4));
      expect(run(scripts.undo)).toBe(true);
      expect(contentOf(volume)).toEqual(whole);
      if (done) break;
      steps++;
    }
    expect(steps).toBeGreaterThan(kept.length > 0 ? 3 : 1);
  });
}

test('a single file is swapped, and the folder it is in stays as it is', () => {
  const scripts = volumeScripts(restored({ source: '/etc/app/config.yml', isFile: true }));
  fill(volume, { 'config.yml': 'newer', 'other.yml': 'other' });
  const whole = contentOf(volume);
  run(scripts.prepare);
  // Docker uses the name inside the container.
  fill(join(volume, '.quarterdeck-restore/new'), { 'app.yml': 'older' });
  expect(run(scripts.swap)).toBe(true);
  expect(readFileSync(join(volume, 'config.yml'), 'utf8')).toBe('older');
  expect(run(scripts.undo)).toBe(true);
  expect(contentOf(volume)).toEqual(whole);
  run(scripts.prepare);
  fill(join(volume, '.quarterdeck-restore/new'), { 'app.yml': 'older' });
  run(scripts.swap);
  expect(run(scripts.clean)).toBe(true);
  expect(contentOf(volume)).toEqual({ ...whole, 'config.yml': 'older' });
});
