import { parsedJson } from '../text/json-value.ts';

/** A longer line is not a valid response of an engine: it is dropped. */
const lineLimitBytes = 4 * 1024 * 1024;

/** Newline-delimited JSON. Record separators of `application/json-seq` and lines that are not JSON are skipped. */
export class JsonLines {
  #rest: Buffer[] = [];
  #restBytes = 0;

  push(chunk: Buffer): unknown[] {
    const values: unknown[] = [];
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
      this.#take(chunk.subarray(start, end), values);
      start = end + 1;
    }
    if (start < chunk.length) {
      // Copied: a slice would keep the whole chunk in memory.
      this.#rest.push(Buffer.from(chunk.subarray(start)));
      this.#restBytes += chunk.length - start;
      if (this.#restBytes > lineLimitBytes) this.#rest = [];
    }
    return values;
  }

  end(): unknown[] {
    const values: unknown[] = [];
    this.#take(Buffer.alloc(0), values);
    return values;
  }

  #take(end: Buffer, values: unknown[]): void {
    const whole = this.#restBytes <= lineLimitBytes;
    const text = Buffer.concat([...this.#rest, end])
      .toString('utf8')
      .replace(/^\x1e/, '')
      .trim();
    this.#rest = [];
    this.#restBytes = 0;
    if (text === '' || !whole) return;
    const value = parsedJson(text);
    // Otherwise half a line of an engine that died while writing it.
    if (value !== undefined) values.push(value);
  }
}

/** Includes the text after the last newline. Destroys the stream if the reader stops early. */
export async function* jsonLinesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<unknown, void, void> {
  const lines = new JsonLines();
  for await (const chunk of stream) yield* lines.push(chunk);
  yield* lines.end();
}
