export interface Flag {
  name: string;
  short?: string;
  kind: 'text' | 'bool' | 'number' | 'list';
  required?: boolean;
  /** First and last minor version that has it. */
  from?: number;
  until?: number;
}

export interface Given {
  words: string[];
  text(name: string): string;
  bool(name: string): boolean;
  number(name: string): number;
  list(name: string): string[];
  has(name: string): boolean;
}

/** What the command refuses by itself; it prints it and ends with 1. */
export class FlagFault extends Error {}

/** What the reading of flags ends at: whatever stands behind it was not read, `-o json` included. */
export class UnreadFlags extends FlagFault {
  /** The words before the one that could not be read. */
  readonly read: readonly string[];

  constructor(text: string, read: readonly string[]) {
    super(text);
    this.read = read;
  }
}

/** Reads flags as cobra does: `--name value`, `--name=value`, `-n value`, and refuses in its words. @throws FlagFault */
export function readFlags(argv: readonly string[], flags: readonly Flag[]): Given {
  const values = new Map<string, string[]>();
  const words: string[] = [];
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? '';
    const before = argv.slice(0, at);
    const found = /^--([^=]+)(?:=(.*))?$|^-([A-Za-z])(?:=?(.+))?$/s.exec(word);
    if (!found) {
      words.push(word);
      continue;
    }
    const [, long, longValue, short, shortValue] = found;
    const flag = flags.find((each) => (long === undefined ? each.short === short : each.name === long));
    if (!flag)
      throw new UnreadFlags(long === undefined ? `unknown shorthand flag: '${short}' in ${word}` : `unknown flag: --${long}`, before);
    let value = long === undefined ? shortValue : longValue;
    if (value === undefined && flag.kind === 'bool') value = 'true';
    if (value === undefined) {
      at += 1;
      value = argv[at];
      if (value === undefined)
        throw new UnreadFlags(`flag needs an argument: ${long === undefined ? `'${short}' in ${word}` : `--${long}`}`, before);
    }
    if (flag.kind === 'number' && !/^\d+$/.test(value)) {
      const shown = flag.short ? `-${flag.short}, --${flag.name}` : `--${flag.name}`;
      throw new UnreadFlags(
        `invalid argument "${value}" for "${shown}" flag: strconv.ParseUint: parsing "${value}": invalid syntax`,
        before,
      );
    }
    values.set(flag.name, [...(values.get(flag.name) ?? []), value]);
  }
  const missing = flags.filter((flag) => flag.required && !values.has(flag.name)).map((flag) => `"${flag.name}"`);
  if (missing.length > 0) throw new FlagFault(`required flag(s) ${missing.join(', ')} not set`);
  const last = (name: string) => values.get(name)?.at(-1) ?? '';
  return {
    words,
    text: last,
    bool: (name) => last(name) === 'true',
    number: (name) => Number(last(name) || 0),
    list: (name) => (values.get(name) ?? []).flatMap((value) => value.split(',')).filter((value) => value !== ''),
    has: (name) => values.has(name),
  };
}

const unitsMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000, y: 31_536_000_000 };

/** Milliseconds of a duration as Prometheus writes it: `30m`, `90d`, `1h30m`, no fractions. @throws FlagFault */
export function durationMs(text: string): number {
  if (text === '') throw new FlagFault('parsing duration: empty duration string');
  if (text === '0') return 0;
  const odd = /^\d+([^\d]*)/.exec(text)?.[1] ?? '';
  if (!/^\d/.test(text)) throw new FlagFault(`parsing duration: not a valid duration string: "${text}"`);
  const pieces = [...text.matchAll(/(\d+)([^\d]*)/g)];
  for (const [, , unit = ''] of pieces) {
    if (unit === '') throw new FlagFault(`parsing duration: not a valid duration string: "${text}"`);
    if (!(unit in unitsMs)) throw new FlagFault(`parsing duration: unknown unit "${unit || odd}" in duration "${text}"`);
  }
  return pieces.reduce((sum, [, count, unit]) => sum + Number(count) * (unitsMs[unit ?? ''] ?? 0), 0);
}
