import { randomUUID } from 'node:crypto';
import { type Draft, fullName, type KubeObject, KubeRefusal, type Resource, resources, seconds } from './kube-object.ts';

const pathOf = (name: string, namespace = '') => `${namespace}/${name}`;

/** The objects, as etcd holds them, with one counter of versions for all. */
export class ObjectStore {
  readonly #objects = new Map<Resource, Map<string, KubeObject>>();
  #version = 100_000;
  changed: () => void = () => {};

  get version(): number {
    return this.#version;
  }

  get count(): number {
    return resources.reduce((sum, resource) => sum + this.#of(resource).size, 0);
  }

  /** In the order of namespace and name, as etcd's keys are. */
  list(resource: Resource, namespace?: string): KubeObject[] {
    return [...this.#of(resource)]
      .filter(([, object]) => namespace === undefined || object.metadata.namespace === namespace)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([, object]) => object);
  }

  find(resource: Resource, name: string, namespace?: string): KubeObject | undefined {
    return this.#of(resource).get(pathOf(name, namespace));
  }

  get(resource: Resource, name: string, namespace?: string): KubeObject {
    const found = this.find(resource, name, namespace);
    if (found) return found;
    const group = resource.group === '' ? {} : { group: resource.group };
    throw new KubeRefusal(404, 'NotFound', `${fullName(resource)} "${name}" not found`, { name, ...group, kind: resource.plural });
  }

  create(resource: Resource, draft: Draft, namespace?: string): KubeObject {
    const { generateName = '', ...metadata } = draft.metadata;
    const full = {
      ...metadata,
      name: metadata.name ?? `${generateName}${randomUUID().slice(0, 5)}`,
      ...(namespace !== undefined && { namespace }),
      uid: randomUUID(),
      resourceVersion: '',
      creationTimestamp: metadata.creationTimestamp ?? seconds(Date.now()),
    };
    const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
    return this.#store(resource, { ...draft, apiVersion, kind: resource.kind, metadata: full });
  }

  update(resource: Resource, object: KubeObject, change: (copy: KubeObject) => void): KubeObject | undefined {
    const before = this.find(resource, object.metadata.name, object.metadata.namespace);
    if (before === undefined) return undefined;
    const copy = structuredClone(before);
    change(copy);
    return JSON.stringify(copy) === JSON.stringify(before) ? before : this.#store(resource, copy);
  }

  remove(resource: Resource, { metadata }: KubeObject): void {
    this.#of(resource).delete(pathOf(metadata.name, metadata.namespace));
    this.#version++;
    this.changed();
  }

  #of(resource: Resource): Map<string, KubeObject> {
    const all = this.#objects.get(resource) ?? new Map<string, KubeObject>();
    this.#objects.set(resource, all);
    return all;
  }

  #store(resource: Resource, object: KubeObject): KubeObject {
    this.#version++;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
    this.#of(resource).set(pathOf(stored.metadata.name, stored.metadata.namespace), stored);
    this.changed();
    return stored;
  }
}
