import { createClock } from './clock.ts';
import { createCommands, type OperatorActions } from './commands.ts';
import type { ConsoleParts } from './context.ts';
import { type FilterHistory, keepsNothing } from './filter-history.ts';
import { createFlowRuns } from './flow-runs.ts';
import { createFrames } from './frames.ts';
import { createInterfaceStore, type InterfaceState } from './interface-store.ts';
import { watchInterrupted } from './interrupted-runs.ts';
import { createKeymap } from './keymap.ts';
import { createHostPrompts } from './screens/hosts/prompts.ts';
import { createLogViewer } from './screens/logs/viewer.ts';
import type { TerminalLoans } from './terminal-loan.ts';

interface Options extends Partial<ConsoleParts['sources']>, Pick<ConsoleParts, 'app' | 'theme'>, OperatorActions {
  terminalLoans: TerminalLoans;
  keys?: Readonly<Record<string, string | readonly string[]>> | undefined;
  now?: (() => number) | undefined;
  start?: Partial<InterfaceState> | undefined;
  filterHistory?: FilterHistory | undefined;
}

/** Creates the console's parts without a screen. Throws `usage.keys` for bad keys in the settings. */
export function createParts(options: Options): ConsoleParts & { close(): void } {
  const { app, theme, terminalLoans, copy, now = Date.now } = options;
  const keymap = createKeymap(options.keys);
  const frames = createFrames();
  const store = createInterfaceStore(frames, options.start);
  const logs = createLogViewer(app.logs);
  const interrupted = watchInterrupted(app, store);
  const runs = createFlowRuns({ app, store, terminalLoans, now, copy, ended: interrupted.look });
  const hostPrompts = createHostPrompts(app, store, runs);
  const { crowdsec, triage, quit, redraw, suspend } = options;
  const parts = createCommands({
    ...{ app, store, keymap, logs, interrupted, theme, frames, now, sources: { crowdsec, triage }, clock: createClock(now) },
    ...{ runs, hostPrompts, quit, redraw, suspend, copy, filterHistory: options.filterHistory ?? keepsNothing },
  });
  return {
    ...parts,
    close() {
      for (const part of [hostPrompts, interrupted, runs, logs, store, frames]) part.close();
    },
  };
}
