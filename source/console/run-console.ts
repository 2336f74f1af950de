import { once } from 'node:events';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { QuarterdeckApp } from '../app/app.ts';
import { ownPaths } from '../config/paths.ts';
import type { Settings } from '../config/settings.ts';
import { Fault } from '../faults/fault.ts';
import { stoppableJob } from '../hosts/job-control.ts';
import { openFilterHistory } from './filter-history.ts';
import { firstFrame } from './first-frame.ts';
import { enteredWith } from './frame-output.ts';
import { createParts } from './parts.ts';
import { watchRules } from './rule-watch.ts';
import { createTerminalLoans } from './terminal-loan.ts';
import { themeFor } from './theme.ts';

type ConsoleSettings = Partial<Pick<Settings, 'theme' | 'ascii' | 'keys'>>;

interface ConsoleStreams {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
}

const leaveScreen = '\x1b[?2004l\x1b[?7h\x1b[?1049l\x1b[?25h';
const exitSignals = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

function checkTerminal({ stdin, stdout }: ConsoleStreams, env: NodeJS.ProcessEnv): void {
  const reasons = [
    !stdin.isTTY && 'the input is not a terminal',
    !stdout.isTTY && 'the output is not a terminal',
    env.TERM === 'dumb' && 'this terminal (TERM=dumb) cannot display it',
  ];
  const reason = reasons.find((text) => text !== false);
  if (reason === undefined) return;
  const remedy = 'Use `quarterdeck status` for the state of the stack as text, or `quarterdeck status --json`.';
  throw new Fault('usage.noTerminal', `The console requires a terminal, but ${reason}.`, remedy);
}

/** Reads the saved filters of logs while the app is still being created. */
export function openOwnFilters(options: { readOnly: boolean }) {
  const paths = ownPaths(process.env, process.env.HOME || homedir());
  const filterHistory = openFilterHistory(join(paths.state, 'log-filters.json'), options);
  return { filterHistory, loaded: filterHistory.load() };
}

/**
 * Runs the console until the operator leaves it. Returns the exit code: 0 after quitting, 128 and the signal's number after a signal.
 * Throws `usage.noTerminal` without a terminal to draw on, `usage.keys` for bad keys in the settings, and any error that crashed the
 * screen; the terminal is restored first in every case. Does not close the app. One function: all resources are released in one block.
 */
export async function runConsole(
  app: QuarterdeckApp,
  settings: ConsoleSettings = app.settings,
  streams: ConsoleStreams = process,
  { filterHistory, loaded } = openOwnFilters(app.options),
): Promise<number> {
  checkTerminal(streams, process.env);
  const { stdin, stdout } = streams;
  const terminalLoans = createTerminalLoans(stdin, stdout);
  const spoken = process.env.INK_SCREEN_READER === 'true';
  let exitCode = 0;
  let crash: { thrown: unknown } | undefined;
  let left = false;
  let leave = () => {
    left = true;
  };

  const parts = createParts({
    app,
    theme: themeFor(process.env, settings),
    terminalLoans,
    keys: settings.keys,
    filterHistory,
    start: { logFilters: await loaded },
    quit: () => leave(),
    redraw: () => void terminalLoans.lend(async () => {}).catch(() => {}),
    suspend: () => {
      const job = stoppableJob();
      if (!job) return 'Cannot suspend: no shell in this session could resume the console.';
      const stop = async () => {
        const continued = once(process, 'SIGCONT');
        for (const pid of job.toReversed()) process.kill(pid, 'SIGSTOP');
        await continued;
      };
      void terminalLoans.lend(stop).catch(() => {});
      return undefined;
    },
    copy: (text) => stdout.write(`\x1b]52;c;${Buffer.from(text).toString('base64')}\x07`),
  });

  const fail = (thrown: unknown) => {
    crash ??= { thrown };
    leave();
  };
  const onSignal = (signal: NodeJS.Signals) => {
    // While another program has the terminal, Ctrl-C is for that program.
    if (signal === 'SIGINT' && terminalLoans.lent()) return;
    exitCode = exitSignals[signal as keyof typeof exitSignals];
    leave();
  };
  // A terminal that is gone can no longer be written to, and that is not a crash.
  const onBroken = () => {
    exitCode = exitSignals.SIGHUP;
    leave();
  };
  // The last resort, in case the process exits on another path.
  const onExit = () => {
    if (!spoken && !stdout.destroyed) stdout.write(leaveScreen);
  };
  const stopped = () => {
    exitCode = app.options.signal.reason instanceof Fault && app.options.signal.reason.kind === 'interrupted' ? 130 : exitCode;
    leave();
  };
  const listeners: readonly [NodeJS.EventEmitter, event: string, listener: (...args: never[]) => void][] = [
    [process, 'uncaughtException', fail],
    [process, 'unhandledRejection', fail],
    [process, 'exit', onExit],
    [stdin, 'error', onBroken],
    [stdin, 'end', onBroken],
    ...Object.keys(exitSignals).map((signal) => [process, signal, onSignal] as [NodeJS.EventEmitter, string, typeof onSignal]),
  ];
  for (const [emitter, event, listener] of listeners) emitter.on(event, listener as () => void);
  stdout.on('error', onBroken);
  app.options.signal.addEventListener('abort', stopped, { once: true });
  if (app.options.signal.aborted) stopped();

  let mounted = false;
  const ending = new AbortController();
  let watching: Promise<void> | undefined;
  try {
    const { columns, rows } = stdout;
    const shown = !spoken && columns > 0 && rows > 0 ? { columns, rows } : undefined;
    // Ink does this after its first frame: until then the terminal would echo typed keys across it.
    stdin.setRawMode(true);
    if (shown) stdout.write(enteredWith(firstFrame(parts, shown)));
    const { mountConsole } = await import('./console.tsx');
    if (!left) {
      const instance = mountConsole(parts, { stdin, stdout, terminalLoans, spoken, shown });
      mounted = true;
      leave = () => instance.unmount();
      watching = watchRules(app, parts.store, ending.signal);
      await instance.waitUntilExit();
    }
  } catch (thrown) {
    crash ??= { thrown };
  } finally {
    // The output for screen readers ends mid-line: the shell continues on a new line.
    if (spoken && !stdout.destroyed) stdout.write('\n');
    if (!spoken && !mounted && !stdout.destroyed) stdout.write(leaveScreen);
    parts.close();
    ending.abort();
    await Promise.all([filterHistory.settle(), watching]);
    for (const [emitter, event, listener] of listeners) emitter.off(event, listener as () => void);
    app.options.signal.removeEventListener('abort', stopped);
    if (stdin.isTTY) {
      try {
        stdin.setRawMode(false);
      } catch {
        // The terminal is gone.
      }
    }
    stdin.pause();
    stdin.unref?.();
    // Pending writes to a broken output may still fail later: that error is expected.
    setImmediate(() => stdout.off('error', onBroken));
  }
  if (crash) throw crash.thrown;
  return exitCode;
}
