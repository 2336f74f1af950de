import type { Catalog, CatalogEntry } from '../catalog/catalog.ts';
import type { Engine, EngineFacts } from '../engine/engine.ts';
import type { ComponentView, Fleet, PortView } from '../fleet/model.ts';
import type { Grant, Right } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import type { Tunnels } from '../hosts/tunnel.ts';
import type { Notifications } from '../notifications/notifications.ts';
import type { BackupKeys } from '../secrets/backup-keys.ts';
import type { SecretStorage } from '../secrets/secrets.ts';
import type { Session } from '../session/session.ts';
import type { HostBook } from './hosts/host-book.ts';

export interface FlowContext {
  fleet: Fleet;
  engineOf(engineName: string): Engine;
  engineFactsOf(engineName: string): EngineFacts;
  hostOf(engineName: string): Host;
  readonly catalog: Catalog;
  /** Opens the secret backend on first use, which may prompt for a passphrase. Throws `refused.*` if there is no backend. */
  vault(session: Session): Promise<SecretStorage>;
  /** Signs backups, and identifies their author. */
  backupKeys(): Promise<BackupKeys>;
  stackFolderOf(engineName: string, signal: AbortSignal): Promise<string>;
  /** A folder on that host, or `restic:REPOSITORY`, from the settings (`backups`). */
  backupTargetOf?(engineName: string): string | undefined;
  /** Ports of this machine that are forwarded to components of other machines. */
  tunnels?: Tunnels;
  /** Cache of this installation: its content can be recreated. */
  cacheFolder?: string;
  /** Data of this installation that cannot be recreated, with a folder for each kind. */
  dataFolder: string;
  /** The operator's own catalog, as an absolute path, if the settings name one. */
  ownCatalogFolder?: string;
  /** Rules and targets in the settings; missing in read-only mode. */
  notifications?: Notifications;
  /** This machine, also in practice mode and if it has no engine. */
  localHost?: Host;
  /** The absolute command that starts this program, for a timer that starts it later. */
  program?: readonly string[];
  /** Plans and applies the changes, and waits until the components are healthy. Returns the restarted services. */
  applySecrets?(
    session: Session,
    engineName: string,
    changes: readonly SecretChange[],
    /** Called once the containers have them, before they are seen healthy. */
    applied?: () => Promise<void>,
  ): Promise<{ restarted: readonly string[] }>;
  /** Returns a flow by its id, for the remedy of a finding. */
  flowOf?(id: string): Flow | undefined;
  /** Hosts over SSH; missing in practice mode. */
  hosts?: HostBook;
  /** The folder of checklists, and the user who works through them (`ada@desk`). */
  checklists?(): Promise<{ folder: string; who: string }>;
  practice?: PracticeControls;
}

export interface SecretChange {
  component: string;
  variable: string;
  version: string;
}

export interface PracticeControls {
  incidents: readonly { name: string; title: string; summary: string }[];
  /** Simulates one of them; `calm` ends all. Throws `failed.practice`. */
  play(grant: Grant, name: string): Promise<void>;
  /** Runs a program as root on a node of the practice cluster. Throws `failed.practice`. */
  runOnNode?(node: string, argv: readonly string[], signal: AbortSignal): Promise<{ exitCode: number; stdout: string; stderr: string }>;
}

/** The target of a flow. `component` and `service` come from the selected row or from the command line. */
export interface FlowInput {
  engineName: string;
  component?: ComponentView;
  /** For a flow about the catalog: the entry to deploy, whether or not it is deployed already. */
  entry?: CatalogEntry;
  /** Service name, if the component has several and one is selected. */
  service?: string;
  /** Further words of the command line, or answers of a form. */
  words: readonly string[];
  options: Readonly<Record<string, string | boolean | readonly string[]>>;
  /** Piped input, if the verb was started with `--stdin`. */
  stdin?: Uint8Array;
}

export interface Todo {
  id: string;
  title: string;
  /** How or where to do it; empty if the title says it all. */
  detail: string;
  /** Cannot be observed by Quarterdeck: `tasks` confirms it. */
  byHand: boolean;
}

/** Work that continues after the flow has ended: a verb waits for its end, the console keeps it until it ends by itself. */
export interface Lasting {
  /** Aborted when it has ended. */
  readonly closed: AbortSignal;
  close(): void;
  /** Ends with exit code 0 when a signal ends it, as a service does. */
  readonly isService?: true;
  /** Why it ended by itself, if that is an error. */
  failure?(): unknown;
  /** Reports its state: broken, working again. With data, it reports the requested results. Returns a function that stops the reports. */
  follow(tell: (state: string, message: string, data?: unknown) => void): () => void;
}

export interface FlowOutcome {
  message: string;
  /** Tasks that remain for the operator, and their component. */
  todo?: { component: string; items: readonly Todo[] };
  data?: unknown;
  /** Exit code of a program that was run for the operator: the verb exits with it. */
  exitCode?: number;
  lasts?: Lasting;
}

/** A procedure without any user interface. The registry supplies the verbs, the palette, the help and the rights. */
export interface Flow {
  id: string;
  /** The verb on the command line: `start`, or two words for one of several with a common name: `secrets list`. */
  verb: string;
  /** Imperative, as the palette shows it: `Start the component`. */
  title: string;
  summary: string;
  right: Right;
  /** The kind of target that must be selected or named: an existing component, or a catalog entry. */
  about: 'component' | 'host' | 'catalog';
  /** Only useful for components on another machine. */
  remote?: true;
  /** For a flow about the host: works without an engine, and is run once, for the first engine. */
  offline?: true;
  /** For a flow about the host: opens every host unless one is named, but is run once. */
  allHosts?: true;
  /** For a flow about a component: "all" instead of a name means the whole stack; `component` is missing then. */
  all?: true;
  /** For a flow about the host: returns the words that name possible targets in this component, for a search over both. */
  wordsFor?: (entry: CatalogEntry) => readonly (readonly string[])[];
  /** An interrupted run can be resumed on another day: `run --resume`. */
  resumes?: true;
  /**
   * For a flow about a component: the required API. The flow is offered for components that have it and run; on the command line, the
   * component's name is optional if only one has it.
   */
  speaks?: string;
  /** Extracts the component's name from the words of the command line, if it is not simply the first one. */
  subject?: (words: readonly string[]) => { name: string | undefined; words: readonly string[] };
  /** Arguments after the component on the command line, as usage shows them: `SOURCE TARGET`. */
  usage?: string;
  /** Flags of the verb: name to description. */
  flags?: Readonly<Record<string, { meaning: string; value?: string; repeats?: true }>>;
  /** What the component cannot do meanwhile: the console prompts for confirmation before it starts such a flow. */
  interrupts?: string;
  /** For a flow about a component: only for those that Quarterdeck deployed. */
  ours?: true;
  /** Returns whether the flow is useful for this component in its current state. If missing, it always is. */
  offered?: (component: ComponentView) => boolean;
  /** For a flow about the host: returns whether it is useful with the components there. If missing, it always is. */
  offeredOn?: (components: readonly ComponentView[], ports: readonly PortView[]) => boolean;
  run: Procedure;
}

export type Procedure = (session: Session, input: FlowInput, context: FlowContext) => Promise<FlowOutcome>;

export type FlowMeta = Omit<Flow, 'run'>;

/** One flow of a list. Missing properties come from the common ones, and its id from its verb (`vault read`: `vault-read`). */
type LazyFlow<Common> = Omit<FlowMeta, 'id' | keyof Common> & Partial<FlowMeta> & { load: () => Promise<Procedure> };

type FlowWords = Partial<FlowMeta> & Pick<FlowMeta, 'title' | 'summary'> & { load: () => Promise<Procedure> };

/** A row of `lazyFlows` by right and verb. */
export const flow = (right: Right, verb: string, words: FlowWords) => ({ right, verb, ...words });

export const resumableFlow = (right: Right, verb: string, words: FlowWords) => flow(right, verb, { resumes: true, ...words });

/** Procedures are loaded when they run: modules of the first frame are read on each start. Common flags are listed after a flow's own. */
export function lazyFlows<Common extends Partial<FlowMeta>>(common: Common, entries: readonly LazyFlow<Common>[]): readonly Flow[] {
  return entries.map(({ load, ...entry }) => {
    const meta = { ...common, ...entry } as Omit<FlowMeta, 'id'> & Partial<Pick<FlowMeta, 'id'>>;
    const flags = { ...entry.flags, ...common.flags };
    return {
      id: meta.verb.replaceAll(' ', '-'),
      ...meta,
      ...(Object.keys(flags).length > 0 && { flags }),
      run: async (session, input, context) => (await load())(session, input, context),
    };
  });
}
