import { badRequest, type Json, type JsonObject, KubeRefusal } from './kube-object.ts';

const isObject = (value: Json | undefined): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** RFC 7386. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result: JsonObject = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value);
  }
  return result;
}

/** By what the elements of lists are told apart. Lists without a key are replaced whole. */
const listKeys: Readonly<Record<string, string>> = {
  conditions: 'type',
  taints: 'key',
  containers: 'name',
  initContainers: 'name',
  volumes: 'name',
  env: 'name',
  ports: 'containerPort',
  volumeMounts: 'mountPath',
  ownerReferences: 'uid',
  addresses: 'type',
};

/** Strategic merge: as a merge patch, but known lists are merged by their key, with `$patch: delete` and `$patch: replace`. */
export function strategicPatch(target: Json | undefined, patch: Json, name = ''): Json {
  if (Array.isArray(patch)) {
    const key = listKeys[name];
    if (key === undefined || !Array.isArray(target) || !patch.every(isObject)) return patch;
    if (patch.some((item) => isObject(item) && item.$patch === 'replace'))
      return patch.filter((item) => isObject(item) && item.$patch !== 'replace');
    const result = target.filter(
      (item) => !patch.some((change) => isObject(item) && isObject(change) && change.$patch === 'delete' && change[key] === item[key]),
    );
    for (const change of patch) {
      if (!isObject(change) || change.$patch === 'delete') continue;
      const at = result.findIndex((item) => isObject(item) && item[key] === change[key]);
      if (at < 0) result.push(change);
      else result[at] = strategicPatch(result[at], change);
    }
    return result;
  }
  if (!isObject(patch)) return patch;
  if (patch.$patch === 'replace') {
    const { $patch: _directive, ...whole } = patch;
    return whole;
  }
  const result: JsonObject = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith('$')) continue;
    if (value === null) delete result[key];
    else result[key] = strategicPatch(result[key], value, key);
  }
  return result;
}

/** RFC 6902: add, remove, replace, test, copy and move. A test that fails is 422. */
export function jsonPatch(target: Json, operations: Json): Json {
  if (!Array.isArray(operations))
    throw badRequest('error decoding patch: json: cannot unmarshal object into Go value of type jsonpatch.Patch');
  const root: { '': Json } = { '': structuredClone(target) };
  for (const operation of operations) {
    if (!isObject(operation)) throw badRequest('error decoding patch');
    const path = String(operation.path ?? '');
    const value = operation.value ?? null;
    switch (operation.op) {
      case 'test':
        if (JSON.stringify(read(root, path)) !== JSON.stringify(value)) {
          throw new KubeRefusal(422, 'Invalid', 'the server rejected our request due to an error in our request');
        }
        break;
      case 'remove':
        write(root, path, undefined);
        break;
      case 'add':
      case 'replace':
        write(root, path, value, operation.op === 'add');
        break;
      case 'copy':
      case 'move': {
        const from = String(operation.from ?? '');
        const moved = read(root, from) ?? null;
        if (operation.op === 'move') write(root, from, undefined);
        write(root, path, structuredClone(moved), true);
        break;
      }
      default:
        throw badRequest(`error decoding patch: Unexpected kind: ${String(operation.op)}`);
    }
  }
  return root[''];
}

const steps = (path: string): string[] => path.split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));

function read(root: { '': Json }, path: string): Json | undefined {
  return steps(path).reduce<Json | undefined>(
    (at, step) => (Array.isArray(at) ? at[Number(step)] : isObject(at) ? at[step] : undefined),
    root as unknown as Json,
  );
}

function write(root: { '': Json }, path: string, value: Json | undefined, insert = false): void {
  const all = steps(path);
  const last = all.pop() ?? '';
  const parent = all.reduce<Json | undefined>(
    (at, step) => (Array.isArray(at) ? at[Number(step)] : isObject(at) ? at[step] : undefined),
    root as unknown as Json,
  );
  const missing = new KubeRefusal(422, 'Invalid', 'the server rejected our request due to an error in our request');
  if (Array.isArray(parent)) {
    const at = last === '-' ? parent.length : Number(last);
    if (value === undefined) parent.splice(at, 1);
    else parent.splice(at, insert ? 0 : 1, value);
  } else if (isObject(parent)) {
    if (value === undefined) {
      if (parent[last] === undefined) throw missing;
      delete parent[last];
    } else parent[last] = value;
  } else throw missing;
}
