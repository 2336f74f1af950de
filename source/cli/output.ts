import { setImmediate as nextTurn } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { type ListColumns, listLines } from '../app/table.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import type { Severity } from '../fleet/model.ts';
import { cleanLine, jsonText } from '../text/clean.ts';
import { wrap } from '../text/width.ts';

type Paint = Severity | 'strong' | 'faint' | 'accent';

type Environment = Readonly<Record<string, string | undefined>>;

/** The 16 colours of every terminal: the operator chose their appearance, light or dark. */
const codes: Record<Paint, number> = { ok: 32, busy: 36, warning: 33, error: 31, off: 90, unknown: 35, strong: 1, faint: 90, accent: 36 };

const unicodeGlyphs: Record<Severity, string> = { ok: '●', busy: '◌', warning: '▲', error: '✖', off: '○', unknown: '?' };
const asciiGlyphs: Record<Severity, string> = { ok: '+', busy: '~', warning: '!', error: 'x', off: '-', unknown: '?' };

/** Returns whether to use colour. Colour is never essential: every coloured word is readable without it (NO_COLOR, no-color.org). */
function colourWanted(stream: NodeJS.WriteStream, env: Environment, wanted: boolean): boolean {
  if (!wanted || env.NO_COLOR) return false;
  if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false';
  return stream.isTTY === true && env.TERM !== 'dumb';
}

/** Returns whether the terminal can show only ASCII. A pipe follows the locale. */
function asciiOnly(env: Environment): boolean {
  if (env.TERM === 'linux' || env.TERM === 'dumb') return true;
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || '';
  return locale !== '' && !/utf-?8/i.test(locale);
}

/** A reader that is gone (`| head`) is not an error: the rest of the output is dropped, and the work in progress is completed. */
export class Output {
  readonly ascii: boolean;
  readonly interactive: boolean;
  #colour: { stdout: boolean; stderr: boolean };
  readonly #gone = new AbortController();
  /** Aborted when the reader is gone. */
  readonly gone = this.#gone.signal;
  #failure: Error | undefined;
  #progress = '';
  lastWrittenMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly around: { stdout: NodeJS.WriteStream; stderr: NodeJS.WriteStream; env: Environment }) {
    const { stdout, stderr, env } = around;
    this.ascii = asciiOnly(env);
    this.interactive = stdout.isTTY === true;
    this.#colour = { stdout: colourWanted(stdout, env, true), stderr: colourWanted(stderr, env, true) };
    stdout.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED') this.#failure ??= error;
      this.#gone.abort();
    });
    stderr.on('error', () => {});
  }

  get coloured(): boolean {
    return this.#colour.stdout;
  }

  /** Otherwise the process would end before a slow reader has everything. Throws `failed.output` when a write failed: a full disk. */
  async flushed(signal?: AbortSignal): Promise<void> {
    await this.#taken((done) => this.around.stdout.write('', () => done()), signal);
    // A stream reports its failure on the next turn.
    await nextTurn();
    if (!this.#failure) return;
    const message = `Cannot write the result: ${messageOf(this.#failure)}.`;
    const remedy = 'The command completed, but its output could not be written. Check the output file or pipe.';
    throw new Fault('failed.output', message, remedy, { cause: this.#failure });
  }

  withoutColour(): void {
    this.#colour = { stdout: false, stderr: false };
  }

  get columns(): number {
    return this.interactive ? Math.max(20, this.around.stdout.columns || Number(this.around.env.COLUMNS) || 80) : Number.POSITIVE_INFINITY;
  }

  get rows(): number {
    return this.interactive ? this.around.stdout.rows || Number(this.around.env.LINES) || 24 : Number.POSITIVE_INFINITY;
  }

  /** Columns for sentences, also in a pipe. */
  get proseColumns(): number {
    return Math.min(100, Number.isFinite(this.columns) ? this.columns : 100);
  }

  glyph(severity: Severity): string {
    return (this.ascii ? asciiGlyphs : unicodeGlyphs)[severity];
  }

  paint(paint: Paint, text: string): string {
    return this.#colour.stdout && text !== '' ? colour(paint, text) : text;
  }

  paintError(paint: Paint, text: string): string {
    return this.#colour.stderr && text !== '' ? colour(paint, text) : text;
  }

  home: string | undefined;

  /** Shortens paths below the host's home in a sentence: `~/stack`. For text; JSON keeps full paths. */
  short(text: string): string {
    if (this.home === undefined || this.home.length < 2) return text;
    return text.replaceAll(`${this.home}/`, '~/');
  }

  line(text = ''): void {
    this.endProgress();
    this.#write(`${this.plainEnough(text)}\n`);
  }

  lines(texts: Iterable<string>): void {
    for (const text of texts) this.line(text);
  }

  list<Item>(items: readonly Item[], columns: ListColumns<Item>): void {
    this.lines(listLines(items, columns, { width: this.columns, heading: (text) => this.paint('faint', text) }));
  }

  json(value: unknown): void {
    this.endProgress();
    this.#write(`${jsonText(value, this.interactive ? 2 : undefined)}\n`);
  }

  /**
   * Writes text of many lines unchanged. Returns undefined when more can be written at once, otherwise a promise for that moment: a caller
   * that waits for it is no faster than the reader, and keeps no more in memory.
   */
  text(text: string, signal: AbortSignal): Promise<void> | undefined {
    this.endProgress();
    if (this.gone.aborted || this.around.stdout.write(text)) return undefined;
    return this.#taken((done) => this.around.stdout.once('drain', done), signal);
  }

  /** Also resolves when the reader is gone, or the signal is aborted. */
  async #taken(wait: (done: () => void) => void, signal?: AbortSignal): Promise<void> {
    const ends = signal ? [this.gone, signal] : [this.gone];
    if (ends.some(({ aborted }) => aborted)) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        for (const end of ends) end.removeEventListener('abort', done);
        this.around.stdout.off('drain', done);
        resolve();
      };
      for (const end of ends) end.addEventListener('abort', done);
      wait(done);
    });
  }

  /** Writes a program's own output, byte for byte. */
  bytes(stream: 'stdout' | 'stderr', bytes: Uint8Array): void {
    this.endProgress();
    if (stream === 'stdout') this.#write(bytes);
    else this.around.stderr.write(bytes);
  }

  /** Writes the value alone and unchanged, for the program that reads it. A terminal gets it without escape sequences. */
  secret(value: string): void {
    this.endProgress();
    this.#write(`${this.interactive ? cleanLine(value) : value}\n`);
  }

  copy(text: string): void {
    if (this.interactive) this.#write(`\x1b]52;c;${Buffer.from(text).toString('base64')}\x07`);
  }

  /** Writes to stderr, for the person who watches, not for the program that reads the result. */
  note(text = ''): void {
    this.endProgress();
    this.around.stderr.write(`${this.plainEnough(text)}\n`);
  }

  get showsProgress(): boolean {
    return this.around.stderr.isTTY === true && this.around.env.TERM !== 'dumb';
  }

  /** Writes one line that changes in place. Only a terminal shows it. */
  progress(text: string): void {
    if (!this.showsProgress || text === this.#progress) return;
    this.around.stderr.write(`\r\x1b[K${this.plainEnough(text)}`);
    this.#progress = text;
  }

  get progressColumns(): number {
    return Math.max(20, (this.around.stderr.columns || 80) - 1);
  }

  endProgress(): void {
    this.lastWrittenMs = performance.now();
    if (this.#progress === '') return;
    this.around.stderr.write('\r\x1b[K');
    this.#progress = '';
  }

  #write(content: string | Uint8Array): void {
    if (!this.gone.aborted) this.around.stdout.write(content);
  }

  /** Removes characters that this terminal cannot show. */
  plainEnough(text: string): string {
    if (!this.ascii) return text;
    return text
      .replaceAll('·', '-')
      .replaceAll('…', '>')
      .replaceAll('→', '->')
      .replace(/[^\x00-\x7f]/g, '?');
  }
}

/** Wraps a text, with `lead` before its first line and blanks of the same width before the others. */
export function hangingLines(lead: string, text: string, columns: number): string[] {
  return wrap(text, columns - lead.length).map((line, index) => (index === 0 ? lead : ' '.repeat(lead.length)) + line);
}

function colour(paint: Paint, text: string): string {
  const reset = paint === 'strong' ? 22 : 39;
  return `\x1b[${codes[paint]}m${stripVTControlCharacters(text)}\x1b[${reset}m`;
}
