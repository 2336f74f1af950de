import type { OwnPaths } from '../config/paths.ts';
import type { Deck, DeckOptions } from './deck.ts';
import type { GlobalOptions } from './global-options.ts';
import type { Output } from './output.ts';
import type { PracticeAccess } from './practice-access.ts';

/** What a verb is given. */
export interface VerbContext {
  readonly output: Output;
  readonly options: GlobalOptions;
  readonly signal: AbortSignal;
  /** In practice those of the practice stack. */
  readonly paths: OwnPaths;
  /** Those of the installation, in practice too. */
  readonly basePaths: OwnPaths;
  /** The practice stack that the verb works on, where it was asked for. */
  readonly practice: PracticeAccess | undefined;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Opened when first asked for, closed when the verb has ended. `host`: the one that is meant where the command line names none. */
  deck(host?: string): Promise<Deck>;
  /** A deck on the practice stack, for who has no engine. Closed when the verb has ended. */
  practiceDeck(): Promise<Deck>;
}

/** The exit code. Faults are thrown. */
export type Verb = (context: VerbContext) => Promise<number>;

export type OpenDeck = (options: DeckOptions) => Promise<Deck>;
