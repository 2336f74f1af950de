import type { Catalog } from '../catalog/catalog.ts';
import type { Settings } from '../config/settings.ts';
import type { Logs } from '../fleet/log-store.ts';
import type { Fleet } from '../fleet/model.ts';
import type { Flow, FlowInput, FlowOutcome, FlowWorld } from '../flows/flow.ts';
import type { Tunnels } from '../hosts/tunnel.ts';
import type { Operator } from '../session/session.ts';
import type { HostQuestions } from './host-questions.ts';
import type { PracticeAccess } from './practice-access.ts';
import type { UnfinishedChange } from './unfinished-changes.ts';

/** What the command line said that concerns every verb. */
export interface DeckOptions {
  readOnly: boolean;
  rehearsing: boolean;
  verbose: boolean;
  /** A host, one engine of it (`nas/podman`), or `all`; undefined is this machine. */
  host?: string;
  signal: AbortSignal;
  /** The practice stack instead of what this machine has. */
  practice?: PracticeAccess;
}

/** Everything put together once per process: the stores, the flows and the way to run one. Used by verbs and console alike. */
export interface Deck {
  readonly options: DeckOptions;
  readonly settings: Settings;
  readonly catalog: Catalog;
  readonly fleet: Fleet;
  readonly logs: Logs;
  readonly world: FlowWorld;
  readonly flows: readonly Flow[];
  /** This machine has no engine at all. */
  readonly engineMissing?: boolean;
  /** What ssh asks before it connects; declined while nobody listens. */
  readonly questions?: HostQuestions;
  /** From when its first rows are there, hosts come and go as the configuration changes: for who stays. */
  followHosts?(): Promise<void>;
  /** Ports of this machine that lead to components of others; closed with the deck. */
  readonly tunnels?: Tunnels;
  /** Runs a flow in a session of its own; everything it changes goes through that session's `act`. */
  /** `resume`: the run to go on with. */
  run(flow: Flow, input: FlowInput, operator: Operator, signal: AbortSignal, resume?: string): Promise<FlowOutcome>;
  /** Changes that broke off, on all places. Never on the way to the first frame. */
  unfinished(signal: AbortSignal): Promise<readonly UnfinishedChange[]>;
  close(): Promise<void>;
}
