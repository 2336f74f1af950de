import type { Catalog } from '../catalog/catalog.ts';
import type { Settings } from '../config/settings.ts';
import type { Fleet } from '../fleet/model.ts';
import type { Flow, FlowContext, FlowInput, FlowOutcome } from '../flows/flow.ts';
import type { Tunnels } from '../hosts/tunnel.ts';
import type { Logs } from '../logs/store.ts';
import type { Report } from '../notifications/watch.ts';
import type { Operator } from '../session/session.ts';
import type { HostQuestions } from './host-questions.ts';
import type { PracticeAccess } from './practice-access.ts';
import type { UnfinishedChange } from './unfinished-changes.ts';

export interface AppOptions {
  readOnly: boolean;
  dryRun: boolean;
  /** A host, one engine of it (`nas/podman`), or `all`. Undefined means this machine. */
  host?: string;
  signal: AbortSignal;
  practice?: PracticeAccess;
}

/** The parts of the application, created once per process: the stores, the flows and `run`. Verbs and the console share it. */
export interface QuarterdeckApp {
  readonly options: AppOptions;
  readonly settings: Settings;
  readonly catalog: Catalog;
  readonly fleet: Fleet;
  readonly logs: Logs;
  readonly context: FlowContext;
  readonly flows: readonly Flow[];
  readonly engineMissing?: boolean;
  /** Prompts of ssh while it connects. They are declined while there are no subscribers. */
  readonly questions: HostQuestions;
  /** Adds and drops hosts as the configuration changes, starting with the first rows. Used by the console. */
  followHosts(): Promise<void>;
  /** Local ports that are forwarded to components of other machines; closed with the app. */
  readonly tunnels: Tunnels;
  /** Evaluates the rules of the settings while the console is open, unless another process does. Rejects with the reason of the signal. */
  notify?(report: (report: Report) => void, signal: AbortSignal): Promise<void>;
  /** Runs a flow in a session of its own. Everything the flow changes goes through that session's `act`. `resume`: the run to resume. */
  run(flow: Flow, input: FlowInput, operator: Operator, signal: AbortSignal, resume?: string): Promise<FlowOutcome>;
  /** Returns the interrupted changes on all engines. Never called before the first frame. */
  unfinished(signal: AbortSignal): Promise<readonly UnfinishedChange[]>;
  close(): Promise<void>;
}
