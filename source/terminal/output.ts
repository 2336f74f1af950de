import { stripVTControlCharacters } from 'node:util';
import { Fault, messageOf } from '../faults/fault.ts';
import type { Tone } from '../fleet/model.ts';
import { cleanLine, jsonText } from '../text/clean.ts';

export type Paint = Tone | 'strong' | 'faint' | 'accent';

type Environment = Readonly<Record<string, string | undefined>>;

/** The 16 colours of every terminal: the operator chose what they look like, light or dark. */
const codes: Record<Paint, readonly [number, number]> = {
  good: [32, 39],
  busy: [36, 39],
  warn: [33, 39],
  bad: [31, 39],
  idle: [90, 39],
  unknown: [35, 39],
  strong: [1, 22],
  faint: [90, 39],
  accent: [36, 39],
};

const unicodeGlyphs: Record<Tone, string> = { good: '●', busy: '◌', warn: '▲', bad: '✖', idle: '○', unknown: '?' };
const asciiGlyphs: Record<Tone, string> = { good: '+', busy: '~', warn: '!', bad: 'x', idle: '-', unknown: '?' };

/** Colour is never needed: every coloured word is there without it (NO_COLOR, no-color.org). */
function colourWanted(stream: NodeJS.WriteStream, env: Environment, wanted: boolean): boolean {
  if (!wanted || env.NO_COLOR) return false;
  if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false';
  return stream.isTTY === true && env.TERM !== 'dumb';
}

/** A terminal that cannot show more than ASCII; a pipe takes what the locale says. */
function asciiOnly(env: Environment): boolean {
  if (env.TERM === 'linux' || env.TERM === 'dumb') return true;
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || '';
  return locale !== '' && !/utf-?8/i.test(locale);
}

/** Where verbs write. A reader that went away (`| head`) is no error: the rest is dropped, and what was begun is finished. */
export class Output {
  readonly ascii: boolean;
  /** Does a person read what is written? */
  readonly interactive: boolean;
  readonly #stdout: NodeJS.WriteStream;
  readonly #stderr: NodeJS.WriteStream;
  readonly #env: Environment;
  #colour: { stdout: boolean; stderr: boolean };
  readonly #gone = new AbortController();
  #failure: Error | undefined;
  /** A progress line that is on the screen now. */
  #progress = '';
  #lastWrittenMs = Number.NEGATIVE_INFINITY;

  constructor({ stdout, stderr, env }: { stdout: NodeJS.WriteStream; stderr: NodeJS.WriteStream; env: Environment }) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#env = env;
    this.ascii = asciiOnly(env);
    this.interactive = stdout.isTTY === true;
    this.#colour = { stdout: colourWanted(stdout, env, true), stderr: colourWanted(stderr, env, true) };
    stdout.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED') this.#failure ??= error;
      this.#gone.abort();
    });
    stderr.on('error', () => {});
  }

  /** Aborted when nobody reads any more: there is nothing to go on for. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Does stdout take colour? For those who paint more than `paint` does. */
  get coloured(): boolean {
    return this.#colour.stdout;
  }

  /**
   * Resolves when everything was taken, however slow the reader is: the process would end without it. Throws `failed.output` when something that was
   * written did not arrive: a full disk, a terminal that is gone.
   */
  async flushed(signal?: AbortSignal): Promise<void> {
    await this.#taken((done) => this.#stdout.write('', () => done()), signal);
    // A stream tells of its failure on the next turn.
    await new Promise((resolve) => setImmediate(resolve));
    if (!this.#failure) return;
    throw new Fault({
      code: 'failed.output',
      message: `The result could not be written: ${messageOf(this.#failure)}.`,
      remedy: 'Look at where the output goes; what was to be done is done.',
      cause: this.#failure,
    });
  }

  /** `--no-color`. */
  withoutColour(): void {
    this.#colour = { stdout: false, stderr: false };
  }

  /** Columns of the terminal; a pipe has no edge. */
  get columns(): number {
    return this.interactive ? Math.max(20, this.#stdout.columns || Number(this.#env.COLUMNS) || 80) : Number.POSITIVE_INFINITY;
  }

  /** Rows of the terminal; a pipe has no end. */
  get rows(): number {
    return this.interactive ? this.#stdout.rows || Number(this.#env.LINES) || 24 : Number.POSITIVE_INFINITY;
  }

  /** For sentences, also in a pipe. */
  get proseColumns(): number {
    return Math.min(100, Number.isFinite(this.columns) ? this.columns : 100);
  }

  glyph(tone: Tone): string {
    return (this.ascii ? asciiGlyphs : unicodeGlyphs)[tone];
  }

  /** Colour for stdout, or the text as it is where colour is not wanted. */
  paint(paint: Paint, text: string): string {
    return this.#colour.stdout && text !== '' ? colour(paint, text) : text;
  }

  paintError(paint: Paint, text: string): string {
    return this.#colour.stderr && text !== '' ? colour(paint, text) : text;
  }

  /** The home folder of the host that verbs work on, once it is known. */
  home: string | undefined;

  /** A sentence with paths below the host's home as people write them: `~/stack`. For words to people; JSON keeps paths whole. */
  short(text: string): string {
    if (this.home === undefined || this.home.length < 2) return text;
    return text.replaceAll(`${this.home}/`, '~/');
  }

  line(text = ''): void {
    this.#clearProgress();
    this.#write(`${this.plainEnough(text)}\n`);
  }

  json(value: unknown): void {
    this.#clearProgress();
    this.#write(`${jsonText(value, this.interactive ? 2 : undefined)}\n`);
  }

  /**
   * Text of many lines, as it is. Undefined when more is welcome at once, otherwise resolves when it is: whoever waits for it is no faster than the
   * reader, and keeps no more in memory.
   */
  text(text: string, signal: AbortSignal): Promise<void> | undefined {
    this.#clearProgress();
    if (this.gone.aborted || this.#stdout.write(text)) return undefined;
    return this.#taken((done) => this.#stdout.once('drain', done), signal);
  }

  /** Or nobody reads any more, or nobody waits. */
  async #taken(wait: (done: () => void) => void, signal?: AbortSignal): Promise<void> {
    const ends = signal ? [this.gone, signal] : [this.gone];
    if (ends.some(({ aborted }) => aborted)) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        for (const end of ends) end.removeEventListener('abort', done);
        this.#stdout.off('drain', done);
        resolve();
      };
      for (const end of ends) end.addEventListener('abort', done);
      wait(done);
    });
  }

  /** A program's own output, byte for byte. */
  bytes(stream: 'stdout' | 'stderr', bytes: Uint8Array): void {
    this.#clearProgress();
    if (stream === 'stdout') this.#write(bytes);
    else this.#stderr.write(bytes);
  }

  /** The value alone, as it is, for the program that reads it. A person sees it without escape sequences. */
  secret(value: string): void {
    this.#clearProgress();
    this.#write(`${this.interactive ? cleanLine(value) : value}\n`);
  }

  /** To the clipboard of the operator's terminal (OSC 52). */
  copy(text: string): void {
    if (this.interactive) this.#write(`\x1b]52;c;${Buffer.from(text).toString('base64')}\x07`);
  }

  /** For whoever watches, not for whoever reads the result. */
  note(text = ''): void {
    this.#clearProgress();
    this.#stderr.write(`${this.plainEnough(text)}\n`);
  }

  /** When something was last written that stays, by `performance.now()`. */
  get lastWrittenMs(): number {
    return this.#lastWrittenMs;
  }

  get showsProgress(): boolean {
    return this.#stderr.isTTY === true && this.#env.TERM !== 'dumb';
  }

  /** One line that changes in place. Only a terminal sees it. */
  progress(text: string): void {
    if (!this.showsProgress) return;
    if (text === this.#progress) return;
    this.#stderr.write(`\r\x1b[K${this.plainEnough(text)}`);
    this.#progress = text;
  }

  endProgress(): void {
    this.#clearProgress();
  }

  /** Columns for a progress line. */
  get progressColumns(): number {
    return Math.max(20, (this.#stderr.columns || 80) - 1);
  }

  #clearProgress(): void {
    this.#lastWrittenMs = performance.now();
    if (this.#progress === '') return;
    this.#stderr.write('\r\x1b[K');
    this.#progress = '';
  }

  #write(content: string | Uint8Array): void {
    if (!this.gone.aborted) this.#stdout.write(content);
  }

  /** Without what this terminal cannot show. */
  plainEnough(text: string): string {
    if (!this.ascii) return text;
    return text
      .replaceAll('·', '-')
      .replaceAll('…', '>')
      .replaceAll('→', '->')
      .replace(/[^\x00-\x7f]/g, '?');
  }
}

function colour(paint: Paint, text: string): string {
  const [open, close] = codes[paint];
  return `\x1b[${open}m${stripVTControlCharacters(text)}\x1b[${close}m`;
}
