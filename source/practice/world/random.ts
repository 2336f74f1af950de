/** Figures that look like chance and are the same for the same seed, so that a practice stack's past is the same each time. */
export class Random {
  #state: number;

  constructor(seed: string) {
    // FNV-1a: enough to tell seeds apart.
    let hash = 0x811c9dc5;
    for (let at = 0; at < seed.length; at++) hash = Math.imul(hash ^ seed.charCodeAt(at), 0x01000193);
    this.#state = hash >>> 0;
  }

  /** 0 up to, but not, 1. */
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

  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(choices: readonly [T, ...T[]]): T {
    return choices[Math.floor(this.next() * choices.length)] ?? choices[0];
  }

  hex(digits: number): string {
    return Array.from({ length: digits }, () => Math.floor(this.next() * 16).toString(16)).join('');
  }

  uuid(): string {
    return `${this.hex(8)}-${this.hex(4)}-4${this.hex(3)}-a${this.hex(3)}-${this.hex(12)}`;
  }

  /** Somebody at home. */
  homeAddress(): string {
    return `192.168.1.${this.pick([20, 21, 34, 42, 57])}`;
  }

  /** Somebody out there: from the ranges that are set aside for documentation. */
  farAddress(): string {
    return `${this.pick(['203.0.113', '198.51.100', '192.0.2'])}.${this.between(3, 250)}`;
  }
}
