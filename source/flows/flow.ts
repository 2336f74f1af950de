import type { Catalog, CatalogEntry } from '../catalog/catalog.ts';
import type { Engine, EngineFacts } from '../engine/engine.ts';
import type { ComponentView, Fleet, PortView } from '../fleet/model.ts';
import type { Grant, Right } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import type { Tunnels } from '../hosts/tunnel.ts';
import type { BackupKeys } from '../secrets/backup-keys.ts';
import type { SecretVault } from '../secrets/vault.ts';
import type { Session } from '../session/session.ts';
import type { HostBook } from './host-book.ts';

/** What a flow may read of the world. */
export interface FlowWorld {
  fleet: Fleet;
  engineOf(place: string): Engine;
  engineFactsOf(place: string): EngineFacts;
  hostOf(place: string): Host;
  readonly catalog: Catalog;
  /** Where secrets are kept; opened when first asked for, which may want a passphrase. Throws `refused.*` where there is no place for them. */
  vault(session: Session): Promise<SecretVault>;
  /** What signs backups, and tells whose they are. */
  backupKeys(): Promise<BackupKeys>;
  /** Absolute path of the stack's folder on that host. */
  stackFolderOf(place: string, signal: AbortSignal): Promise<string>;
  /** Where backups of that host go, as the settings say (`backups`): a folder there, or `restic:REPOSITORY`. Undefined where they say nothing. */
  backupTargetOf?(place: string): string | undefined;
  /** Ports of this machine that lead to components of others. */
  tunnels?: Tunnels;
  /** Of this installation: what is kept there can be found out again. */
  cacheFolder?: string;
  /** Of this installation: what cannot be found out again, in a folder for each thing. */
  dataFolder?: string;
  /** The operator's own catalog, absolute, where the settings name one. */
  ownCatalogFolder?: string;
  /** How this program is started, absolute: for what starts it later (a timer). */
  program?: readonly string[];
  /** Puts versions of secrets in force: plans and applies what they change, and waits until it is healthy. Answers what was restarted. */
  applySecrets?(
    session: Session,
    place: string,
    changes: readonly SecretChange[],
    /** Called once the containers have them, before they are seen healthy. */
    applied?: () => Promise<void>,
  ): Promise<{ restarted: readonly string[] }>;
  /** Hosts over ssh; missing in practice. */
  hosts?: HostBook;
  /** Where checklists are kept, and who works through them (`ada@desk`). */
  checklists?(): Promise<{ folder: string; who: string }>;
  /** In practice only: what can be made to go wrong there. */
  practice?: PracticeWorld;
}

/** A version of a secret that a component is to use from now on. */
export interface SecretChange {
  component: string;
  /** Of its compose file. */
  variable: string;
  version: string;
}

export interface PracticeWorld {
  incidents: readonly { name: string; title: string; summary: string }[];
  /** Plays one of them; `calm` ends all. Throws `failed.practice`. */
  play(grant: Grant, name: string): Promise<void>;
  /** Runs a program on a node of the practice cluster, as its root. Throws `failed.practice`. */
  runOnNode?(node: string, argv: readonly string[], signal: AbortSignal): Promise<{ exitCode: number; stdout: string; stderr: string }>;
}

/** What a flow is about. `component` and `service` come from the selected row or from the command line. */
export interface FlowInput {
  place: string;
  component?: ComponentView;
  /** Of a flow about the catalog: what is to be deployed, whether or not it is there already. */
  entry?: CatalogEntry;
  /** Service name, where the component has several and one is meant. */
  service?: string;
  /** Further words of the command line, or answers of a form. */
  words: readonly string[];
  options: Readonly<Record<string, string | boolean | readonly string[]>>;
  /** What was piped in, where the verb was told to take it (`--stdin`). */
  stdin?: Uint8Array;
}

export interface Todo {
  id: string;
  title: string;
  /** How, or where; empty where the title says it all. */
  detail: string;
  /** Nobody can see from here that it was done: `duty` confirms it. */
  byHand: boolean;
}

/** Something that goes on when the flow has ended: a verb waits for its end, the console keeps it until it ends itself. */
export interface Lasting {
  /** Aborted when it has ended. */
  readonly closed: AbortSignal;
  close(): void;
  /** Tells what becomes of it: broken, back again. With data it is what was asked for. @returns ends the telling */
  follow(tell: (state: string, message: string, data?: unknown) => void): () => void;
}

export interface FlowOutcome {
  /** One sentence: what happened. */
  message: string;
  /** What it leaves for people to do, and of which component. */
  todo?: { component: string; items: readonly Todo[] };
  /** For `--json`. */
  data?: unknown;
  /** Of a program that was run for the operator: the verb ends with it. */
  exitCode?: number;
  lasts?: Lasting;
}

/**
 * A procedure without any user interface: the console, the command line and unattended runs all run this one.
 * The registry feeds the verbs, the palette, the help and the rights.
 */
export interface Flow {
  id: string;
  /** The verb on the command line: `start`, or two words for one of several with a name in common: `secrets list`. */
  verb: string;
  /** Imperative, as the palette shows it: `Start the component`. */
  title: string;
  /** A sentence or two for help. */
  summary: string;
  right: Right;
  /** What must be selected or named: something that is there, or something of the catalog, there or not. */
  about: 'component' | 'host' | 'catalog';
  /** Makes sense for what runs on another machine alone. */
  far?: true;
  /** Of a flow about the host: works where no engine answers, and is run once, for the first place. */
  offline?: true;
  /** Of a flow about a component: "all" in its place means the whole stack; `component` is missing then. */
  all?: true;
  /** Of a flow about the host: the words that name what it can be about in this component, for who looks for both. */
  wordsFor?: (entry: CatalogEntry) => readonly (readonly string[])[];
  /** A run that was left in the middle can be gone on with on another day: `run --resume`. */
  resumes?: true;
  /** Of a flow about a component: the API that it speaks (`ComponentView.speaks`). Where one component alone speaks it, its name may be left away. */
  speaks?: string;
  /** Takes the component's name out of the words of the command line, where it is not simply the first one. */
  subject?: (words: readonly string[]) => { name: string | undefined; words: readonly string[] };
  /** Arguments behind the component on the command line, as usage shows them: `SOURCE TARGET`. */
  usage?: string;
  /** Flags of the verb: name to meaning. */
  flags?: Readonly<Record<string, { meaning: string; value?: string; repeats?: true }>>;
  /** What the component cannot do meanwhile: the console asks before it starts such a flow. */
  interrupts?: string;
  /** Of a flow about a component: only for what was deployed from here. */
  ours?: true;
  /** Does it make sense for this component as it is now? Missing means always. */
  offered?: (component: ComponentView) => boolean;
  /** Of a flow about the host: does it make sense with what runs there? Missing means always. */
  offeredOn?: (components: readonly ComponentView[], ports: readonly PortView[]) => boolean;
  run(session: Session, input: FlowInput, world: FlowWorld): Promise<FlowOutcome>;
}

/** All of a flow but its procedure. */
export type FlowAbout = Omit<Flow, 'run'>;
