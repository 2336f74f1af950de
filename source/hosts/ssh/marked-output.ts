/** What a far shell says between our marks: `\n<token> <number> <word> <value>\n`. The token is secret and made anew for each shell. */
export interface Mark {
  number: number;
  word: string;
  value: string;
}

/** Output of several commands in one stream, told apart by marks. A mark may come in pieces, and in the middle of what a program writes. */
export class MarkedOutput {
  readonly #start: Buffer;
  readonly #onText: (text: Buffer) => void;
  readonly #onMark: (mark: Mark) => void;
  #held: Buffer = Buffer.alloc(0);

  constructor(token: string, { onText, onMark }: { onText: (text: Buffer) => void; onMark: (mark: Mark) => void }) {
    this.#start = Buffer.from(`\n${token} `);
    this.#onText = onText;
    this.#onMark = onMark;
  }

  push(chunk: Buffer): void {
    let rest = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    for (;;) {
      const at = rest.indexOf(this.#start);
      if (at < 0) break;
      const end = rest.indexOf(0x0a, at + this.#start.length);
      if (at > 0) this.#onText(rest.subarray(0, at));
      rest = rest.subarray(at);
      if (end < 0) {
        this.#held = Buffer.from(rest);
        return;
      }
      const [number = '', word = '', value = ''] = rest.toString('latin1', this.#start.length, end - at).split(' ');
      rest = rest.subarray(end - at + 1);
      this.#onMark({ number: Number(number), word, value });
    }
    const kept = this.#heldBack(rest);
    if (rest.length > kept) this.#onText(rest.subarray(0, rest.length - kept));
    this.#held = kept === 0 ? Buffer.alloc(0) : Buffer.from(rest.subarray(rest.length - kept));
  }

  /** How much at the end may be the beginning of a mark. */
  #heldBack(text: Buffer): number {
    for (let length = Math.min(this.#start.length - 1, text.length); length > 0; length--) {
      if (text.subarray(text.length - length).equals(this.#start.subarray(0, length))) return length;
    }
    return 0;
  }
}
