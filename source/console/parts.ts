import type { Deck } from '../terminal/deck.ts';
import { watchBrokenOff } from './broken-off.ts';
import { watchChain } from './chain-watch.ts';
import { createClock } from './clock.ts';
import { createCommands } from './commands.ts';
import type { ConsoleParts } from './context.ts';
import { type FilterKeeper, keepsNothing } from './filter-keeper.ts';
import { createFlowRuns } from './flow-runs.ts';
import { createFrames } from './frames.ts';
import { createHostAsker } from './host-asking.ts';
import { createInterfaceStore, type InterfaceState } from './interface-store.ts';
import { createKeymap } from './keymap.ts';
import { createLogHub } from './log-hub.ts';
import { openPrevention, type PreventionSource, watchPrevention } from './prevention-watch.ts';
import type { TerminalLender } from './terminal-lender.ts';
import type { Theme } from './theme.ts';
import { openTriage, type TriageSource, watchTriage } from './triage-watch.ts';

interface Options {
  deck: Deck;
  theme: Theme;
  lender: TerminalLender;
  keys?: Readonly<Record<string, string | readonly string[]>> | undefined;
  practice?: boolean | undefined;
  now?: (() => number) | undefined;
  start?: Partial<InterfaceState> | undefined;
  /** Where filters of logs are kept; missing means nowhere. */
  keeper?: FilterKeeper | undefined;
  /** Opens the CrowdSec of a place; missing means the one that flows speak to. */
  crowdsec?: ((place: string, signal: AbortSignal) => Promise<PreventionSource>) | undefined;
  triage?: TriageSource | undefined;
  quit: () => void;
  redraw: () => void;
  suspend: () => string | undefined;
  copy: (text: string) => void;
}

/** Puts the console's parts together, without a screen. Throws `usage.keys` for bad keys in the settings. */
export function createParts(options: Options): ConsoleParts & { close(): void } {
  const { deck, theme, lender, now = Date.now } = options;
  const keymap = createKeymap(options.keys);
  const frames = createFrames();
  const store = createInterfaceStore(frames, options.start);
  const logs = createLogHub(deck.logs);
  const brokenOff = watchBrokenOff(deck, store);
  const prevention = watchPrevention(options.crowdsec ?? openPrevention(deck));
  const triage = watchTriage(options.triage ?? openTriage(deck));
  const runs = createFlowRuns({
    deck,
    store,
    keymap,
    lender,
    now,
    copy: options.copy,
    measured: () => commands.measured,
    ended: () => brokenOff.look(),
  });
  const asker = createHostAsker(deck, store, runs);
  const commands = createCommands({
    asker,
    deck,
    store,
    keymap,
    logs,
    prevention,
    triage,
    keeper: options.keeper ?? keepsNothing,
    runs,
    now,
    quit: options.quit,
    redraw: options.redraw,
    suspend: options.suspend,
    copy: options.copy,
  });
  return {
    deck,
    store,
    brokenOff,
    commands,
    keymap,
    logs,
    prevention,
    triage,
    chain: watchChain(deck),
    theme,
    clock: createClock(now),
    frames,
    practice: options.practice ?? false,
    close() {
      asker.close();
      brokenOff.close();
      runs.close();
      logs.close();
      store.close();
      frames.close();
    },
  };
}
