import type { Component } from './schema.ts';

/** A port of compose.yaml, joined with its annotation. */
export interface CatalogPort {
  /** `web` of `${WEB_PORT:-8180}`. */
  name: string;
  service: string;
  /** Default host port; undefined when compose.yaml publishes none. */
  host: number | undefined;
  container: number;
  protocol: 'tcp' | 'udp';
  exposure: 'loopback' | 'all' | 'host-network';
  role: string;
  fixed: boolean;
  web: boolean;
  tls: boolean;
  /** Why it is published so, and where that comes from. */
  basis?: string;
  source?: string;
}

/** What the compiled catalog keeps of a service of compose.yaml. */
export interface CatalogService {
  name: string;
  /** With its tag, as written: `postgres:16-alpine`. */
  image: string;
  /** Every repository that is this service, normalised and without tags: `docker.io/library/postgres`. */
  repositories: readonly string[];
  main: boolean;
  role: string;
  oneShot: boolean;
  optional: boolean;
  dependsOn: readonly string[];
  /** `host`, `service:gateway`; empty for the engine's own network. */
  networkMode: string;
  /** As compose.yaml writes them, variables included. */
  environment: Readonly<Record<string, string>>;
  mounts: readonly { source: string; target: string; readOnly: boolean }[];
  devices: readonly string[];
  capAdd: readonly string[];
  command: readonly string[];
  /** See component.yaml. */
  tagReason?: string;
  source?: string;
  images?: readonly string[];
  irreplaceable?: string;
  architectures?: readonly string[];
}

/** One entry, compiled: component.yaml with its defaults filled in, joined with what compose.yaml says. */
export interface CatalogEntry extends Omit<Component, 'ports' | 'services' | 'image'> {
  ports: readonly CatalogPort[];
  services: readonly CatalogService[];
  /** Image of the main service, or the one that others run it from; empty where there is none. */
  image: string;
  /** Folder inside `catalog/`, or the operator's own folder. */
  folder: string;
  /** From the operator's own catalog folder? */
  own: boolean;
}

export interface Catalog {
  readonly entries: readonly CatalogEntry[];
  get(id: string): CatalogEntry | undefined;
  /** What was wrong with the operator's own catalog; the rest works. */
  readonly problems: readonly CatalogProblem[];
}

/** One thing wrong in a catalog folder. Lines and columns count from 1. */
export interface CatalogProblem {
  level: 'error' | 'warning';
  file: string;
  line: number;
  column: number;
  /** `ports.web.exposure`. */
  field: string;
  message: string;
  remedy: string;
  rule?: string;
}
