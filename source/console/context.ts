import { createContext, useContext } from 'react';
import type { QuarterdeckApp } from '../app/app.ts';
import type { createClock } from './clock.ts';
import type { Commands } from './commands.ts';
import type { Frames } from './frames.ts';
import type { InterfaceStore } from './interface-store.ts';
import type { watchInterrupted } from './interrupted-runs.ts';
import type { Keymap } from './keymap.ts';
import type { OpenScreens } from './open-screens.ts';
import type { LogViewer } from './screens/logs/viewer.ts';
import type { PreventionSource } from './screens/prevention/watch.ts';
import type { TriageSource } from './screens/triage/watch.ts';
import type { Theme } from './theme.ts';

export interface ConsoleParts {
  app: QuarterdeckApp;
  store: InterfaceStore;
  commands: Commands;
  screens: OpenScreens;
  interrupted: ReturnType<typeof watchInterrupted>;
  keymap: Keymap;
  logs: LogViewer;
  /** Missing means the sources that flows use. */
  sources: {
    crowdsec?: ((engineName: string, signal: AbortSignal) => Promise<PreventionSource>) | undefined;
    triage?: TriageSource | undefined;
  };
  theme: Theme;
  clock: ReturnType<typeof createClock>;
  now: () => number;
  frames: Frames;
}

export const ConsoleContext = createContext<ConsoleParts | undefined>(undefined);

export function useParts(): ConsoleParts {
  const parts = useContext(ConsoleContext);
  if (!parts) throw new Error('useParts must be called inside a ConsoleContext provider.');
  return parts;
}
