import { Fault } from '../faults/fault.ts';

/** A `.env` file taken apart: what it says, and its lines, so that it can be changed without losing what somebody wrote there. */
export interface EnvFile {
  /** As compose reads it: the last line of a name wins. */
  values: Readonly<Record<string, string>>;
  lines: readonly EnvLine[];
}

export interface EnvLine {
  /** As it stands there; several lines where a quoted value spans them. */
  text: string;
  /** Of a line that sets a variable. */
  name?: string;
}

/** Needs no quotes for any of the compose tools. */
const plainValue = /^[A-Za-z0-9_./:@%+,=-]+$/;
const nameLine = /^\s*(?:export\s+)?([A-Za-z_][\w.]*)\s*(?:=|$)/;

/**
 * Reads a `.env` file as compose 2 does: `export`, comments, single quotes for what is meant to the letter, double quotes with escapes, `$NAME` and
 * `${NAME:-default}` of earlier lines elsewhere. docker-compose 1.29 and podman-compose take some dollar signs otherwise; `writeEnv` writes none of those.
 * Throws `config.env` with the line.
 */
export function readEnv(text: string, file = '.env'): EnvFile {
  const values: Record<string, string> = {};
  const lines: EnvLine[] = [];
  const written = text.replace(/^\uFEFF/, '').split('\n');
  if (written.at(-1) === '') written.pop();
  for (let index = 0; index < written.length; index++) {
    const first = index;
    let line = (written[index] ?? '').replace(/\r$/, '');
    if (/^\s*(?:#.*)?$/.test(line)) {
      lines.push({ text: line });
      continue;
    }
    const name = nameLine.exec(line)?.[1];
    if (name === undefined) {
      // What stands there may be the second line of a key.
      throw damaged(file, first, 'what stands there is no name of a variable');
    }
    const equals = line.indexOf('=');
    // A name alone takes its value from the environment of compose: nothing that a file could tell.
    if (equals < 0) {
      lines.push({ text: line, name });
      continue;
    }
    const quote = /^[ \t]*(['"])/.exec(line.slice(equals + 1))?.[1];
    if (quote !== undefined) {
      const start = line.indexOf(quote, equals);
      while (closingQuote(line, start, quote) < 0) {
        index++;
        if (index >= written.length) throw damaged(file, first, `the quote behind ${name}= is never closed`);
        line += `\n${(written[index] ?? '').replace(/\r$/, '')}`;
      }
      const end = closingQuote(line, start, quote);
      const rest = line.slice(end + 1);
      if (!/^\s*(?:#.*)?$/.test(rest)) throw damaged(file, index, `there is more behind the closing quote of ${name}`);
      const inner = line.slice(start + 1, end);
      values[name] = quote === "'" ? inner.replaceAll("\\'", "'") : expand(unescapeDouble(inner), values);
    } else {
      const bare = line
        .slice(equals + 1)
        .replace(/(?:^|\s+)#.*$/, '')
        .trim();
      values[name] = expand(bare, values);
    }
    lines.push({ text: line, name });
  }
  return { values, lines };
}

function closingQuote(line: string, start: number, quote: string): number {
  for (let at = start + 1; at < line.length; at++) {
    if (line[at] === '\\') at++;
    else if (line[at] === quote) return at;
  }
  return -1;
}

function unescapeDouble(text: string): string {
  return text.replaceAll(/\\([^$])/g, (_, sign: string) => (sign === 'n' ? '\n' : sign === 'r' ? '\r' : sign === 't' ? '\t' : sign));
}

function expand(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(
    /\\\$|\$(?:\{([A-Za-z_]\w*)(?:(:?[-+?])([^}]*))?\}|([A-Za-z_]\w*))/g,
    (found, braced: string | undefined, operator: string | undefined, word: string | undefined, bare: string | undefined) => {
      if (found === '\\$') return '$';
      const value = values[braced ?? bare ?? ''];
      const set = value !== undefined && !(operator?.startsWith(':') && value === '');
      if (operator?.endsWith('+')) return set ? (word ?? '') : '';
      return set ? value : operator?.endsWith('-') ? (word ?? '') : '';
    },
  );
}

function damaged(file: string, index: number, reason: string): Fault {
  return new Fault({
    code: 'config.env',
    message: `${file} cannot be read: ${reason}.`,
    remedy: 'Write NAME=value, in quotes where the value holds spaces or a #.',
    where: { file, line: index + 1 },
  });
}

/**
 * Why this value cannot stand in a `.env` file that docker-compose 1.29, compose 2 and 5 and podman-compose all read alike, as a sentence; undefined when
 * it can. Each of them takes quotes, backslashes and dollar signs in its own way, and some combinations have no spelling that all agree on.
 */
export function envValueProblem(value: string): string | undefined {
  if (/[\n\r]/.test(value)) return 'The value must be one line.';
  if (/[\u0000-\u0008\u000b-\u001f\u007f]/.test(value)) return 'The value holds control characters.';
  if (/\$\{[^}]*\}/.test(value)) return 'The value must not hold ${…}: compose tools do not agree on what it means.';
  if (spell(value) === undefined) {
    return 'The value mixes quotes, backslashes and dollar signs in a way that compose tools do not read alike: leave one kind of them out.';
  }
  return undefined;
}

/** The value in the spelling that all compose tools read alike. */
function spell(value: string): string | undefined {
  if (value === '' || plainValue.test(value)) return value;
  // To the letter for all, but for doubled backslashes, which only some of them halve.
  if (!/'|\\\\|\\$/.test(value)) return `'${value}'`;
  if (!/[#$]|^['"\s]|\s$/.test(value)) return value;
  // A backslash or a quote at the end meets the closing quote, which older ones take for escaped or trim off.
  if (!/\$|[\\"]$/.test(value)) return `"${value.replaceAll(/[\\"]/g, '\\$&')}"`;
  return undefined;
}

/** `NAME=value`. The value must have passed `envValueProblem`. */
export function envLine(name: string, value: string): string {
  const spelled = envValueProblem(value) === undefined ? spell(value) : undefined;
  if (spelled === undefined) throw new RangeError(`${name} cannot be written to .env`);
  return `${name}=${spelled}`;
}

export interface EnvChanges {
  set: Readonly<Record<string, string>>;
  /** Names whose lines go. */
  unset: Iterable<string>;
  /** Comment lines at the top of a file that is made new. */
  header: readonly string[];
}

/**
 * The text with these variables set: a variable keeps its place, new ones come at the end, everything else stays to the letter. What is said already stays
 * as it is spelled.
 */
export function writeEnv(existing: string | undefined, { set, unset, header }: EnvChanges): string {
  const gone = new Set(unset);
  const before = existing === undefined ? { values: {}, lines: header.map((text) => ({ text: `# ${text}` })) } : readEnv(existing);
  const values: Readonly<Record<string, string>> = before.values;
  const lines: string[] = [];
  const last = new Map<string, number>();
  for (const [index, { name }] of before.lines.entries() as Iterable<[number, EnvLine]>) if (name !== undefined) last.set(name, index);
  const done = new Set<string>();
  for (const [index, { text, name }] of before.lines.entries() as Iterable<[number, EnvLine]>) {
    if (name === undefined) lines.push(text);
    else if (gone.has(name) && !Object.hasOwn(set, name)) continue;
    else if (!Object.hasOwn(set, name)) lines.push(text);
    else if (last.get(name) === index) {
      lines.push(values[name] === set[name] ? text : envLine(name, set[name] ?? ''));
      done.add(name);
    }
  }
  for (const [name, value] of Object.entries(set)) if (!done.has(name)) lines.push(envLine(name, value));
  return lines.map((line) => `${line}\n`).join('');
}
