export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface Metadata {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  creationTimestamp: string;
  generation?: number;
  generateName?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  finalizers?: string[];
}

/** An object of any kind: what is in it besides the metadata is looked at by whoever knows the kind. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  // biome-ignore lint/suspicious/noExplicitAny: objects of all kinds pass through here, and their shapes are the API's, not ours.
  [key: string]: any;
}

/** What is written down for a new object; the rest is filled in. */
export interface Draft {
  apiVersion: string;
  kind: string;
  metadata: Partial<Metadata>;
  [key: string]: unknown;
}

/** A failure as the API server words it. */
export class KubeRefusal extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: JsonObject | undefined;
  constructor(code: number, reason: string, message: string, details?: JsonObject) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.details = details;
  }
}

export const statusOf = (refusal: KubeRefusal): JsonObject => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: refusal.message,
  ...(refusal.reason === '' ? {} : { reason: refusal.reason }),
  ...(refusal.details === undefined ? {} : { details: refusal.details }),
  code: refusal.code,
});

const namedDetails = (resource: string, group: string, name: string): JsonObject => ({
  name,
  ...(group === '' ? {} : { group }),
  kind: resource,
});
const qualified = (resource: string, group: string): string => (group === '' ? resource : `${resource}.${group}`);

export const notFound = (resource: string, group: string, name: string): KubeRefusal =>
  new KubeRefusal(404, 'NotFound', `${qualified(resource, group)} ${JSON.stringify(name)} not found`, namedDetails(resource, group, name));

export const alreadyExists = (resource: string, group: string, name: string): KubeRefusal =>
  new KubeRefusal(
    409,
    'AlreadyExists',
    `${qualified(resource, group)} ${JSON.stringify(name)} already exists`,
    namedDetails(resource, group, name),
  );

export const conflict = (resource: string, group: string, name: string): KubeRefusal =>
  new KubeRefusal(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualified(resource, group)} ${JSON.stringify(name)}: the object has been modified; please apply your changes to the latest version and try again`,
    namedDetails(resource, group, name),
  );

export const badRequest = (message: string): KubeRefusal => new KubeRefusal(400, 'BadRequest', message);
