import type { RequestListener } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Catalog } from '../catalog/catalog.ts';

/** What `practice serve --json` prints: where everything of a practice stack is, and what opens it. All of it is made up anew at every start. */
export interface PracticeFacts {
  schema: 1;
  /** The engine's socket: `unix:///run/user/1000/quarterdeck/practice-4711/engine.sock`. */
  engine: string;
  /**
   * Where the products answer, by component id. `address` is a socket URL (`unix://...`); `published` is what the component believes to be
   * published at (`http://127.0.0.1:8200`): nothing listens there, so a practice stack never meets a real one.
   */
  products: Readonly<Record<string, { address: string; published: string }>>;
  /** Key shares of the practice secrets manager, hex. */
  shares: readonly string[];
  /** How many of them unseal it. */
  threshold: number;
  rootToken: string;
  /** What opens the API of other products, by component id: an API key of the mesh, a bouncer's of the intrusion prevention. */
  apiKeys: Readonly<Record<string, string>>;
  /** A file: the practice cluster. */
  kubeconfig: string;
  /** Names for `POST /practice/incidents/<name>` on the engine's socket. */
  incidents: readonly { name: string; title: string; summary: string }[];
}

export interface ComposeFolder {
  component: string;
  folder: string;
  /** What the compose command was given besides `.env`. */
  environment: Readonly<Record<string, string>>;
}

export interface PracticeOptions {
  /** The built-in catalog: what its components are made of. */
  catalog: Catalog;
  /** A folder for its sockets and files, made with mode 0700 and removed at the end. Its path is short: sockets have room for about 100 characters. */
  folder: string;
}

/** A component of a practice stack that was deployed before the practice began, as whoever deployed it would know it. */
export interface DeployedPart {
  component: string;
  atMs: number;
  /** Of variables in compose.yaml, secrets among them. */
  values: Readonly<Record<string, string>>;
  /** By container port, where it is not the catalog's. */
  hostPorts: Readonly<Record<number, number>>;
  /** Those that it was deployed with. */
  services: readonly string[];
  /** What its operator has written into its files since, by path below its folder. */
  files?: Readonly<Record<string, string>>;
}

export interface Practice {
  readonly facts: PracticeFacts;
  readonly deployed: readonly DeployedPart[];
  /**
   * Takes the compose files that meanwhile lie in the stack's folder for those that the containers were made from: they get the marks that compose makes
   * of them, so that an `up` without a change leaves them alone.
   */
  madeFrom(folders: readonly ComposeFolder[]): Promise<void>;
  close(): Promise<void>;
}

/** What a practice product is given by the container that it plays in. */
export interface ProductSurroundings {
  /** Writes a line to the container's log; as said at a moment before now where one is given. */
  log(line: string, stream?: 'stdout' | 'stderr', ms?: number): void;
  /** When the container was started, for one that ran before the practice began: its first words are of then. Missing: now. */
  startedMs?: number;
  now(): number;
  signal: AbortSignal;
  /** A file of the container, and when it was written; undefined where there is none. */
  file?(path: string): { content: Buffer; ms: number } | undefined;
  environment?: Readonly<Record<string, string>>;
}

/** A product behind a practice container: it answers while the container runs, and its memory of a run ends with it. */
export interface PracticeProduct {
  /** By container port; HTTP. The engine puts a server in front. */
  readonly listeners: Readonly<Record<number, RequestListener>>;
  /** For what is no HTTP, or upgrades: raw connections by container port. */
  readonly raw?: Readonly<Record<number, (connection: Duplex) => void>>;
  /** The container starts: what lives in memory only begins anew (a secrets manager is sealed), what is on its disk stays. */
  start(surroundings: ProductSurroundings): void;
  stop(): void;
  /** Answers an exec of the product's own command-line client in its container, undefined for any other program. */
  exec?(argv: readonly string[], stdin: string): Promise<{ exitCode: number; stdout: string; stderr: string }> | undefined;
  /** Of a cluster: runs a program on one of its nodes, as its root. Undefined for a program that is not there. */
  onNode?(node: string, argv: readonly string[]): Promise<{ exitCode: number; stdout: string; stderr: string }> | undefined;
  /** Incidents that this product can play on cue. */
  readonly incidents?: readonly { name: string; title: string; summary: string; play(): void }[];
}
