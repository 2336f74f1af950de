/** Collects output up to a limit; the rest is read and dropped, so that the program never blocks on a full pipe. */
export class Output {
  #chunks: Buffer[] = [];
  #sizeBytes = 0;
  cut = false;

  constructor(private readonly limitBytes: number) {}

  add(chunk: Buffer): void {
    const room = this.limitBytes - this.#sizeBytes;
    if (chunk.length > room) this.cut = true;
    if (room <= 0) return;
    const kept = chunk.length > room ? Buffer.from(chunk.subarray(0, room)) : chunk;
    this.#chunks.push(kept);
    this.#sizeBytes += kept.length;
  }

  bytes(): Uint8Array {
    return Buffer.concat(this.#chunks);
  }
}
