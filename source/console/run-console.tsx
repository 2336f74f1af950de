import { homedir } from 'node:os';
import { join } from 'node:path';
import { render } from 'ink';
import { ownPaths } from '../config/paths.ts';
import { Fault } from '../faults/fault.ts';
import { stoppableJob } from '../hosts/job-control.ts';
import type { Deck } from '../terminal/deck.ts';
import { Console } from './console.tsx';
import { ConsoleContext } from './context.ts';
import { type FilterKeeper, openFilterKeeper } from './filter-keeper.ts';
import { frameOutput } from './frame-output.ts';
import { createParts } from './parts.ts';
import { createTerminalLender } from './terminal-lender.ts';
import { type ThemeSettings, themeFor } from './theme.ts';

export interface ConsoleSettings {
  theme?: 'auto' | 'dark' | 'light' | 'mono';
  /** Undefined lets the terminal decide. */
  ascii?: boolean | undefined;
  /** Command id to key or keys. */
  keys?: Readonly<Record<string, string | readonly string[]>>;
  /** Says so in the header: what is seen is the practice stack. */
  practice?: boolean;
}

export interface ConsoleStreams {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
}

const leaveScreen = '\x1b[?2004l\x1b[?7h\x1b[?1049l\x1b[?25h';
const exitSignals = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

function checkTerminal({ stdin, stdout }: ConsoleStreams, env: NodeJS.ProcessEnv): void {
  const why = !stdin.isTTY
    ? 'the input is not a terminal'
    : !stdout.isTTY
      ? 'the output is not a terminal'
      : env.TERM === 'dumb'
        ? 'this terminal (TERM=dumb) cannot draw a screen'
        : undefined;
  if (!why) return;
  throw new Fault({
    code: 'usage.noTerminal',
    message: `The console needs a terminal, and ${why}.`,
    remedy: 'Use `quarterdeck status` for the state of the stack as text, or `quarterdeck status --json`.',
  });
}

export interface OwnFilters {
  keeper: FilterKeeper;
  loaded: ReturnType<FilterKeeper['load']>;
}

/** Reads the filters that were kept for logs, while the deck is still being opened. */
export function openOwnFilters(options: { readOnly: boolean }): OwnFilters {
  const paths = ownPaths(process.env, process.env.HOME || homedir());
  const keeper = openFilterKeeper(join(paths.state, 'log-filters.json'), options);
  return { keeper, loaded: keeper.load() };
}

/**
 * The console, until the operator leaves it. Answers the exit code: 0 after quitting, 128 and the signal's number after a signal.
 * Throws `usage.noTerminal` where there is no terminal to draw on, `usage.keys` for bad keys in the settings, and whatever crashed the
 * screen; the terminal is restored first in every case. Does not close the deck.
 */
export async function runConsole(
  deck: Deck,
  settings: ConsoleSettings = deck.settings,
  streams: ConsoleStreams = process,
  { keeper, loaded }: OwnFilters = openOwnFilters(deck.options),
): Promise<number> {
  checkTerminal(streams, process.env);
  const { stdin, stdout } = streams;
  const appearance: ThemeSettings = {
    ...(settings.theme === 'mono' ? { depth: 'none' as const } : { background: settings.theme ?? 'auto' }),
    ...(settings.ascii === undefined ? {} : { ascii: settings.ascii }),
  };
  const lender = createTerminalLender(stdin, stdout);
  const spoken = process.env.INK_SCREEN_READER === 'true';
  let exitCode = 0;
  let crash: { thrown: unknown } | undefined;
  let leave = () => {};

  const parts = createParts({
    deck,
    theme: themeFor(process.env, appearance),
    lender,
    keys: settings.keys,
    practice: settings.practice,
    keeper,
    start: { logFilters: await loaded },
    quit: () => leave(),
    redraw: () => void lender.lend(async () => {}).catch(() => {}),
    suspend: () => {
      const job = stoppableJob();
      if (!job) return 'Cannot suspend: no shell in this session would continue the console.';
      void lender
        .lend(
          () =>
            new Promise<void>((resolve) => {
              process.once('SIGCONT', () => resolve());
              for (const pid of job.toReversed()) process.kill(pid, 'SIGSTOP');
            }),
        )
        .catch(() => {});
      return undefined;
    },
    copy: (text) => stdout.write(`\x1b]52;c;${Buffer.from(text).toString('base64')}\x07`),
  });

  // Ink does this after the first frame: until then the terminal would write what is typed across it.
  stdin.setRawMode(true);
  const instance = render(
    <ConsoleContext value={parts}>
      <Console lender={lender} />
    </ConsoleContext>,
    {
      stdin,
      stdout: frameOutput(stdout, parts.frames.written),
      exitOnCtrlC: false,
      patchConsole: false,
      interactive: true,
      alternateScreen: !spoken,
      incrementalRendering: true,
      isScreenReaderEnabled: spoken,
      // `frames.ts` sets the pace; a limit here would beat against it.
      maxFps: 1000,
    },
  );
  leave = () => instance.unmount();

  const fail = (thrown: unknown) => {
    crash ??= { thrown };
    leave();
  };
  const onSignal = (signal: NodeJS.Signals) => {
    // While another program has the terminal, Ctrl-C is for that program.
    if (signal === 'SIGINT' && lender.lent()) return;
    exitCode = exitSignals[signal as keyof typeof exitSignals];
    leave();
  };
  // A terminal that is gone cannot be told anything, and that is no crash.
  const onBroken = () => {
    exitCode = exitSignals.SIGHUP;
    leave();
  };
  // The last resort, should the process end without coming by here.
  const onExit = () => {
    if (!spoken && !stdout.destroyed) stdout.write(leaveScreen);
  };
  const stopped = () => {
    exitCode = deck.options.signal.reason instanceof Fault && deck.options.signal.reason.kind === 'interrupted' ? 130 : exitCode;
    leave();
  };
  process.on('uncaughtException', fail);
  process.on('unhandledRejection', fail);
  process.once('exit', onExit);
  stdout.on('error', onBroken);
  stdin.on('error', onBroken);
  stdin.on('end', onBroken);
  deck.options.signal.addEventListener('abort', stopped, { once: true });
  for (const signal of Object.keys(exitSignals)) process.on(signal, onSignal);
  if (deck.options.signal.aborted) stopped();

  try {
    await instance.waitUntilExit();
  } catch (thrown) {
    crash ??= { thrown };
  } finally {
    // What is spoken ends where it stands: the shell goes on in a line of its own.
    if (spoken && !stdout.destroyed) stdout.write('\n');
    parts.close();
    await keeper.settle();
    for (const signal of Object.keys(exitSignals)) process.off(signal, onSignal);
    process.off('uncaughtException', fail);
    process.off('unhandledRejection', fail);
    process.off('exit', onExit);
    stdin.off('error', onBroken);
    stdin.off('end', onBroken);
    deck.options.signal.removeEventListener('abort', stopped);
    if (stdin.isTTY) {
      try {
        stdin.setRawMode(false);
      } catch {
        // The terminal is gone.
      }
    }
    stdin.pause();
    stdin.unref?.();
    // What is still on its way to a broken output may fail later: that is known already.
    setImmediate(() => stdout.off('error', onBroken));
  }
  if (crash) throw crash.thrown;
  return exitCode;
}
