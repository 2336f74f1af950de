/**
 * The files of one component in a stack's folder. The folder is an ordinary compose project: `STACK/<component>/` with `compose.yaml`,
 * `.env` and `files/`. All other data about it are in the record, in `STACK/.quarterdeck/`.
 */
export interface Deployment {
  /** Catalog id; the name of its folder and of its compose project. */
  component: string;
  folder: string;
  compose: string;
  /** The present text of `.env`, and its values. Quarterdeck writes no secrets into it; others may have. */
  envText: string;
  env: Values;
  /** Texts below `files/`, by path relative to the component's folder. */
  files: Readonly<Record<string, string>>;
  /** Other compose files in its folder, such as `compose.override.yaml`: compose only reads `compose.yaml`. */
  skipped?: readonly string[];
  /** Missing if another tool created the folder. */
  record: DeployRecord | undefined;
}

/** The record of a deployment by Quarterdeck: `STACK/.quarterdeck/components/<id>.json`. It contains no secrets, and no hashes of them. */
export interface DeployRecord {
  schema: 1;
  component: string;
  run: string;
  at: string;
  by: string;
  /** SHA-256 of each file that Quarterdeck wrote, by path relative to the stack's folder: a file that differs was changed by hand. */
  files: Readonly<Record<string, string>>;
  /** Version of each secret in effect, by variable of the compose file. */
  secrets: Readonly<Record<string, string>>;
  images: Readonly<Record<string, ImagePin>>;
  /** Name of its site at the reverse proxy: `vault.lan`. */
  site?: string;
  /** Files that the operator changed with `edit`, by path relative to the stack's folder: plans leave them as they are. */
  edited?: readonly string[];
  setupTasks?: Readonly<Record<string, string>>;
}

/** Identifies one exact image: a tag moves, these do not. */
export interface ImagePin {
  /** The name in the compose file: `vaultwarden/server:latest`. */
  reference: string;
  id: string;
  /** `vaultwarden/server@sha256:…`, if it came from a registry: it can be pulled again after it was removed here. */
  digest?: string;
}

/** Values of a component's plain variables, by name in its compose file. */
export type Values = Readonly<Record<string, string>>;

/** The operator's choices for a component: answers of the form, or the present values. */
export interface Answers {
  /** Plain variables of the compose file: fields, `WEB_PORT`, `WEB_BIND`. Only those that differ from the file's defaults are required. */
  values: Values;
  /** Secrets by variable. Values are in memory only, until they are stored in the secret backend. */
  secrets: Readonly<Record<string, SecretAnswer>>;
  site: string;
  /** Whether the component is behind the sign-on portal (R36). Undefined if there is no choice. */
  protect?: boolean;
}

/** `keep`: the version in effect. `given`: typed, or adopted from a running container. `none`: an optional one stays empty. */
export type SecretAnswer = { from: 'keep'; version: string } | { from: 'generate' } | { from: 'given'; value: string } | { from: 'none' };

export interface FileChange {
  /** Relative to the stack's folder: `password-vault/.env`, `reverse-proxy/files/sites/vault.lan.caddy`. */
  path: string;
  /** Undefined: the file is created. */
  before: string | undefined;
  /** Undefined: the file is deleted. Only files that the record lists are ever deleted. */
  after: string | undefined;
  mode: number;
  /** Changed by hand since Quarterdeck wrote it. */
  touched: boolean;
  /** The text is the operator's own, from `edit`: later plans leave it as it is. */
  edited?: true;
}

export interface PlannedService {
  name: string;
  image: string;
  before: ImagePin | undefined;
  change: 'create' | 'recreate' | 'restart' | 'keep' | 'remove';
  why: string;
  /** Whether the image is on the host already; undefined if that is unknown. */
  present: boolean | undefined;
}

export interface PlannedPort {
  service: string;
  name: string | undefined;
  address: string;
  host: number;
  container: number;
  protocol: 'tcp' | 'udp';
  /** Fixed by its protocol: a conflict is refused, not remapped (R88). */
  fixed: boolean;
}

export interface PlannedSecret {
  variable: string;
  label: string;
  what: 'keep' | 'generate' | 'given' | 'none' | 'missing';
  /** The version in effect after the plan is applied; undefined until the secret is stored. */
  version: string | undefined;
}

/** The exact changes that applying would make. It is journaled on the host, with no secrets but those that present files contain. */
export interface Plan {
  schema: 1;
  /** `rejoin`: recreated unchanged, in the network of another component's container that was recreated. Its files and its record stay. */
  kind: 'deploy' | 'change' | 'update' | 'rollback' | 'restore' | 'remove' | 'rejoin';
  component: string;
  engineName: string;
  stackFolder: string;
  project: string;
  files: readonly FileChange[];
  services: readonly PlannedService[];
  ports: readonly PlannedPort[];
  /** Networks that must exist before compose runs, and are shared with other components. */
  networks: readonly { name: string; exists: boolean }[];
  volumes: readonly string[];
  secrets: readonly PlannedSecret[];
  site: string;
  /** Programs to run in containers after the start, by component: the proxy reloads its changed rules. */
  after: readonly { component: string; service: string; argv: readonly string[]; why: string }[];
  notes: readonly string[];
  /**
   * Services in the network of another component's container that the same run recreates (R15). Their own containers are removed before
   * anything else: Podman refuses to remove a container whose network others share, and the remaining ones would have no network. `starts`:
   * false if they did not run.
   */
  joins?: { gateway: string; services: readonly string[]; starts: boolean };
  /** Whether the catalog states that a rollback is harmless (`upgrade.rollback`). */
  rollback: 'safe' | 'unsafe';
}
