import { glob, readFile } from 'node:fs/promises';
import { basename, isAbsolute, join } from 'node:path';

/** Maximum depth of included configuration files: the limit of ssh itself. */
const includesDeep = 16;
const filesAtMost = 200;

/**
 * Lists the host names that this operator's ssh knows: `Host` lines of the configuration without patterns, including included files, then
 * unhashed names from known_hosts. In that order, each once. Unreadable files are left out.
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

/** Returns the words of `Host nas vps`, `Host=nas`, `Host "nas"`; none for a comment. */
function wordsOf(line: string): string[] {
  const [, keyword, rest] = /^\s*([A-Za-z]+)(?:\s*=\s*|\s+)(.*?)\s*$/.exec(line) ?? [];
  if (keyword === undefined || rest === undefined) return [];
  const words = rest.match(/"[^"]*"|[^\s"]+/g) ?? [];
  const comment = words.findIndex((word) => word.startsWith('#'));
  return [keyword, ...(comment < 0 ? words : words.slice(0, comment)).map((word) => word.replace(/^"|"$/g, ''))];
}

const isName = (word: string): boolean => /^[A-Za-z0-9_][A-Za-z0-9_.:-]*$/.test(word);

function knownNames(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const [names = '', ...rest] = line.trim().split(/\s+/);
    // Hashed names, comments and markers (@revoked) have no readable name.
    if (rest.length < 2 || /^[#|@]/.test(names)) return [];
    return names.split(',').flatMap((name) => {
      const [, host, port] = /^\[([^\]]+)\]:(\d+)$/.exec(name) ?? [];
      if (host === undefined) return isName(name) ? [name] : [];
      return isName(host) ? [host.includes(':') ? name : `${host}:${port}`] : [];
    });
  });
}

async function matching(path: string): Promise<string[]> {
  if (!/[*?]/.test(path)) return [path];
  const found: string[] = [];
  for await (const file of glob(path)) if (!basename(file).startsWith('.')) found.push(file);
  return found.sort();
}

const textOf = async (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '');
