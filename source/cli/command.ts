import type { AppOptions, QuarterdeckApp } from '../app/app.ts';
import type { PracticeAccess } from '../app/practice-access.ts';
import type { OwnPaths } from '../config/paths.ts';
import type { Output } from './output.ts';

export interface GlobalOptions {
  host?: string;
  json: boolean;
  /** Runs on the practice stack: a served one, or one that this process opens. */
  practice: boolean;
  readOnly: boolean;
  colour: boolean;
  verbose: boolean;
  dryRun: boolean;
  /** Confirms `destroy` actions, except where a name must be typed. */
  yes: boolean;
  answers?: string;
  /** The name that a production host requires as confirmation. */
  confirm?: string;
}

export const usualOptions: GlobalOptions = {
  ...{ json: false, practice: false, readOnly: false, colour: true, verbose: false, dryRun: false, yes: false },
};

export interface VerbContext {
  readonly output: Output;
  readonly options: GlobalOptions;
  readonly signal: AbortSignal;
  /** The paths of the installation; in practice those of the practice stack. */
  readonly paths: OwnPaths;
  /** The paths of the installation, in practice too. */
  readonly basePaths: OwnPaths;
  readonly practice: PracticeAccess | undefined;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Opens the app at the first call; it is closed when the verb has ended. `host`: the default host when the command line names none. */
  app(host?: string): Promise<QuarterdeckApp>;
  /** Opens an app on the practice stack, for a machine without an engine. It is closed when the command has ended. */
  practiceApp(): Promise<QuarterdeckApp>;
}

/** Returns the exit code. Faults are thrown. */
export type Verb = (context: VerbContext) => Promise<number>;

export type CreateApp = (options: AppOptions) => Promise<QuarterdeckApp>;
