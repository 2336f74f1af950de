import { isPlain, plainCharacters } from '../text/plain-text.ts';

interface Output {
  width: number;
  height: number;
  write(x: number, y: number, text: string, options: { transformers: ((line: string, index: number) => string)[] }): void;
  clip(bounds: { x1?: number; x2?: number; y1?: number; y2?: number }): void;
  unclip(): void;
  get(): { output: string; height: number };
}
type OutputClass = new (size: { width: number; height: number }) => Output;
interface Character {
  value: string;
}
/** A line at its column. The width of a line that is not plain is left to Ink. */
interface Piece {
  x: number;
  text: string;
  columns?: number;
}

const stylesAndRuns = new RegExp(`\u001B\\[[\\d;]*m|[${plainCharacters}]+`, 'g');

export function remembered<T extends {}>(answer: (text: string) => T, most = 2048): (text: string) => T {
  const kept = new Map<string, T>();
  return (text) => {
    const known = kept.get(text) ?? answer(text);
    kept.delete(text);
    kept.set(text, known);
    if (kept.size > most) kept.delete(kept.keys().next().value ?? text);
    return known;
  };
}

/**
 * Returns a class that draws the same cells as Ink's `Output`, which creates an object for every cell of every frame. It joins the texts of
 * a row as strings when all of them are plain and do not overlap. Ink draws the other rows, and frames with clipped or transformed text.
 */
export function rowOutput(InkOutput: OutputClass, styledCharsToString: (characters: never[]) => string): OutputClass {
  const charactersOf = remembered((text): Character[] => {
    const { caches } = new InkOutput({ width: 0, height: 0 }) as unknown as { caches: { getStyledChars(text: string): Character[] } };
    return caches.getStyledChars(text);
  });

  /** Returns the lines of a plain text, as Ink writes them. A run in one style is handled as one character. */
  const linesOf = remembered((text) => {
    if (!text.includes('\u001B')) return text.split('\n').map((line) => ({ text: line, columns: line.length }));
    const runs: string[] = [];
    const styles = text.replace(stylesAndRuns, (found) => {
      if (found.startsWith('\u001B')) return found;
      runs.push(found);
      return 'x';
    });
    const lines: Character[][] = [[]];
    for (const character of charactersOf(styles)) {
      if (character.value === '\n') lines.push([]);
      else lines.at(-1)?.push({ ...character, value: runs.shift() ?? '' });
    }
    return lines.map((line) => ({
      text: styledCharsToString(line as never[]),
      columns: line.reduce((sum, { value }) => sum + value.length, 0),
    }));
  });

  const drawnByInk = remembered((row) => {
    const { width, pieces } = JSON.parse(row) as { width: number; pieces: Piece[] };
    const output = new InkOutput({ width, height: 1 });
    for (const { x, text } of pieces) output.write(x, 0, text, { transformers: [] });
    return output.get().output;
  });

  function drawRow(pieces: readonly Piece[], width: number): string {
    let row = '';
    let end = 0;
    for (const { x, text, columns } of pieces.toSorted((one, other) => one.x - other.x)) {
      if (columns === undefined || x < end || x + columns > width) return drawnByInk(JSON.stringify({ width, pieces }));
      row += ' '.repeat(x - end) + text;
      end = x + columns;
    }
    return row.trimEnd();
  }

  return class extends InkOutput {
    readonly #rows = Array.from({ length: this.height }, (): Piece[] => []);
    #joined = true;

    override write(...[x, y, text, options]: Parameters<Output['write']>): void {
      super.write(x, y, text, options);
      const known = isPlain(text);
      if (!known && text.includes('\n')) this.#joined = false;
      for (const [index, line] of (known ? linesOf(text) : [{ text }]).entries()) {
        if (options.transformers.some((transformer) => transformer(line.text, index) !== line.text)) this.#joined = false;
        if (line.text !== '') this.#rows[y + index]?.push({ x, ...line });
      }
    }

    override clip(bounds: Parameters<Output['clip']>[0]): void {
      super.clip(bounds);
      this.#joined = false;
    }

    override get(): { output: string; height: number } {
      if (!this.#joined) return super.get();
      return { output: this.#rows.map((pieces) => drawRow(pieces, this.width)).join('\n'), height: this.height };
    }
  };
}
