import { badRequest, type KubeObject } from './kube-object.ts';

type Test = (object: KubeObject) => boolean;

/** `app=web,tier in (a,b),!old`: as `labelSelector` has it. Throws what the server says about one that it cannot read. */
export function labelTest(selector: string): Test {
  const tests = split(selector).map((part): Test => {
    const set = /^\s*([\w./-]+)\s+(in|notin)\s*\(([^)]*)\)\s*$/.exec(part);
    if (set !== null) {
      const values = (set[3] ?? '').split(',').map((value) => value.trim());
      const inside = set[2] === 'in';
      return ({ metadata }) => values.includes(metadata.labels?.[set[1] ?? ''] ?? '\0') === inside;
    }
    const equal = /^\s*([\w./-]+)\s*(!=|==|=)\s*([\w.-]*)\s*$/.exec(part);
    if (equal !== null) {
      const same = equal[2] !== '!=';
      return ({ metadata }) => (metadata.labels?.[equal[1] ?? ''] === equal[3]) === same;
    }
    const bare = /^\s*(!?)\s*([\w./-]+)\s*$/.exec(part);
    if (bare === null) throw badRequest(`unable to parse requirement: found '${part.trim()}', expected: identifier`);
    return ({ metadata }) => (metadata.labels?.[bare[2] ?? ''] !== undefined) === (bare[1] === '');
  });
  return (object) => tests.every((test) => test(object));
}

/** At commas that are in no brackets. */
const split = (selector: string): string[] => (selector.trim() === '' ? [] : selector.split(/,(?![^(]*\))/));

/** The selector of a spec: `matchLabels` and `matchExpressions`. An empty one matches all, none at all nothing. */
export function specTest(selector: unknown): (labels: Readonly<Record<string, string>> | undefined) => boolean {
  if (typeof selector !== 'object' || selector === null) return () => false;
  const { matchLabels = {}, matchExpressions = [] } = selector as {
    matchLabels?: Record<string, string>;
    matchExpressions?: { key: string; operator: string; values?: string[] }[];
  };
  return (labels) =>
    Object.entries(matchLabels).every(([key, value]) => labels?.[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const own = labels?.[key];
      if (operator === 'Exists') return own !== undefined;
      if (operator === 'DoesNotExist') return own === undefined;
      return (operator === 'In') === (own !== undefined && values.includes(own));
    });
}

const fields: Readonly<Record<string, readonly string[]>> = {
  Pod: [
    'spec.nodeName',
    'spec.restartPolicy',
    'spec.schedulerName',
    'spec.serviceAccountName',
    'spec.hostNetwork',
    'status.phase',
    'status.podIP',
    'status.nominatedNodeName',
  ],
  Node: ['spec.unschedulable'],
  Event: [
    'involvedObject.kind',
    'involvedObject.namespace',
    'involvedObject.name',
    'involvedObject.uid',
    'reason',
    'type',
    'reportingComponent',
    'source',
  ],
  Namespace: ['status.phase'],
  Secret: ['type'],
};

/** `spec.nodeName=worker-1,status.phase!=Succeeded`. Each kind allows only few fields. */
export function fieldTest(selector: string, kind: string): Test {
  const tests = split(selector).map((part): Test => {
    const found = /^\s*([\w.]+)\s*(!=|==|=)\s*(.*?)\s*$/.exec(part);
    if (found === null) throw badRequest(`invalid selector: '${part}'; can't understand '${part}'`);
    const [, path = '', operator, wanted] = found;
    if (path !== 'metadata.name' && path !== 'metadata.namespace' && !fields[kind]?.includes(path))
      throw badRequest(`field label not supported: ${path}`);
    return (object) => {
      const value = path
        .split('.')
        .reduce<unknown>(
          (inner, key) => (typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>)[key] : undefined),
          object,
        );
      const text = value === undefined ? (path === 'spec.unschedulable' || path === 'spec.hostNetwork' ? 'false' : '') : String(value);
      return (text === wanted) === (operator !== '!=');
    };
  });
  return (object) => tests.every((test) => test(object));
}
