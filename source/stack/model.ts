import type { Finding } from './finding.ts';

/**
 * What a stack's folder holds of one component. The folder is an ordinary compose project: `STACK/<component>/` with `compose.yaml`, `.env` and
 * `files/`. What we know beyond that is the record, in `STACK/.quarterdeck/`.
 */
export interface Deployment {
  /** Catalog id; the name of its folder and of its compose project. */
  component: string;
  /** Absolute, on the host. */
  folder: string;
  /** `compose.yaml` as it stands there. */
  compose: string;
  /** `.env` as it stands there, and what it says. Plain fields only: secrets are never in it. */
  envText: string;
  env: Readonly<Record<string, string>>;
  /** Texts below `files/`, by path relative to the component's folder. */
  files: Readonly<Record<string, string>>;
  /** Other compose files in its folder, such as `compose.override.yaml`: compose is told to read `compose.yaml` alone. */
  leftOut?: readonly string[];
  /** Missing where somebody else made the folder: adoption starts there. */
  record: DeployRecord | undefined;
}

/** What we wrote down about a deployment of ours: `STACK/.quarterdeck/components/<id>.json`. No secret, and no hash of one. */
export interface DeployRecord {
  schema: 1;
  component: string;
  /** Of the run that made it so. */
  run: string;
  at: string;
  by: string;
  /** SHA-256 of each file we wrote, by path relative to the stack's folder: a file that differs was changed by hand. */
  files: Readonly<Record<string, string>>;
  /** Version of each secret in force, by variable of the compose file. */
  secrets: Readonly<Record<string, string>>;
  /** What each service's image was when it was deployed. */
  images: Readonly<Record<string, ImagePin>>;
  /** Name of its site at the reverse proxy: `vault.lan`. */
  site?: string;
  /** Files that the operator changed with `edit`, by path relative to the stack's folder: plans leave them as they are. */
  edited?: readonly string[];
  /** First-run duties that were confirmed by hand: id to time. */
  duties?: Readonly<Record<string, string>>;
}

/** An image exactly: a tag moves, these do not. */
export interface ImagePin {
  /** As the compose file names it: `vaultwarden/server:latest`. */
  reference: string;
  /** Id on this host. */
  id: string;
  /** `vaultwarden/server@sha256:…`, where it came from a registry: it can be had again after it was removed here. */
  digest?: string;
}

/** What the operator wants of a component: answers of the form, or what stands there already. */
export interface Answers {
  /** Plain variables of the compose file: fields, `WEB_PORT`, `WEB_BIND`. Only those that differ from the file's defaults need be here. */
  values: Readonly<Record<string, string>>;
  /** Secrets by variable. Values are in memory only, until the vault has them. */
  secrets: Readonly<Record<string, SecretAnswer>>;
  /** Name under which the reverse proxy serves it; empty for none. */
  site: string;
  /** Behind the sign-on portal (R36)? Undefined where there is no choice. */
  protect?: boolean;
}

/** `keep`: the version in force. `generate`: by the field's generator. `given`: typed, or taken over from a running container. `none`: an optional one stays empty. */
export type SecretAnswer = { from: 'keep'; version: string } | { from: 'generate' } | { from: 'given'; value: string } | { from: 'none' };

export interface FileChange {
  /** Relative to the stack's folder: `password-vault/.env`, `reverse-proxy/files/sites/vault.lan.caddy`. */
  path: string;
  /** Undefined: is made. */
  before: string | undefined;
  /** Undefined: is deleted. Only files that the record says we wrote are ever deleted. */
  after: string | undefined;
  mode: number;
  /** Was changed by hand since we wrote it. */
  touched: boolean;
  /** The text is the operator's own, made with `edit`: later plans leave it as it is. */
  edited?: true;
}

export type ServiceChange = 'create' | 'recreate' | 'restart' | 'keep' | 'remove';

export interface PlannedService {
  name: string;
  image: string;
  /** What the service's container runs on now. */
  before: ImagePin | undefined;
  change: ServiceChange;
  /** One sentence: `its environment changes`. */
  why: string;
  /** Is the image on the host already? Undefined where nobody has looked. */
  present: boolean | undefined;
}

export interface PlannedPort {
  service: string;
  /** Name in the catalog: `web`. */
  name: string | undefined;
  address: string;
  host: number;
  container: number;
  protocol: 'tcp' | 'udp';
  /** Protocol-fixed: a conflict is refused, not remapped (R88). */
  fixed: boolean;
}

export interface PlannedSecret {
  /** Variable of the compose file. */
  variable: string;
  label: string;
  what: 'keep' | 'generate' | 'given' | 'none' | 'missing';
  /** In force once it is applied; undefined until the vault has it. */
  version: string | undefined;
}

/** `rejoin`: made again as it is, in the network of another component's container that was made anew. Its files and its record stay. */
export type PlanKind = 'deploy' | 'change' | 'update' | 'rollback' | 'restore' | 'remove' | 'adopt' | 'rejoin';

/** The exact changes that applying would make. Holds no secret: it is shown, journaled and written to the host. */
export interface Plan {
  schema: 1;
  kind: PlanKind;
  component: string;
  place: string;
  /** Absolute, on the host. */
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
  /** Programs to run in containers once it stands, by component: the proxy takes over its changed rules. */
  after: readonly { component: string; service: string; argv: readonly string[]; why: string }[];
  /** What to know, a sentence each. */
  notes: readonly string[];
  /**
   * Services in the network of another component's container that the same run makes anew (R15). Their own containers are taken away before anything else: Podman
   * removes none whose network others are in, and what stays has no network. `starts`: false where they did not run.
   */
  joins?: { gateway: string; services: readonly string[]; starts: boolean };
  /** Does the catalog say that going back is harmless (R-less: `upgrade.rollback`)? */
  rollback: 'safe' | 'unsafe';
}

/** A plan with what preflight said of it. */
export interface CheckedPlan {
  plan: Plan;
  findings: readonly Finding[];
}
