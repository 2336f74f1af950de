import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

const depthLimit = 12;

/**
 * What tells of every file and folder below these whether it changed; hidden ones at the top of a folder are left out. Throws if one cannot be
 * read, if there are more than `left`, or if links go round in circles.
 */
export async function fileStamps(paths: readonly string[], count: { left: number }, depth = 0): Promise<{ changedMs: number }[]> {
  count.left -= paths.length;
  if (count.left < 0 || depth > depthLimit) throw new Error('too many files');
  const stamps = await Promise.all(
    paths.map(async (path) => {
      const stats = await stat(path);
      const { size, ino, dev, mode, mtimeMs } = stats;
      const own = { path, size, ino, dev, mode, mtimeMs, changedMs: stats.ctimeMs };
      if (!stats.isDirectory()) return [own];
      const names = (await readdir(path)).filter((name) => depth > 0 || !name.startsWith('.')).sort();
      const inside = names.map((name) => join(path, name));
      return [own, ...(await fileStamps(inside, count, depth + 1))];
    }),
  );
  return stamps.flat();
}
