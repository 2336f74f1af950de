import { render } from 'ink-testing-library';
import { onTestFinished } from 'vitest';
import { Console } from '../../../source/console/console.tsx';
import { ConsoleContext, type ConsoleParts } from '../../../source/console/context.ts';
import type { FilterHistory } from '../../../source/console/filter-history.ts';
import { firstState, type InterfaceState } from '../../../source/console/interface-store.ts';
import type { Size } from '../../../source/console/layout.ts';
import { createParts } from '../../../source/console/parts.ts';
import type { PreventionSource } from '../../../source/console/screens/prevention/watch.ts';
import type { TriageSource } from '../../../source/console/screens/triage/watch.ts';
import { unstyled } from '../../../source/console/styled-text.ts';
import { createTerminalLoans } from '../../../source/console/terminal-loan.ts';
import { createTheme, type Theme } from '../../../source/console/theme.ts';
import type { LogEntry } from '../../../source/logs/store.ts';
import { textWidth } from '../../../source/text/width.ts';
import { createFakeApp, type FakeApp, type FlowBody } from './fake-app.ts';
import { sampleNowMs } from './sample-fleet.ts';

const bytes: Readonly<Record<string, string>> = {
  enter: '\r',
  esc: '\x1b',
  tab: '\t',
  'shift+tab': '\x1b[Z',
  space: ' ',
  backspace: '\x7f',
  delete: '\x1b[3~',
  up: '\x1b[A',
  down: '\x1b[B',
  right: '\x1b[C',
  left: '\x1b[D',
  home: '\x1b[H',
  end: '\x1b[F',
  pageup: '\x1b[5~',
  pagedown: '\x1b[6~',
  'ctrl+c': '\x03',
  'ctrl+d': '\x04',
  'ctrl+u': '\x15',
  'ctrl+l': '\x0c',
  'ctrl+p': '\x10',
  'ctrl+n': '\x0e',
  'ctrl+s': '\x13',
};

/** How long a test waits for what it wants to see. Nothing here takes as long, except on a machine that is very busy. */
const patienceMs = 8000;

export interface HarnessOptions {
  size?: Size;
  theme?: Theme;
  app?: FakeApp;
  readOnly?: boolean;
  flows?: Readonly<Record<string, FlowBody>>;
  keys?: Readonly<Record<string, string | readonly string[]>>;
  practice?: boolean;
  start?: Partial<InterfaceState>;
  filterHistory?: FilterHistory;
  crowdsec?: (engineName: string, signal: AbortSignal) => Promise<PreventionSource>;
  /** What scanners found. */
  triage?: TriageSource;
  now?: () => number;
  /** For flows that really do what they say, which takes as long as the machine is busy. */
  patienceMs?: number;
}

export interface Harness {
  app: FakeApp;
  /** Keys by name (`j`, `enter`, `ctrl+d`), one after the other. */
  press(...keys: string[]): Promise<void>;
  /** Bytes exactly as a terminal sends them; each chunk is one read. */
  send(...chunks: string[]): Promise<void>;
  /** Back to the first screen, as if just started. */
  reset(): Promise<void>;
  type(text: string): Promise<void>;
  paste(text: string): Promise<void>;
  resize(size: Size): Promise<void>;
  /** Waits until the text is on the screen. */
  sees(...texts: (string | RegExp)[]): Promise<void>;
  /** Waits until the text is not on the screen. */
  misses(...texts: (string | RegExp)[]): Promise<void>;
  until(met: (frame: string) => boolean, what: string): Promise<void>;
  /** The screen now, without colours. */
  frame(): string;
  /** The screen now, byte for byte. */
  raw(): string;
  row(containing: string): string;
  log(componentKey: string, lines: readonly (string | Partial<LogEntry>)[]): void;
  readonly parts: ConsoleParts;
  readonly copied: string[];
  readonly quitted: () => boolean;
}

export const plainTheme = createTheme({ depth: 'none', background: 'dark', ascii: false });
export const asciiTheme = createTheme({ depth: 'none', background: 'dark', ascii: true });
export const colourTheme = createTheme({ depth: 'full', background: 'dark', ascii: false });

/** The console on a screen that a test reads. Nothing sleeps: keys answer when they were handled, `sees` when a frame shows it. */
export async function openHarness(options: HarnessOptions = {}): Promise<Harness> {
  const size = options.size ?? { columns: 120, rows: 36 };
  const app =
    options.app ?? createFakeApp({ app: { readOnly: options.readOnly ?? false }, ...(options.flows ? { flows: options.flows } : {}) });
  const copied: string[] = [];
  let quit = false;
  const terminalLoans = createTerminalLoans(process.stdin, process.stdout);
  const parts = createParts({
    app,
    theme: options.theme ?? plainTheme,
    terminalLoans,
    keys: options.keys,
    now: options.now ?? (() => sampleNowMs),
    start: options.start,
    filterHistory: options.filterHistory,
    crowdsec: options.crowdsec,
    triage: options.triage,
    quit: () => {
      quit = true;
    },
    redraw() {},
    suspend: () => undefined,
    copy: (text) => copied.push(text),
  });
  let handledKeys = 0;
  const { press } = parts.commands;
  parts.commands.press = (key) => {
    handledKeys++;
    return press(key);
  };
  const screen = render(
    <ConsoleContext value={parts}>
      <Console terminalLoans={terminalLoans} />
    </ConsoleContext>,
  );
  const watchers = new Set<() => void>();
  const write = screen.stdout.write;
  screen.stdout.write = (frame: string) => {
    write(frame);
    for (const watcher of [...watchers]) watcher();
  };

  const raw = () => screen.lastFrame() ?? '';
  const frame = () => unstyled(raw());
  const until = (met: (frame: string) => boolean, what: string) =>
    new Promise<void>((resolve, reject) => {
      const done = (finish: () => void) => {
        clearTimeout(timer);
        watchers.delete(look);
        finish();
      };
      const look = () => met(frame()) && done(resolve);
      const timer = setTimeout(
        () => done(() => reject(new Error(`waited for ${what}; the screen is\n${frame()}`))),
        options.patienceMs ?? patienceMs,
      );
      watchers.add(look);
      look();
    });
  const has = (text: string | RegExp) => (screenText: string) =>
    typeof text === 'string' ? screenText.includes(text) : text.test(screenText);
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

  async function resize(next: Size) {
    Object.defineProperty(screen.stdout, 'columns', { value: next.columns, configurable: true });
    Object.defineProperty(screen.stdout, 'rows', { value: next.rows, configurable: true });
    screen.stdout.emit('resize');
    await turn();
  }

  async function send(...chunks: string[]) {
    const before = handledKeys;
    for (const chunk of chunks) screen.stdin.write(chunk);
    // A lone Esc is held back for a moment: it could be the start of a longer sequence.
    if (chunks.at(-1)?.endsWith('\x1b')) {
      const startMs = performance.now();
      while (handledKeys === before && performance.now() - startMs < patienceMs) await turn();
    }
    await turn();
    parts.frames.flush();
    await turn();
  }

  const harness: Harness = {
    app,
    async press(...keys) {
      for (const key of keys) await send(bytes[key] ?? key);
    },
    send,
    async type(text) {
      for (const character of text) await send(character);
    },
    paste: (text) => send(`\x1b[200~${text}\x1b[201~`),
    resize,
    async reset() {
      parts.commands.runs.close();
      await turn();
      parts.store.update(firstState);
      parts.frames.flush();
      await turn();
    },
    async sees(...texts) {
      for (const text of texts) await until(has(text), `"${text}"`);
    },
    async misses(...texts) {
      for (const text of texts) await until((screenText) => !has(text)(screenText), `"${text}" to go`);
    },
    until,
    frame,
    raw,
    row: (containing) =>
      frame()
        .split('\n')
        .find((line) => line.includes(containing)) ?? '',
    log: (key, lines) => app.log(key, lines),
    parts,
    copied,
    quitted: () => quit,
  };
  onTestFinished(() => {
    screen.unmount();
    parts.close();
  });
  await resize(size);
  return harness;
}

/** What every screen must be: not taller or wider than the terminal. Answers what is wrong. */
export function misfits(frame: string, size: Size): string[] {
  const lines = unstyled(frame).split('\n');
  const wrong = lines.flatMap((line, row) =>
    textWidth(line) > size.columns ? [`row ${row + 1} is ${textWidth(line)} wide: ${line}`] : [],
  );
  if (lines.length > size.rows) wrong.push(`${lines.length} rows`);
  return wrong;
}
