/** Flags of a command, by long name: the short one, and whether a value follows. */
export type FlagTable = Readonly<Record<string, { short?: string; kind: 'text' | 'switch' }>>;

/** A flag with a value. */
export const textFlag = (short?: string) => ({ kind: 'text' as const, ...(short === undefined ? {} : { short }) });

/** A flag without one. */
export const switchFlag = (short?: string) => ({ kind: 'switch' as const, ...(short === undefined ? {} : { short }) });

/** What was given on the command line. */
export interface Parsed {
  /** Values by long name; the last one wins. */
  texts: ReadonlyMap<string, string>;
  switches: ReadonlySet<string>;
  rest: readonly string[];
}

/** Flags anywhere among the arguments, as cobra takes them; a string is its refusal. */
export function parseFlags(table: FlagTable, argv: readonly string[]): Parsed | string {
  const texts = new Map<string, string>();
  const switches = new Set<string>();
  const rest: string[] = [];
  const byShort = new Map(Object.entries(table).flatMap(([name, { short }]) => (short === undefined ? [] : [[short, name] as const])));
  const waiting = [...argv];
  for (let word = waiting.shift(); word !== undefined; word = waiting.shift()) {
    if (word === '--') {
      rest.push(...waiting);
      break;
    }
    if (word.startsWith('--')) {
      const [name = '', ...value] = word.slice(2).split('=');
      const flag = table[name];
      if (flag === undefined) return `unknown flag: --${name}`;
      if (flag.kind === 'switch') {
        if (value.join('=') !== 'false') switches.add(name);
        continue;
      }
      const given = value.length > 0 ? value.join('=') : waiting.shift();
      if (given === undefined) return `flag needs an argument: --${name}`;
      texts.set(name, given);
    } else if (word.startsWith('-') && word.length > 1) {
      let letters = word.slice(1);
      while (letters !== '') {
        const letter = letters.slice(0, 1);
        const name = byShort.get(letter);
        if (name === undefined) return `unknown shorthand flag: '${letter}' in ${word}`;
        letters = letters.slice(1);
        if (table[name]?.kind === 'switch') {
          switches.add(name);
          continue;
        }
        const given = letters !== '' ? letters.replace(/^=/, '') : waiting.shift();
        if (given === undefined) return `flag needs an argument: '${letter}' in ${word}`;
        texts.set(name, given);
        letters = '';
      }
    } else rest.push(word);
  }
  return { texts, switches, rest };
}
