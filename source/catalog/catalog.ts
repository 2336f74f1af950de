import type { ComposeMount, ComposePort, ComposeService } from './compose-file.ts';
import type { Component } from './schema.ts';

export interface CatalogPort
  extends Pick<ComposePort, 'service' | 'container' | 'protocol'>,
    Pick<Component['ports'][string], 'role' | 'exposure' | 'fixed' | 'web' | 'tls'> {
  /** `web` of `${WEB_PORT:-8180}`. */
  name: string;
  /** Default host port; undefined if compose.yaml publishes none. */
  host: number | undefined;
}

export interface CatalogService
  extends Pick<ComposeService, 'name' | 'image' | 'dependsOn' | 'devices' | 'capAdd' | 'command'>,
    Pick<Component['services'][string], 'main' | 'role' | 'oneShot' | 'optional' | 'tagReason' | 'irreplaceable'> {
  /** Every repository that provides this service, normalised and without tags: `docker.io/library/postgres`. */
  repositories: readonly string[];
  /** `host`, `service:gateway`; empty for the engine's own network. */
  networkMode: string;
  /** As written in compose.yaml, variables included. */
  environment: Readonly<Record<string, string>>;
  mounts: readonly Pick<ComposeMount, 'source' | 'target' | 'readOnly'>[];
  images?: readonly string[];
  architectures?: readonly string[];
}

/** One compiled entry: component.yaml with its defaults filled in, joined with compose.yaml. */
export interface CatalogEntry extends Omit<Component, 'ports' | 'services' | 'image'> {
  ports: readonly CatalogPort[];
  services: readonly CatalogService[];
  /** Image of the main service, or the image that others run it from; empty if there is none. */
  image: string;
  /** Folder inside `catalog/`, or the operator's own folder. */
  folder: string;
  own: boolean;
}

type UpgradeStep = NonNullable<Component['upgrade']>['steps'][number];

export const upgradeStepText = (step: UpgradeStep): string => (typeof step === 'string' ? step : step.after);

/** For a list that is read before an update. */
export const timedStepText = (step: UpgradeStep): string =>
  typeof step === 'string' ? `Before the update: ${step}` : `After the update: ${step.after}`;

export interface Catalog {
  readonly entries: readonly CatalogEntry[];
  get(id: string): CatalogEntry | undefined;
  readonly problems: readonly CatalogProblem[];
}

/** A problem in a file of a catalog folder or a configuration. Lines and columns count from 1; `message` never contains a key. */
export interface CatalogProblem {
  level: 'error' | 'warning';
  file: string;
  line: number;
  column: number;
  /** `[Interface] MTU`; empty if no field is meant. */
  field: string;
  message: string;
  remedy: string;
  /** Id of the broken rule, for scripts. */
  rule?: string;
}
