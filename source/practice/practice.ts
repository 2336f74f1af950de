import type { RequestListener } from 'node:http';
import type { Catalog } from '../catalog/catalog.ts';
import type { ExecAnswer } from './answers.ts';
import type { PracticeComponent } from './simulation/component-schema.ts';

/** Output of `practice serve --json`. Keys and tokens are random at every start. */
export interface PracticeFacts {
  schema: 1;
  /** The engine's socket: `unix:///run/user/1000/quarterdeck/practice-4711/engine.sock`. */
  engine: string;
  /**
   * Products by component id. `address` is a socket URL (`unix://...`); `published` is the URL that the component reports
   * (`http://127.0.0.1:8200`): nothing listens there, so a practice stack never reaches a real product.
   */
  products: Readonly<Record<string, { address: string; published: string }>>;
  /** Key shares of the practice secrets manager, hex. */
  shares: readonly string[];
  /** How many shares unseal it. */
  threshold: number;
  rootToken: string;
  /** Keys for the APIs of other products, by component id. */
  apiKeys: Readonly<Record<string, string>>;
  /** Path of a file for the practice cluster. */
  kubeconfig: string;
  /** Names for `POST /practice/incidents/<name>` on the engine's socket. */
  incidents: readonly { name: string; title: string; summary: string }[];
}

export interface ComposeFolder {
  component: string;
  folder: string;
  /** Of the compose command, besides `.env`. */
  environment: Readonly<Record<string, string>>;
}

export interface PracticeOptions {
  catalog: Catalog;
  /** The content of `dist/practice.json`. */
  components: readonly PracticeComponent[];
  /** For sockets and files, created with mode 0700 and removed at the end. Socket paths are limited to about 100 characters. */
  folder: string;
  /** Between the start of a service and its first answer; by default each takes as long as its product. */
  longestBootMs?: number | undefined;
}

export interface ImagePin {
  reference: string;
  id: string;
  digest: string | undefined;
}

/** A component that was deployed before the practice began. */
export interface DeployedComponent {
  component: string;
  atMs: number;
  /** Of variables in compose.yaml, secrets included. */
  values: Readonly<Record<string, string>>;
  /** Host ports by container port, where they are not the catalog's. */
  hostPorts: Readonly<Record<number, number>>;
  images: Readonly<Record<string, ImagePin>>;
  /** What the operator has written into its files since, by path below its folder. */
  files: Readonly<Record<string, string>>;
}

export interface Practice {
  readonly facts: PracticeFacts;
  readonly deployed: readonly DeployedComponent[];
  /** Gives the containers the hashes of these compose files, so that an `up` without a change leaves them alone. */
  adopt(folders: readonly ComposeFolder[]): Promise<void>;
  close(): Promise<void>;
}

/** Interface of a container to the simulator in it. */
export interface ProductSurroundings {
  /** Writes a line to the container's log, with the time `ms` if it is set. */
  log(line: string, stream?: 'stdout' | 'stderr', ms?: number): void;
  /** Start of a container that ran before the practice began: its first lines have that time. Missing: now. */
  startedMs?: number;
  file?(path: string): { content: Buffer; ms: number } | undefined;
  environment?: Readonly<Record<string, string>>;
}

/** A simulator in a practice container: it answers while the container runs, and its memory ends with the run. */
export interface PracticeProduct {
  /** HTTP, by container port. */
  readonly listeners: Readonly<Record<number, RequestListener>>;
  /** Files of a new container, by path. */
  readonly files?: Readonly<Record<string, string>>;
  /** The container starts: memory is empty (a secrets manager is sealed), the disk is as before. */
  start(surroundings: ProductSurroundings): void;
  /** Also called for a container that has already stopped. */
  stop(): void;
  /** Runs the product's own command-line client; undefined for any other program. */
  exec?(argv: readonly string[], stdin: string): Promise<ExecAnswer> | undefined;
  /** Of a cluster: runs a program on one of its nodes, as its root. Undefined for an unknown program. */
  onNode?(node: string, argv: readonly string[]): Promise<ExecAnswer> | undefined;
  /** An incident of the practice begins; undefined where it ends. */
  play?(incident: string | undefined): void;
}
