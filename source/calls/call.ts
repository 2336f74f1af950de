import type { CatalogEntry } from '../catalog/catalog.ts';
import type { ComponentCall } from '../catalog/schema.ts';
import type { ContainerDetail, Engine, EngineFacts } from '../engine/engine.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';

/** Where the services of one deployed component are; what a call is made against. */
export interface CallTarget {
  entry: CatalogEntry;
  /** What the component is called here, for sentences and the commands in them, where that is not its entry's id. */
  name?: string;
  host: Host;
  engine: Engine;
  /** What the engine said about itself. Without it, ports that are not published count as not reachable. */
  engineFacts?: EngineFacts;
  /** By the catalog's service names, the containers that are these services, whatever they are called themselves. */
  containers: ReadonlyMap<string, ContainerDetail>;
  /** Containers of other projects in whose network one of these is: their ports are published there (R15). */
  gateways?: readonly ContainerDetail[];
  /** False in read-only mode: exec calls are then not made. */
  execAllowed: boolean;
}

/** What came back. The same for every kind of call, so that conditions read alike. Raw text: clean before showing. */
export interface CallAnswer {
  /** Did it come to an answer? False when not reachable, timed out, not allowed, or not an expected status. */
  ok: boolean;
  /** HTTP status, exit code of an exec, otherwise 0. */
  status: number;
  /** Parsed body when it is JSON (objects, arrays, strings, numbers), otherwise undefined. */
  json: unknown;
  /** First 64 KiB of the body or output. */
  text: string;
  headers: Readonly<Record<string, string>>;
  /** Why `ok` is false, one sentence. */
  failure: string;
  tookMs: number;
}

export interface CallRequest {
  name: string;
  call: ComponentCall;
  inputs?: Readonly<Record<string, string>>;
  signal: AbortSignal;
  /** Needed by calls that do not only read. */
  grant?: Grant;
}

export type RunCall = (target: CallTarget, request: CallRequest) => Promise<CallAnswer>;
