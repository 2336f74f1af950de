import type { OwnPaths } from '../config/paths.ts';
import type { Deck, DeckOptions } from './deck.ts';
import type { GlobalOptions } from './global-options.ts';
import type { Output } from './output.ts';

/** What a verb is given. */
export interface VerbContext {
  readonly output: Output;
  readonly options: GlobalOptions;
  readonly signal: AbortSignal;
  readonly paths: OwnPaths;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Opened when first asked for, closed when the verb has ended. */
  deck(): Promise<Deck>;
}

/** The exit code. Faults are thrown. */
export type Verb = (context: VerbContext) => Promise<number>;

export type OpenDeck = (options: DeckOptions) => Promise<Deck>;
