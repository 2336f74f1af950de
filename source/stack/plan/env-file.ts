import { Fault } from '../../faults/fault.ts';

export interface EnvLine {
  /** The original text; several lines if a quoted value spans them. */
  text: string;
  name?: string;
}

/** Requires no quotes for any of the compose tools. */
const plainValue = /^[A-Za-z0-9_./:@%+,=-]+$/;
const nameLine = /^\s*(?:export\s+)?([A-Za-z_][\w.]*)\s*(?:=|$)/;

/**
 * Parses a `.env` file as compose 2 does: `export`, comments, single quotes for literal values, double quotes with escapes, otherwise
 * `$NAME` and `${NAME:-default}` of earlier lines. docker-compose 1.29 and podman-compose treat some dollar signs differently; `writeEnv`
 * writes none of those. The lines are returned too, so that the file can be changed without losing text that users wrote. Throws
 * `config.env` with the line.
 */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: a quoted value spans lines, so that one loop has to read everything
export function readEnv(text: string, file = '.env'): { values: Readonly<Record<string, string>>; lines: readonly EnvLine[] } {
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
    // The text may be the second line of a key.
    if (name === undefined) throw damaged(file, first, 'the line does not start with a variable name');
    const equals = line.indexOf('=');
    // A name without a value reads it from the environment of compose, which the file does not define.
    if (equals < 0) {
      lines.push({ text: line, name });
      continue;
    }
    const quote = /^[ \t]*(['"])/.exec(line.slice(equals + 1))?.[1];
    if (quote !== undefined) {
      const start = line.indexOf(quote, equals);
      while (closingQuote(line, start, quote) < 0) {
        index++;
        if (index >= written.length) throw damaged(file, first, `the quote after ${name}= is never closed`);
        line += `\n${(written[index] ?? '').replace(/\r$/, '')}`;
      }
      const end = closingQuote(line, start, quote);
      const rest = line.slice(end + 1);
      if (!/^\s*(?:#.*)?$/.test(rest)) throw damaged(file, index, `there is text after the closing quote of ${name}`);
      const inner = line.slice(start + 1, end);
      values[name] = quote === "'" ? inner.replaceAll("\\'", "'") : expand(unescapeDouble(inner), values);
    } else {
      const bare = line.slice(equals + 1).replace(/(?:^|\s+)#.*$/, '');
      values[name] = expand(bare.trim(), values);
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

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

const unescapeDouble = (text: string): string => text.replaceAll(/\\([^$])/g, (_, sign: string) => escapes[sign] ?? sign);

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
  return new Fault('config.env', `${file} cannot be read: ${reason}.`, 'Use NAME=value, in quotes if the value contains spaces or a #.', {
    where: { file, line: index + 1 },
  });
}

/**
 * Returns why docker-compose 1.29, compose 2 and 5 and podman-compose would not all read this value alike, as a sentence. They treat quotes,
 * backslashes and dollar signs differently, and some combinations have no common spelling.
 */
export function envValueProblem(value: string): string | undefined {
  if (/[\n\r]/.test(value)) return 'The value must be one line.';
  if (/[\u0000-\u0008\u000b-\u001f\u007f]/.test(value)) return 'The value must not contain control characters.';
  if (/\$\{[^}]*\}/.test(value)) return 'The value must not contain ${…}, which compose tools interpret differently.';
  if (spell(value) !== undefined) return undefined;
  return 'The value must not mix quotes, backslashes and dollar signs, which compose tools interpret differently.';
}

function spell(value: string): string | undefined {
  if (value === '' || plainValue.test(value)) return value;
  // Literal for all, except doubled backslashes, which only some of them reduce to one.
  if (!/'|\\\\|\\$/.test(value)) return `'${value}'`;
  if (!/[#$]|^['"\s]|\s$/.test(value)) return value;
  // A backslash or quote before the closing quote is treated as an escape, or trimmed, by older tools.
  if (!/\$|[\\"]$/.test(value)) return `"${value.replaceAll(/[\\"]/g, '\\$&')}"`;
  return undefined;
}

/** Formats `NAME=value`. The value must have passed `envValueProblem`. */
export function envLine(name: string, value: string): string {
  const spelled = envValueProblem(value) === undefined ? spell(value) : undefined;
  if (spelled === undefined) throw new RangeError(`${name} cannot be written to .env`);
  return `${name}=${spelled}`;
}

interface EnvChanges {
  set: Readonly<Record<string, string>>;
  /** Names whose lines are removed. */
  unset: Iterable<string>;
  /** Comment lines at the top of a new file. */
  header: readonly string[];
}

/** An existing variable keeps its line, new ones are appended, and everything else stays unchanged. */
export function writeEnv(existing: string | undefined, { set, unset, header }: EnvChanges): string {
  const gone = new Set(unset);
  const before: ReturnType<typeof readEnv> =
    existing === undefined ? { values: {}, lines: header.map((text) => ({ text: `# ${text}` })) } : readEnv(existing);
  const last = new Map(before.lines.flatMap(({ name }, index) => (name === undefined ? [] : [[name, index] as const])));
  const kept = before.lines.flatMap(({ text, name }, index) => {
    const value = name !== undefined && Object.hasOwn(set, name) ? set[name] : undefined;
    if (name === undefined || value === undefined) return name !== undefined && gone.has(name) ? [] : [text];
    if (last.get(name) !== index) return [];
    return [before.values[name] === value ? text : envLine(name, value)];
  });
  const added = Object.entries(set).flatMap(([name, value]) => (last.has(name) ? [] : [envLine(name, value)]));
  return [...kept, ...added].map((line) => `${line}\n`).join('');
}
