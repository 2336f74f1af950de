import { readdir, readFile } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';

/** How deep files may include each other, as ssh itself limits it. */
const includesDeep = 16;
const filesAtMost = 200;

/**
 * Names of hosts that this operator's ssh knows: `Host` lines of the configuration without patterns, with what it includes, then names out of known_hosts that
 * are not hashed. In that order, each once. What cannot be read is left out.
 */
export async function sshNames(home: string): Promise<string[]> {
  const folder = join(home, '.ssh');
  const [aliases, known] = await Promise.all([
    aliasesIn(join(folder, 'config'), folder, home, { deep: 0, seen: new Set() }),
    textOf(join(folder, 'known_hosts')),
  ]);
  return [...new Set([...aliases, ...knownNames(known)])];
}

async function aliasesIn(
  file: string,
  folder: string,
  home: string,
  { deep, seen }: { deep: number; seen: Set<string> },
): Promise<string[]> {
  if (deep > includesDeep || seen.has(file) || seen.size >= filesAtMost) return [];
  seen.add(file);
  const found: string[] = [];
  for (const line of (await textOf(file)).split('\n')) {
    const [keyword = '', ...words] = wordsOf(line);
    if (/^host$/i.test(keyword)) found.push(...words.filter((word) => isName(word)));
    if (!/^include$/i.test(keyword)) continue;
    for (const word of words) {
      const path = word.startsWith('~/') ? join(home, word.slice(2)) : isAbsolute(word) ? word : join(folder, word);
      for (const included of await matching(path)) found.push(...(await aliasesIn(included, folder, home, { deep: deep + 1, seen })));
    }
  }
  return found;
}

/** `Host nas vps`, `Host=nas`, `Host "nas"`; a comment has no words. */
function wordsOf(line: string): string[] {
  const [, keyword, rest] = /^\s*([A-Za-z]+)(?:\s*=\s*|\s+)(.*?)\s*$/.exec(line) ?? [];
  if (keyword === undefined || rest === undefined) return [];
  const words = rest.match(/"[^"]*"|[^\s"]+/g) ?? [];
  const comment = words.findIndex((word) => word.startsWith('#'));
  return [keyword, ...(comment < 0 ? words : words.slice(0, comment)).map((word) => word.replace(/^"|"$/g, ''))];
}

/** One that a host can be reached by: no pattern, nothing that would be an option. */
function isName(word: string): boolean {
  return /^[A-Za-z0-9_][A-Za-z0-9_.:-]*$/.test(word);
}

function knownNames(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const [names = '', ...rest] = line.trim().split(/\s+/);
    // Hashed names, comments and markers (@revoked) name nobody.
    if (rest.length < 2 || /^[#|@]/.test(names)) return [];
    return names.split(',').flatMap((name) => {
      const [, host, port] = /^\[([^\]]+)\]:(\d+)$/.exec(name) ?? [];
      if (host === undefined) return isName(name) ? [name] : [];
      return isName(host) ? [host.includes(':') ? name : `${host}:${port}`] : [];
    });
  });
}

/** Files that a path with `*` and `?` in it means, in their order. */
async function matching(path: string): Promise<string[]> {
  if (!/[*?]/.test(path)) return [path];
  const folder = dirname(path);
  const folders = /[*?]/.test(folder) ? await matching(folder) : [folder];
  const shape = new RegExp(
    `^${path
      .slice(folder.length + 1)
      .replace(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
  );
  const found = await Promise.all(
    folders.map(async (one) => {
      const names = await readdir(one).catch(() => []);
      return names.filter((name) => shape.test(name) && !name.startsWith('.')).map((name) => join(one, name));
    }),
  );
  return found.flat().sort();
}

async function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '');
}
