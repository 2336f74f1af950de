import type { LogTemplates } from './component-schema.ts';

export function linesOf(templates: LogTemplates | undefined, when: 'start' | 'entries', atMs: number, random: Random): string[] {
  const { entries = [], start = [] } = templates ?? {};
  const at = when === 'entries' ? Math.floor(random.next() ** 2 * entries.length) : 0;
  const chosen = when === 'entries' ? entries.slice(at, at + 1) : start;
  return chosen.flatMap((template) => filled(template, new Date(atMs).toISOString(), random).split('\n'));
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Moments as programs write them, in UTC as containers have it. */
const stamps: Readonly<Record<string, (iso: string) => string>> = {
  iso: (iso) => iso,
  second: (iso) => `${iso.slice(0, 19)}Z`,
  day: (iso) => iso.slice(0, 19).replace('T', ' '),
  dayMs: (iso) => iso.slice(0, 23).replace('T', ' '),
  dayComma: (iso) => iso.slice(0, 23).replace('T', ' ').replace('.', ','),
  slash: (iso) => iso.slice(0, 19).replace('T', ' ').replaceAll('-', '/'),
  clock: (iso) => iso.slice(11, 19),
  micro: (iso) => `${iso.slice(0, 23)}204117+00:00`,
  redis: (iso) => `${iso.slice(8, 10)} ${months[Number(iso.slice(5, 7)) - 1]} ${iso.slice(0, 4)} ${iso.slice(11, 23)}`,
  gvm: (iso) => `${iso.slice(0, 10)} ${iso.slice(11, 13)}h${iso.slice(14, 16)}.${iso.slice(17, 19)} UTC`,
  epoch: (iso) => String(Date.parse(iso) / 1000),
};

/** `{{iso}}` and the other stamps, `{{2..180}}` a number, `{{a|b}}` one of these, `{{home}}`, `{{uuid}}`, `{{hex7}}`. */
function filled(template: string, iso: string, random: Random): string {
  return template.replace(/\{\{([^{}]+)\}\}/g, (whole, name: string): string => {
    const stamp = stamps[name];
    if (stamp) return stamp(iso);
    const [, least, most] = /^(\d+)\.\.(\d+)$/.exec(name) ?? [];
    if (least !== undefined) return String(random.between(Number(least), Number(most)));
    if (name.includes('|')) return filled(random.pick(name.split('|') as [string]), iso, random);
    if (name === 'home') return `192.168.1.${random.pick([20, 21, 34, 42, 57])}`;
    if (name === 'uuid') return `${random.hex(8)}-${random.hex(4)}-4${random.hex(3)}-a${random.hex(3)}-${random.hex(12)}`;
    const digits = /^hex(\d+)$/.exec(name)?.[1];
    return digits === undefined ? whole : random.hex(Number(digits));
  });
}

/** Numbers that look random and are the same for the same seed, so that a practice stack has the same past each time. */
export class Random {
  #state: number;

  constructor(seed: string) {
    // FNV-1a: enough to tell seeds apart.
    let hash = 0x811c9dc5;
    for (let at = 0; at < seed.length; at++) hash = Math.imul(hash ^ seed.charCodeAt(at), 0x01000193);
    this.#state = hash >>> 0;
  }

  /** From 0 to 1, without 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  pick<T>(choices: readonly [T, ...T[]]): T {
    return choices[Math.floor(this.next() * choices.length)] ?? choices[0];
  }

  hex(digits: number): string {
    return Array.from({ length: digits }, () => Math.floor(this.next() * 16).toString(16)).join('');
  }
}
