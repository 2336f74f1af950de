import { randomUUID } from 'node:crypto';
import { alreadyExists, conflict, type Draft, type KubeObject, notFound } from './kube-object.ts';
import { keyOf, type Resource } from './resources.ts';

export interface Change {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  key: string;
  version: number;
  object: KubeObject;
  /** What it was before, for watchers with a selector that it has left or come into. */
  before?: KubeObject;
}

/** How many changes are kept for those who come back to watch; whoever is further behind is told so. */
const keptChanges = 4096;

export const seconds = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

/** The objects, as etcd holds them: one counter of versions for all, and a memory of the last changes. */
export class ObjectStore {
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  readonly #changes: Change[] = [];
  readonly #watchers = new Set<(change: Change) => void>();
  #version = 100_000;
  /** Up to this version the changes are no longer known. */
  #forgotten = 100_000;
  now: () => number = Date.now;

  get version(): number {
    return this.#version;
  }

  /** Changes after `version`, oldest first; undefined when some of them are forgotten. */
  changesSince(version: number): Change[] | undefined {
    if (version < this.#forgotten) return undefined;
    return this.#changes.filter((change) => change.version > version);
  }

  watch(listener: (change: Change) => void): () => void {
    this.#watchers.add(listener);
    return () => this.#watchers.delete(listener);
  }

  /** In the order of namespace and name, as etcd's keys are. */
  list(resource: Resource, namespace?: string): KubeObject[] {
    const all = [...(this.#objects.get(keyOf(resource)) ?? new Map<string, KubeObject>())];
    return all
      .filter(([, object]) => namespace === undefined || object.metadata.namespace === namespace)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([, object]) => object);
  }

  find(resource: Resource, name: string, namespace?: string): KubeObject | undefined {
    return this.#objects.get(keyOf(resource))?.get(`${namespace ?? ''}/${name}`);
  }

  get(resource: Resource, name: string, namespace?: string): KubeObject {
    const found = this.find(resource, name, namespace);
    if (found === undefined) throw notFound(resource.plural, resource.group, name);
    return found;
  }

  /** What would be stored, without storing it: for a dry run. */
  drafted(resource: Resource, draft: Draft, namespace?: string): KubeObject {
    const { metadata } = draft;
    const name = metadata.name ?? `${metadata.generateName ?? ''}${randomUUID().replaceAll('-', '').slice(0, 5)}`;
    if (this.find(resource, name, namespace) !== undefined) throw alreadyExists(resource.plural, resource.group, name);
    return {
      ...draft,
      metadata: {
        ...metadata,
        name,
        ...(namespace === undefined ? {} : { namespace }),
        uid: metadata.uid ?? randomUUID(),
        resourceVersion: '',
        creationTimestamp: metadata.creationTimestamp ?? seconds(this.now()),
      },
    };
  }

  create(resource: Resource, draft: Draft, namespace?: string): KubeObject {
    const object = this.drafted(resource, draft, namespace);
    return this.#store(resource, object, 'ADDED');
  }

  /** Refuses an object that carries an older version than the stored one. */
  replace(resource: Resource, object: KubeObject): KubeObject {
    const { name, namespace, resourceVersion } = object.metadata;
    const before = this.get(resource, name, namespace);
    if (resourceVersion && resourceVersion !== before.metadata.resourceVersion) throw conflict(resource.plural, resource.group, name);
    const { uid, creationTimestamp } = before.metadata;
    return this.#store(resource, { ...object, metadata: { ...object.metadata, uid, creationTimestamp } }, 'MODIFIED', before);
  }

  /** Changes what is there, if it is; for what controllers do. */
  update(resource: Resource, object: KubeObject, change: (copy: KubeObject) => void): KubeObject | undefined {
    const before = this.find(resource, object.metadata.name, object.metadata.namespace);
    if (before === undefined) return undefined;
    const copy = structuredClone(before);
    change(copy);
    if (JSON.stringify(copy) === JSON.stringify(before)) return before;
    return this.#store(resource, copy, 'MODIFIED', before);
  }

  remove(resource: Resource, object: KubeObject): KubeObject {
    const { name, namespace } = object.metadata;
    const last = structuredClone(this.get(resource, name, namespace));
    this.#objects.get(keyOf(resource))?.delete(`${namespace ?? ''}/${name}`);
    this.#version++;
    last.metadata.resourceVersion = String(this.#version);
    this.#tell({ type: 'DELETED', key: keyOf(resource), version: this.#version, object: last });
    return last;
  }

  #store(resource: Resource, object: KubeObject, type: 'ADDED' | 'MODIFIED', before?: KubeObject): KubeObject {
    this.#version++;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
    const key = keyOf(resource);
    const all = this.#objects.get(key) ?? new Map<string, KubeObject>();
    all.set(`${stored.metadata.namespace ?? ''}/${stored.metadata.name}`, stored);
    this.#objects.set(key, all);
    this.#tell({ type, key, version: this.#version, object: stored, ...(before === undefined ? {} : { before }) });
    return stored;
  }

  #tell(change: Change): void {
    this.#changes.push(change);
    if (this.#changes.length > keptChanges + 512) this.#forgotten = this.#changes.splice(0, 512).at(-1)?.version ?? this.#forgotten;
    for (const watcher of [...this.#watchers]) watcher(change);
  }
}
