/** Stream number in a frame's header: 0 is input to the program, 3 is a message of the engine itself. */
export type FrameStream = 'stdin' | 'stdout' | 'stderr' | 'engine';

/** Shares memory with its chunk: copy it to keep it. */
interface FramePart {
  stream: FrameStream;
  bytes: Buffer;
  opens: boolean;
}

const streams: readonly FrameStream[] = ['stdin', 'stdout', 'stderr', 'engine'];
const headerBytes = 8;

/** Frames of `[stream, 0, 0, 0, length as uint32 BE]` and as many bytes, in any chunks. From the first other bytes on, all is stdout. */
export class FrameSplitter {
  readonly #header = Buffer.alloc(headerBytes);
  #headerFill = 0;
  #left = 0;
  #stream: FrameStream = 'stdout';
  #opens = false;
  plain = false;

  /** A complete frame in the chunk is offered to `takeWhole` first; if that returns false, it is processed like any other. */
  push(
    chunk: Buffer,
    take: (part: FramePart) => void,
    takeWhole: (stream: FrameStream, start: number, end: number) => boolean = () => false,
  ): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#left === 0 && this.#headerFill === 0 && !this.plain && chunk.length - at >= headerBytes) {
        const stream = streams[chunk[at] ?? 0xff];
        const start = at + headerBytes;
        const end = start + chunk.readUInt32BE(at + 4);
        if (stream && end <= chunk.length && chunk.readUIntBE(at + 1, 3) === 0 && takeWhole(stream, start, end)) {
          at = end;
          continue;
        }
      }
      if (this.plain) {
        take({ stream: 'stdout', bytes: chunk.subarray(at), opens: false });
        return;
      }
      if (this.#left > 0) {
        const end = Math.min(chunk.length, at + this.#left);
        take({ stream: this.#stream, bytes: chunk.subarray(at, end), opens: this.#opens });
        this.#opens = false;
        this.#left -= end - at;
        at = end;
        continue;
      }
      const end = Math.min(chunk.length, at + headerBytes - this.#headerFill);
      chunk.copy(this.#header, this.#headerFill, at, end);
      this.#headerFill += end - at;
      at = end;
      if (this.#headerFill < headerBytes) return;
      this.#headerFill = 0;
      const stream = streams[this.#header[0] ?? 0xff];
      if (!stream || this.#header.readUIntBE(1, 3) !== 0) {
        this.plain = true;
        take({ stream: 'stdout', bytes: Buffer.from(this.#header), opens: false });
        continue;
      }
      this.#stream = stream;
      this.#left = this.#header.readUInt32BE(4);
      this.#opens = true;
    }
  }
}
