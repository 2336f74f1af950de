import { agoText, countText } from '../../../text/quantities.ts';
import type { ClusterApi } from './api-client.ts';
import { type Condition, conditionOf, type KubeObject, type Named } from './api-shapes.ts';
import { blocked, type CheckResult, ok, warning } from './check-result.ts';

const labelsIn = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries([...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name = '', value = '']) => [name, value]));

/** Parses `apiserver_requested_deprecated_apis`, with the requests for each version since the API server was started. */
export function deprecatedUses(metrics: string) {
  const requests = new Map<string, number>();
  const uses: { group: string; version: string; resource: string; removedIn: string }[] = [];
  for (const line of metrics.split('\n')) {
    const [, family, labelText = '', value = ''] =
      /^(apiserver_requested_deprecated_apis|apiserver_request_total)\{(.*)\}\s+(\S+)/.exec(line) ?? [];
    if (family === undefined) continue;
    const { group = '', version = '', resource = '', removed_release: removedIn = '' } = labelsIn(labelText);
    if (family === 'apiserver_request_total') {
      const key = `${group}/${version}/${resource}`;
      requests.set(key, (requests.get(key) ?? 0) + Number(value));
    } else if (Number(value) > 0) uses.push({ group, version, resource, removedIn });
  }
  return uses.map((use) => ({ ...use, requests: requests.get(`${use.group}/${use.version}/${use.resource}`) }));
}

export const isRemovedBy = (removedIn: string, minor: number): boolean => {
  const found = /^v?1\.(\d+)/.exec(removedIn);
  return found !== null && Number(found[1]) <= minor;
};

export async function checkDeprecated(api: ClusterApi, targetMinor: number, signal: AbortSignal): Promise<CheckResult> {
  const { text } = await api.text('/metrics', signal);
  if (!text.includes('apiserver_request'))
    return warning('the API server reports no request metrics (/metrics)', 'Check the deployed objects with pluto or kubent.');
  const uses = deprecatedUses(text);
  const reported = ({ group, version, resource, removedIn, requests }: (typeof uses)[number]) => {
    const later = removedIn === '' || isRemovedBy(removedIn, targetMinor) ? '' : `, removed in ${removedIn}`;
    const count = requests === undefined ? '' : `, requested ${countText(requests, 'time')}`;
    return `${resource} (${group === '' ? '' : `${group}/`}${version})${later}${count}`;
  };
  const gone = uses.filter(({ removedIn }) => isRemovedBy(removedIn, targetMinor));
  const caveat = 'Requests are counted only since this API server started, so a count of zero does not prove that a version is unused.';
  if (gone.length > 0)
    return blocked(
      `removed in 1.${targetMinor} but still in use: ${gone.map(reported).join('; ')}`,
      'Find the client in the audit log (k8s.io/deprecated annotation), and move the client to the newer version.',
      [...uses.map(reported), caveat],
    );
  if (uses.length > 0)
    return warning(`deprecated but in use: ${uses.map(reported).join('; ')}`, 'Plan a migration; this upgrade keeps the APIs.', [caveat]);
  return ok('no requests for deprecated versions', [caveat]);
}

interface KubeWebhooks extends Named {
  webhooks?: readonly {
    name?: string;
    failurePolicy?: string;
    clientConfig?: { service?: { namespace?: string; name?: string } };
  }[];
}

export async function checkWebhooks(api: ClusterApi, signal: AbortSignal): Promise<CheckResult> {
  const kinds = ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations'];
  const found = await Promise.all(kinds.map((plural) => api.list<KubeWebhooks>(`/apis/admissionregistration.k8s.io/v1/${plural}`, signal)));
  const all = found.flat().flatMap(({ metadata, webhooks = [] }) => webhooks.map((hook) => ({ configuration: metadata.name, hook })));
  const closed = all.filter(({ hook }) => (hook.failurePolicy ?? 'Fail') === 'Fail');
  const answering = new Map<string, boolean>();
  const dead: string[] = [];
  for (const { configuration, hook } of closed) {
    const service = hook.clientConfig?.service;
    if (!service?.namespace || !service.name) continue;
    const key = `${service.namespace}/${service.name}`;
    const answers = answering.get(key) ?? (await hasEndpoints(api, service.namespace, service.name, signal));
    answering.set(key, answers);
    if (!answers) dead.push(`${configuration} (${hook.name ?? ''}): ${key} has no endpoints`);
  }
  if (dead.length > 0) {
    const advice = 'Restore the service, or set failurePolicy: Ignore until then. Otherwise, evicted pods might not be recreated.';
    return blocked(`requests fail because a webhook service does not respond: ${dead.join('; ')}`, advice, dead);
  }
  if (closed.length === 0) return ok(`${countText(all.length, 'webhook')}, none of which fails closed`);
  return ok(`${countText(all.length, 'webhook')}, ${closed.length} of which fail closed; their services have endpoints`);
}

async function hasEndpoints(api: ClusterApi, namespace: string, service: string, signal: AbortSignal): Promise<boolean> {
  const slices = await api.list<{ endpoints?: readonly { conditions?: { ready?: boolean } }[] }>(
    `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`,
    signal,
    { labels: `kubernetes.io/service-name=${service}` },
  );
  return slices.some(({ endpoints = [] }) => endpoints.some(({ conditions }) => conditions?.ready !== false));
}

type KubeApiService = KubeObject<{ service?: unknown }, { conditions?: readonly Condition[] }>;

export async function checkApiServices(api: ClusterApi, signal: AbortSignal): Promise<CheckResult> {
  const services = await api.list<KubeApiService>('/apis/apiregistration.k8s.io/v1/apiservices', signal);
  const away = services.filter(({ status }) => conditionOf(status?.conditions, 'Available')?.status !== 'True');
  if (away.length === 0) return ok(`all ${services.length} available`);
  const reported = away.map(({ metadata, status }) => {
    const why = conditionOf(status?.conditions, 'Available');
    return `${metadata.name}: ${why?.message ?? why?.reason ?? 'not available'}`;
  });
  const own = away.some(({ spec }) => spec?.service === undefined || spec.service === null);
  return (own ? blocked : warning)(
    `${away.length} of ${services.length} unavailable: ${reported.join('; ')}`,
    own
      ? 'Check the log of the API server, which serves some of these APIs itself.'
      : 'Restore the backend or delete the APIService. Until then, namespaces cannot be deleted and discovery is slow.',
    reported,
  );
}

type KubeCrd = KubeObject<{ versions?: readonly { name?: string; served?: boolean }[] }, { storedVersions?: readonly string[] }>;

export async function checkStoredVersions(api: ClusterApi, signal: AbortSignal): Promise<CheckResult> {
  const crds = await api.list<KubeCrd>('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', signal);
  const found = crds.flatMap(({ metadata, spec, status }) => {
    const versions = new Map((spec?.versions ?? []).map((each) => [each.name ?? '', each.served === true]));
    const stale = (status?.storedVersions ?? []).filter((stored) => versions.get(stored) !== true);
    return stale.map((stored) => ({ name: metadata.name, stored, known: versions.has(stored) }));
  });
  if (found.length === 0) return ok(`${countText(crds.length, 'custom resource definition')}, all stored in served versions`);
  const reported = found.map(
    ({ name, stored, known }) => `${name} is stored as ${stored}, which is no longer ${known ? 'served' : 'defined'}`,
  );
  return (found.every(({ known }) => known) ? warning : blocked)(
    reported.join('; '),
    'Rewrite each object (kubectl get, kubectl replace), then remove the old version from status.storedVersions. If the definition lacks the old version, add it first.',
  );
}

type Right = Record<'verb' | 'resource', string> & { group?: string; subresource?: string };

export async function isAllowed(api: ClusterApi, right: Right, signal: AbortSignal): Promise<boolean> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { group: '', ...right } },
  };
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  return (await api.review<{ status?: { allowed?: boolean } }>(path, review, signal)).status?.allowed === true;
}

/** Changes that the checklist makes itself, through the API. */
const needed: readonly (Right & { use: string })[] = [
  { verb: 'patch', resource: 'nodes', use: 'cordon and uncordon' },
  { verb: 'create', resource: 'pods', subresource: 'eviction', use: 'drain' },
  { verb: 'list', resource: 'pods', use: 'plan a drain' },
];

/** Checks rights in advance: a right that is missing during a drain would leave a node cordoned. */
export async function checkRights(api: ClusterApi, signal: AbortSignal): Promise<CheckResult> {
  const missing: string[] = [];
  for (const { use, ...right } of needed) {
    const resource = [right.resource, right.subresource].filter(Boolean).join('/');
    if (!(await isAllowed(api, right, signal))) missing.push(`${right.verb} ${resource} (to ${use})`);
  }
  if (missing.length === 0) return ok('cordon, drain and uncordon are allowed');
  const advice =
    'Create two cluster roles and bind both to the user: "kubectl create clusterrole quarterdeck-upgrade --verb=get,list,patch --resource=nodes,pods" and "kubectl create clusterrole quarterdeck-evict --verb=create --resource=pods/eviction".';
  return blocked(`missing: ${missing.join(', ')}`, advice, missing);
}

type UpgradePlan = KubeObject<
  { version?: string; channel?: string; concurrency?: number },
  { applying?: readonly string[]; latestVersion?: string }
>;

/** Checks for plans of the system-upgrade-controller, which upgrade nodes of k3s and RKE2 on their own. */
export async function checkUpgradePlans(api: ClusterApi, signal: AbortSignal): Promise<CheckResult> {
  const plans = (await api.find<{ items?: UpgradePlan[] }>('/apis/upgrade.cattle.io/v1/plans', signal))?.items ?? [];
  if (plans.length === 0) return ok('the system-upgrade-controller has no plans');
  const evidence = plans.map(
    ({ metadata, spec = {}, status = {} }) =>
      `${metadata.namespace ?? ''}/${metadata.name}  ${spec.version ?? spec.channel ?? status.latestVersion ?? ''}  ${spec.concurrency ?? 1} at a time`,
  );
  const busy = plans.flatMap(({ status }) => status?.applying ?? []);
  const names = plans.map(({ metadata }) => metadata.name).join(', ');
  return (busy.length > 0 ? blocked : warning)(
    `the system-upgrade-controller has ${countText(plans.length, 'plan')}: ${names}${busy.length > 0 ? `; upgrading ${busy.join(', ')}` : ''}`,
    'The controller may upgrade the same nodes in parallel. Delete its plans first, or let it do the upgrade.',
    evidence,
  );
}

type VeleroObject = KubeObject<{ paused?: boolean }, { phase?: string; completionTimestamp?: string; errors?: number }>;

const dayMs = 86_400_000;

/** Checks when workloads were last backed up by Velero, the only backup tool that can be queried through the API. */
export async function checkBackups(api: ClusterApi, nowMs: number, signal: AbortSignal): Promise<CheckResult> {
  const base = '/apis/velero.io/v1';
  if (!(await api.find<object>(base, signal)))
    return warning('Velero not found, so backups cannot be checked', 'Check them yourself: an etcd snapshot does not contain volumes.');
  const [backups = [], schedules = [], locations = []] = await Promise.all(
    ['backups', 'schedules', 'backupstoragelocations'].map((plural) => api.list<VeleroObject>(`${base}/${plural}`, signal)),
  );
  const ended = backups
    .flatMap(({ metadata, status }) => {
      const atMs = Date.parse(status?.completionTimestamp ?? '');
      return Number.isNaN(atMs) ? [] : [{ name: metadata.name, phase: status?.phase ?? '', errors: status?.errors ?? 0, atMs }];
    })
    .sort((one, other) => other.atMs - one.atMs);
  const whole = ended.find(({ phase }) => phase === 'Completed');
  const problems: string[] = [];
  for (const { metadata, status } of locations)
    if (status?.phase !== 'Available') problems.push(`storage location ${metadata.name} is ${status?.phase ?? 'not checked yet'}`);
  for (const { metadata, spec, status } of schedules) {
    if (spec?.paused) problems.push(`schedule ${metadata.name} is paused`);
    else if (status?.phase === 'FailedValidation') problems.push(`schedule ${metadata.name} is invalid (FailedValidation)`);
  }
  const [last] = ended;
  if (last && last.phase !== 'Completed')
    problems.push(`latest backup ${last.name}: ${last.phase}${last.errors > 0 ? `, ${countText(last.errors, 'error')}` : ''}`);
  if (!whole) problems.push('no completed backup');
  else if (nowMs - whole.atMs > dayMs) problems.push(`last completed backup: ${agoText(nowMs - whole.atMs)}`);
  const evidence = ended.slice(0, 8).map(({ name, phase, atMs }) => `${name}  ${phase}  ${new Date(atMs).toISOString()}`);
  if (problems.length === 0) return ok(`Velero: ${whole?.name}, ${agoText(nowMs - (whole?.atMs ?? nowMs))}`, evidence);
  const advice =
    'Fix unavailable locations and paused or invalid schedules. Create a backup: velero backup create before-upgrade --wait. Then check its phase, because the command exits with 0 whatever the phase.';
  return warning(`Velero: ${problems.join('; ')}`, advice, evidence);
}
