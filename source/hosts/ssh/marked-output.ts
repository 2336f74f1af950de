/** A remote shell's line between our marks: `\n<token> <number> <word> <value>\n`. The token is secret and new for each shell. */
export interface Mark {
  number: number;
  word: string;
  value: string;
}

/**
 * Separates the output of several commands in one stream by marks. A mark may arrive in pieces, and in the middle of a program's output.
 */
export class MarkedOutput {
  readonly #start: Buffer;
  #held: Buffer = Buffer.alloc(0);

  constructor(
    token: string,
    private readonly receiver: { onText: (text: Buffer) => void; onMark: (mark: Mark) => void },
  ) {
    this.#start = Buffer.from(`\n${token} `);
  }

  push(chunk: Buffer): void {
    let rest = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    for (;;) {
      const at = rest.indexOf(this.#start);
      if (at < 0) break;
      const end = rest.indexOf(0x0a, at + this.#start.length);
      if (at > 0) this.receiver.onText(rest.subarray(0, at));
      rest = rest.subarray(at);
      if (end < 0) {
        this.#held = Buffer.from(rest);
        return;
      }
      const [number = '', word = '', value = ''] = rest.toString('latin1', this.#start.length, end - at).split(' ');
      rest = rest.subarray(end - at + 1);
      this.receiver.onMark({ number: Number(number), word, value });
    }
    const kept = this.#heldBack(rest);
    if (rest.length > kept) this.receiver.onText(rest.subarray(0, rest.length - kept));
    this.#held = kept === 0 ? Buffer.alloc(0) : Buffer.from(rest.subarray(rest.length - kept));
  }

  /** Returns how many bytes at the end may be the beginning of a mark. */
  #heldBack(text: Buffer): number {
    for (let length = Math.min(this.#start.length - 1, text.length); length > 0; length--) {
      if (text.subarray(text.length - length).equals(this.#start.subarray(0, length))) return length;
    }
    return 0;
  }
}
