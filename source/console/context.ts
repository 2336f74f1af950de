import { createContext, useContext } from 'react';
import type { Deck } from '../terminal/deck.ts';
import type { BrokenOff } from './broken-off.ts';
import type { ChainWatch } from './chain-watch.ts';
import type { Clock } from './clock.ts';
import type { Commands } from './commands.ts';
import type { Frames } from './frames.ts';
import type { InterfaceStore } from './interface-store.ts';
import type { Keymap } from './keymap.ts';
import type { LogHub } from './log-hub.ts';
import type { PreventionWatch } from './prevention-watch.ts';
import type { Theme } from './theme.ts';
import type { TriageWatch } from './triage-watch.ts';

/** What every part of the console can reach. Made once; nothing in here changes. */
export interface ConsoleParts {
  deck: Deck;
  store: InterfaceStore;
  commands: Commands;
  brokenOff: BrokenOff;
  keymap: Keymap;
  logs: LogHub;
  prevention: PreventionWatch;
  triage: TriageWatch;
  chain: ChainWatch;
  theme: Theme;
  clock: Clock;
  frames: Frames;
  practice: boolean;
}

export const ConsoleContext = createContext<ConsoleParts | undefined>(undefined);

export function useParts(): ConsoleParts {
  const parts = useContext(ConsoleContext);
  if (!parts) throw new Error('outside of the console');
  return parts;
}
