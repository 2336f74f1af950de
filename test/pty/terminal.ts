import { join } from 'node:path';
import { type IPty, spawn } from '@lydell/node-pty';
import headless, { type Terminal as Emulator } from '@xterm/headless';
import { type Cell, readCell } from './cell-style.ts';
import { type Key, keySequence } from './keys.ts';
import { renderSvg, type ScreenshotTheme, writePicture } from './screenshot.ts';

export interface TerminalOptions {
  columns?: number;
  rows?: number;
  cwd?: string;
  /** Added to what a login has (`HOME`, `PATH`, `LANG`, ...; `TERM=xterm-256color`); undefined takes away. */
  env?: Readonly<Record<string, string | undefined>>;
}

export interface TerminalExit {
  code: number;
  /** The number of the signal that ended it; 0 for none. */
  signal: number;
}

/** What is waited for: a text in one line, a pattern over the whole screen, or any condition. */
export type Sight = string | RegExp | ((terminal: Terminal) => boolean);

const defaultLimitMs = 10_000;

/** A test run sets much that a person's terminal does not have: CI, NODE_ENV, FORCE_COLOR, COLUMNS, even BASE_URL. */
const ofLogin = ['HOME', 'PATH', 'LANG', 'USER', 'LOGNAME', 'SHELL', 'TMPDIR'];

/** Of a built program whose files are all in this folder, away from the keychain. */
export const environmentIn = (home: string) => ({
  NODE_ENV: 'production',
  LANG: 'C.UTF-8',
  HOME: home,
  QUARTERDECK_HOME: join(home, 'own'),
  QUARTERDECK_KEYCHAIN: 'off',
  XDG_RUNTIME_DIR: join(home, 'run'),
});

/**
 * A program in a real pseudo terminal, read through a terminal emulator, used as a person would: press, type, look. Nothing here
 * sleeps; whoever waits is woken by what the program writes.
 */
export class Terminal {
  readonly #emulator: Emulator;
  readonly #pty: IPty;
  readonly #exited: Promise<TerminalExit>;
  readonly #watchers = new Set<() => void>();
  #exit: TerminalExit | undefined;
  #cursorShown = true;
  #raw = '';
  readonly #titles: string[] = [];
  readonly #clipboard: string[] = [];

  private constructor(argv: readonly string[], options: TerminalOptions) {
    const { columns = 120, rows = 36 } = options;
    this.#emulator = new headless.Terminal({ cols: columns, rows, allowProposedApi: true, scrollback: 2000 });
    this.#watchModes();

    const login = Object.fromEntries(ofLogin.map((name) => [name, process.env[name]]));
    const env = { ...login, TERM: 'xterm-256color', ...options.env };
    this.#pty = spawn(argv[0] ?? '', argv.slice(1), {
      // node-pty sets TERM to this name, whatever the environment says.
      name: env.TERM ?? 'xterm-256color',
      cols: columns,
      rows,
      cwd: options.cwd ?? process.cwd(),
      // node-pty hands on `undefined` as the word.
      env: Object.fromEntries(Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined)),
    });
    this.#pty.onData((data) => {
      this.#raw += data;
      this.#emulator.write(data, () => this.#wake());
    });
    // The emulator answers what a program asks of its terminal.
    this.#emulator.onData((answer) => this.#exit ?? this.#pty.write(answer));
    this.#exited = new Promise((resolve) => {
      this.#pty.onExit(({ exitCode, signal }) => {
        // Only when everything it wrote has been read.
        this.#emulator.write('', () => {
          this.#exit = { code: exitCode, signal: signal ?? 0 };
          this.#wake();
          resolve(this.#exit);
        });
      });
    });
  }

  /** Starts a program, by its path or looked up in PATH. */
  static start(argv: readonly string[], options: TerminalOptions = {}): Terminal {
    return new Terminal(argv, options);
  }

  #watchModes(): void {
    const { parser } = this.#emulator;
    const cursor = (shown: boolean) => (params: (number | number[])[]) => {
      if (params.includes(25)) this.#cursorShown = shown;
      return false;
    };
    parser.registerCsiHandler({ prefix: '?', final: 'h' }, cursor(true));
    parser.registerCsiHandler({ prefix: '?', final: 'l' }, cursor(false));
    parser.registerEscHandler({ final: 'c' }, () => {
      this.#cursorShown = true;
      return false;
    });
    parser.registerOscHandler(52, (data) => {
      this.#clipboard.push(Buffer.from(data.split(';')[1] ?? '', 'base64').toString('utf8'));
      return true;
    });
    this.#emulator.onTitleChange((title) => this.#titles.push(title));
  }

  #wake(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }

  // --- what a person does ---

  /** Keys, one write each: `press('j', 'enter')`, `press('ctrl+c')`. */
  press(...keys: Key[]): void {
    for (const key of keys) this.#pty.write(keySequence(key));
  }

  /** Characters as they are, all at once, as fast typing or a slow link makes them arrive. */
  type(text: string): void {
    this.#pty.write(text);
  }

  /** As a terminal pastes: in brackets if the program asked for them, and with line feeds as returns. */
  paste(text: string): void {
    const sent = text.replace(/\r?\n/g, '\r');
    this.#pty.write(this.#emulator.modes.bracketedPasteMode ? `\x1b[200~${sent}\x1b[201~` : sent);
  }

  resize(columns: number, rows: number): void {
    this.#emulator.resize(columns, rows);
    this.#pty.resize(columns, rows);
  }

  kill(signal: NodeJS.Signals = 'SIGTERM'): void {
    this.#pty.kill(signal);
  }

  // --- what a person sees ---

  /** The visible lines, without spaces at their ends. */
  screen(): string[] {
    const buffer = this.#emulator.buffer.active;
    return Array.from({ length: this.#emulator.rows }, (_, row) => buffer.getLine(buffer.baseY + row)?.translateToString(true) ?? '');
  }

  /** The visible lines as one text. */
  text(): string {
    return this.screen().join('\n');
  }

  /** The lines of the ordinary screen, with what scrolled away: what is left when a full-screen program has gone. */
  scrollback(): string[] {
    const buffer = this.#emulator.buffer.normal;
    return Array.from({ length: buffer.length }, (_, row) => buffer.getLine(row)?.translateToString(true) ?? '');
  }

  get size(): { columns: number; rows: number } {
    return { columns: this.#emulator.cols, rows: this.#emulator.rows };
  }

  get onAlternateScreen(): boolean {
    return this.#emulator.buffer.active.type === 'alternate';
  }

  get cursor(): { x: number; y: number; visible: boolean } {
    const { cursorX, cursorY } = this.#emulator.buffer.active;
    return { x: cursorX, y: cursorY, visible: this.#cursorShown };
  }

  /** What the program asked of the terminal and has not taken back. */
  get modes(): { bracketedPaste: boolean; mouse: boolean; applicationCursor: boolean; wrap: boolean } {
    const { bracketedPasteMode, mouseTrackingMode, applicationCursorKeysMode, wraparoundMode } = this.#emulator.modes;
    return {
      bracketedPaste: bracketedPasteMode,
      mouse: mouseTrackingMode !== 'none',
      applicationCursor: applicationCursorKeysMode,
      wrap: wraparoundMode,
    };
  }

  /** Every title that was set (OSC 0, 2). */
  get titles(): readonly string[] {
    return this.#titles;
  }

  /** Everything that was copied (OSC 52). */
  get clipboard(): readonly string[] {
    return this.#clipboard;
  }

  /** Every byte the program wrote, as text. */
  get raw(): string {
    return this.#raw;
  }

  get pid(): number {
    return this.#pty.pid;
  }

  /** The cell at a column and row, from 0. */
  cell(x: number, y: number): Cell {
    const buffer = this.#emulator.buffer.active;
    const cell = buffer.getLine(buffer.baseY + y)?.getCell(x);
    if (!cell) throw new Error(`no cell at ${x}, ${y} on a screen of ${this.#emulator.cols}x${this.#emulator.rows}`);
    return readCell(cell);
  }

  /** The cells of the first place where this text stands on the screen. */
  cellsOf(text: string): Cell[] {
    for (const [y, line] of this.cells().entries()) {
      const drawn = line.filter((cell) => cell.width > 0);
      const start = drawn
        .map((cell) => cell.text)
        .join('')
        .indexOf(text);
      if (start < 0) continue;
      let seen = 0;
      const found = drawn.filter((cell) => {
        const from = seen;
        seen += cell.text.length;
        return from >= start && from < start + text.length;
      });
      if (found.length > 0) return found;
      throw new Error(`no cells in line ${y}`);
    }
    throw new Error(`the screen does not show "${text}"\n${this.#picture()}`);
  }

  cells(): Cell[][] {
    return Array.from({ length: this.#emulator.rows }, (_, y) => Array.from({ length: this.#emulator.cols }, (__, x) => this.cell(x, y)));
  }

  // --- waiting ---

  /** Until it is on the screen. Fails with the screen after the limit, and at once when the program ends before. */
  async sees(sight: Sight, limitMs = defaultLimitMs): Promise<void> {
    await this.#until(() => this.#shows(sight), `does not show ${describeSight(sight)}`, limitMs);
  }

  /** Until it is not on the screen (any more). */
  async seesNot(sight: Sight, limitMs = defaultLimitMs): Promise<void> {
    await this.#until(() => !this.#shows(sight), `still shows ${describeSight(sight)}`, limitMs);
  }

  /** How the program ended. Fails with the screen when it has not within the limit. */
  async exit(limitMs = defaultLimitMs): Promise<TerminalExit> {
    await this.#until(() => this.#exit !== undefined, 'belongs to a program that does not end', limitMs);
    return await this.#exited;
  }

  #shows(sight: Sight): boolean {
    if (typeof sight === 'function') return sight(this);
    if (typeof sight === 'string') return this.screen().some((line) => line.includes(sight));
    // A global or sticky pattern would remember where it was.
    return new RegExp(sight.source, sight.flags.replace(/[gy]/g, '')).test(this.text());
  }

  async #until(holds: () => boolean, otherwise: string, limitMs: number): Promise<void> {
    if (holds()) return;
    const from = new Error().stack?.split('\n').slice(3).join('\n');
    await new Promise<void>((resolve, reject) => {
      const end = (reason?: string): void => {
        clearTimeout(timer);
        this.#watchers.delete(look);
        if (reason === undefined) {
          resolve();
          return;
        }
        const error = new Error(`the screen ${otherwise}: ${reason}\n${this.#picture()}`);
        error.stack = `${error.message}\n${from}`;
        reject(error);
      };
      const look = (): void => {
        if (holds()) end();
        else if (this.#exit) end(`the program ended with ${this.#exit.code}${this.#exit.signal ? ` by signal ${this.#exit.signal}` : ''}`);
      };
      const timer = setTimeout(() => end(`waited ${limitMs} ms`), limitMs);
      this.#watchers.add(look);
      look();
    });
  }

  /** The screen in a frame, for messages. */
  #picture(): string {
    const edge = '-'.repeat(this.#emulator.cols);
    return [`+${edge}+`, ...this.screen().map((line) => `|${line.padEnd(this.#emulator.cols)}|`), `+${edge}+`].join('\n');
  }

  // --- looking at it later ---

  /** Writes what is on the screen as a picture, `.svg` or `.png`. */
  async screenshot(path: string, theme?: ScreenshotTheme): Promise<void> {
    const { x, y, visible } = this.cursor;
    await writePicture(path, renderSvg(this.cells(), { cursor: visible ? { x, y } : undefined, theme }));
  }

  /** Ends the program if it still runs, and waits for its end. For the end of a test. */
  async close(): Promise<void> {
    if (!this.#exit) {
      this.#pty.kill('SIGKILL');
      await this.#exited;
    }
    this.#emulator.dispose();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function describeSight(sight: Sight): string {
  return typeof sight === 'string' ? `"${sight}"` : typeof sight === 'function' ? 'what it should' : String(sight);
}
