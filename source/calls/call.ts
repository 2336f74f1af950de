import type { CatalogEntry } from '../catalog/catalog.ts';
import type { ComponentCall } from '../catalog/schema.ts';
import type { ContainerDetail, Engine, EngineFacts } from '../engine/engine.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';

/** The services of one deployed component. */
export interface CallTarget {
  entry: CatalogEntry;
  /** The component's name here, for messages and the commands in them, if it differs from its entry's id. */
  name?: string;
  host: Host;
  engine: Engine;
  engineFacts?: EngineFacts;
  /** The containers of these services, by the catalog's service names, whatever the containers are named. */
  containers: ReadonlyMap<string, ContainerDetail>;
  /** Containers of other projects whose network one of these uses: their ports are published there (R15). */
  gateways?: readonly ContainerDetail[];
  /** False in read-only mode: exec calls are then skipped. */
  execAllowed: boolean;
}

/** The same for every kind of call, so that conditions have one form. Raw text: clean before showing. */
export interface CallAnswer {
  /** Whether there was a response. False if unreachable, timed out, not allowed, or if the status is not an expected one. */
  ok: boolean;
  /** HTTP status, exit code of an exec, otherwise 0. */
  status: number;
  /** Parsed body when it is JSON (objects, arrays, strings, numbers), otherwise undefined. */
  json: unknown;
  /** First 64 KiB of the body or output. */
  text: string;
  headers: Readonly<Record<string, string>>;
  /** The reason if `ok` is false, one sentence. */
  failure: string;
  tookMs: number;
}

export interface WholeCallAnswer extends CallAnswer {
  /** Up to the limit of the request. */
  body: Uint8Array;
  /** False if the body was longer than the limit, or did not arrive completely. */
  whole: boolean;
}

export interface CallRequest {
  name: string;
  call: ComponentCall;
  /** By name; of a file its content, one character for each byte. */
  inputs?: Readonly<Record<string, string>>;
  signal: AbortSignal;
  /** Required by calls that change something. */
  grant?: Grant | undefined;
  /** Of the response; 64 KiB by default. */
  limitBytes?: number;
  /** Called with each part of the output of a program as it arrives. */
  heard?: (bytes: Uint8Array) => void;
}

export type RunCall = (target: CallTarget, request: CallRequest) => Promise<CallAnswer>;
