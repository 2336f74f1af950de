import { lstat, readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** Where a secret was found: the file, or what else was searched, and the form that it had there. */
export interface Trace {
  where: string;
  form: string;
  secret: string;
}

/** Shorter ones would be found by chance. */
const leastLength = 6;

/** Ways in which a secret can stand in a text: as it is, quoted in JSON or an address, and as programs put it into headers and files. */
function formsOf(secret: string): [form: string, text: string][] {
  const bytes = Buffer.from(secret);
  const forms: [string, string][] = [
    ['as it is', secret],
    ['in JSON', JSON.stringify(secret).slice(1, -1)],
    ['in an address', encodeURIComponent(secret)],
    ['in hex', bytes.toString('hex')],
  ];
  // In base64 of something longer it begins at one of three places; what its neighbours are mixed into is left away.
  for (const before of [0, 1, 2]) {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .slice(before === 0 ? 0 : before + 1)
      .replace(/=+$/, '')
      .slice(0, -1);
    if (text.length >= leastLength) forms.push(['in base64', text], ['in base64', text.replaceAll('+', '-').replaceAll('/', '_')]);
  }
  return forms.filter(([, text], at) => forms.findIndex(([, other]) => other === text) === at);
}

/** The secrets that stand in this text, in any form. Throws for one that is too short to be looked for. */
export function tracesIn(where: string, text: string, secrets: Iterable<string>): Trace[] {
  return [...secrets].flatMap((secret) => {
    if (secret.length < leastLength) throw new Error(`"${secret}" is too short to be looked for: give a longer one`);
    const found = formsOf(secret).find(([, form]) => text.includes(form));
    return found ? [{ where, form: found[0], secret }] : [];
  });
}

/** The same in all files of these folders, packed ones unpacked; names of files count too. */
export async function tracesBelow(folders: readonly string[], secrets: Iterable<string>): Promise<Trace[]> {
  const wanted = [...secrets];
  const traces: Trace[] = [];
  for (const folder of folders) {
    const files = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
    for (const file of files) {
      const path = join(file.parentPath, file.name);
      const shown = relative(folder, path);
      traces.push(...tracesIn(`the name ${shown}`, file.name, wanted));
      if (!file.isFile()) continue;
      const bytes = await contentOf(path);
      if (bytes) traces.push(...tracesIn(shown, bytes.toString('latin1'), wanted), ...tracesIn(shown, bytes.toString('utf8'), wanted));
    }
  }
  return traces.filter(({ where, secret }, at) => traces.findIndex((other) => other.where === where && other.secret === secret) === at);
}

/** Undefined for what went away meanwhile. */
async function contentOf(path: string): Promise<Buffer | undefined> {
  try {
    if (!(await lstat(path)).isFile()) return undefined;
    const bytes = await readFile(path);
    return bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes;
  } catch {
    return undefined;
  }
}
