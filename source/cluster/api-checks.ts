import { countText } from '../text/quantities.ts';
import type { ClusterApi } from './api-client.ts';
import { conditionOf, type KubeApiService, type KubeCrd, type KubeSlice, type KubeWebhooks } from './api-shapes.ts';
import { type CheckResult, worst } from './check-result.ts';

export interface DeprecatedUse {
  group: string;
  version: string;
  resource: string;
  /** `1.32`; empty where nobody knows. */
  removedIn: string;
  /** So many requests since the API server was started; undefined where it counts none. */
  requests: number | undefined;
}

const labelsIn = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries([...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name = '', value = '']) => [name, value]));

/** `apiserver_requested_deprecated_apis`, joined with how often each was asked for. */
export function deprecatedUses(metrics: string): DeprecatedUse[] {
  const requests = new Map<string, number>();
  const uses: Omit<DeprecatedUse, 'requests'>[] = [];
  for (const line of metrics.split('\n')) {
    const [, family, labelText = '', value = ''] =
      /^(apiserver_requested_deprecated_apis|apiserver_request_total)\{(.*)\}\s+(\S+)/.exec(line) ?? [];
    if (family === undefined) continue;
    const labels = labelsIn(labelText);
    const { group = '', version = '', resource = '' } = labels;
    if (family === 'apiserver_request_total') {
      const key = `${group}/${version}/${resource}`;
      requests.set(key, (requests.get(key) ?? 0) + Number(value));
    } else if (Number(value) > 0) uses.push({ group, version, resource, removedIn: labels['removed_release'] ?? '' });
  }
  return uses.map((use) => ({ ...use, requests: requests.get(`${use.group}/${use.version}/${use.resource}`) }));
}

/** Does `1.32` of a metric name a release up to this minor? */
export const isRemovedBy = (removedIn: string, minor: number): boolean => {
  const found = /^v?1\.(\d+)/.exec(removedIn);
  return found !== null && Number(found[1]) <= minor;
};

/** Versions of the API that somebody still asks for, and that the next release does not serve any more. */
export async function checkDeprecated(api: ClusterApi, targetMinor: number, signal: AbortSignal): Promise<CheckResult> {
  const { text } = await api.text('/metrics', signal);
  if (!text.includes('apiserver_request'))
    return {
      state: 'warning',
      summary: 'Its API server counts nothing (/metrics tells no requests)',
      advice: 'Look with pluto or kubent, and at what is deployed.',
    };
  const uses = deprecatedUses(text);
  const told = ({ group, version, resource, removedIn, requests }: DeprecatedUse) =>
    `${resource} of ${group === '' ? '' : `${group}/`}${version}${removedIn === '' || isRemovedBy(removedIn, targetMinor) ? '' : `, gone in ${removedIn}`}${requests === undefined ? '' : `, asked for ${countText(requests, 'time')}`}`;
  const gone = uses.filter(({ removedIn }) => isRemovedBy(removedIn, targetMinor));
  const caveat = 'Counted since this API server was started, and of it alone: silence is no proof.';
  if (gone.length > 0)
    return {
      state: 'blocked',
      summary: `gone in 1.${targetMinor}, and still used: ${gone.map(told).join('; ')}`,
      evidence: [...uses.map(told), caveat],
      advice: 'Find who asks (audit log, annotation k8s.io/deprecated), and move it to the newer version.',
    };
  if (uses.length > 0)
    return {
      state: 'warning',
      summary: `used, and gone later: ${uses.map(told).join('; ')}`,
      evidence: [caveat],
      advice: 'Plan to move it; this upgrade does not take it away.',
    };
  return { state: 'ok', summary: 'nobody has asked for a deprecated version', evidence: [caveat] };
}

/** Webhooks that refuse everything because nobody is behind their service. */
export async function checkWebhooks(api: ClusterApi, signal: AbortSignal): Promise<CheckResult> {
  const base = '/apis/admissionregistration.k8s.io/v1';
  const [validating, mutating] = await Promise.all(
    ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations'].map((plural) =>
      api.list<KubeWebhooks>(`${base}/${plural}`, signal),
    ),
  );
  const all = [...(validating ?? []), ...(mutating ?? [])].flatMap(({ metadata, webhooks = [] }) =>
    webhooks.map((hook) => ({ configuration: metadata.name, hook })),
  );
  const closed = all.filter(({ hook }) => (hook.failurePolicy ?? 'Fail') === 'Fail');
  const behind = new Map<string, boolean>();
  const dead: string[] = [];
  for (const { configuration, hook } of closed) {
    const service = hook.clientConfig?.service;
    if (!service?.namespace || !service.name) continue;
    const key = `${service.namespace}/${service.name}`;
    if (!behind.has(key)) {
      const slices = await api.list<KubeSlice>(`/apis/discovery.k8s.io/v1/namespaces/${service.namespace}/endpointslices`, signal, {
        labels: `kubernetes.io/service-name=${service.name}`,
      });
      behind.set(
        key,
        slices.some(({ endpoints = [] }) => endpoints.some(({ conditions }) => conditions?.ready !== false)),
      );
    }
    if (!behind.get(key)) dead.push(`${configuration} (${hook.name ?? ''}): nobody is behind ${key}`);
  }
  if (dead.length > 0)
    return {
      state: 'blocked',
      summary: `refuses what it is asked about, for nobody answers: ${dead.join('; ')}`,
      evidence: dead,
      advice: 'Bring its service back, or let it pass meanwhile (failurePolicy: Ignore): pods that are moved could not be made anew.',
    };
  return { state: 'ok', summary: `${countText(all.length, 'webhook')}, ${closed.length} of them fail closed, all with somebody behind` };
}

/** Parts of the API that are not available. */
export async function checkApiServices(api: ClusterApi, signal: AbortSignal): Promise<CheckResult> {
  const services = await api.list<KubeApiService>('/apis/apiregistration.k8s.io/v1/apiservices', signal);
  const away = services.filter(({ status }) => conditionOf(status?.conditions, 'Available')?.status !== 'True');
  const told = away.map(({ metadata, status }) => {
    const why = conditionOf(status?.conditions, 'Available');
    return `${metadata.name}: ${why?.message ?? why?.reason ?? 'not available'}`;
  });
  if (away.length === 0) return { state: 'ok', summary: `all ${services.length} available` };
  const own = away.some(({ spec }) => spec?.service === undefined || spec.service === null);
  return {
    state: own ? 'blocked' : 'warning',
    summary: `${away.length} of ${services.length} away: ${told.join('; ')}`,
    evidence: told,
    advice:
      'Bring what stands behind it back, or take the APIService away: while it is away namespaces cannot be deleted, and discovery is slow.',
  };
}

/** Custom resources that are stored under a version that is served no more. */
export async function checkStoredVersions(api: ClusterApi, signal: AbortSignal): Promise<CheckResult> {
  const crds = await api.list<KubeCrd>('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', signal);
  const found: { state: CheckResult['state']; text: string }[] = [];
  for (const { metadata, spec, status } of crds) {
    const versions = new Map((spec?.versions ?? []).map((each) => [each.name ?? '', each.served === true]));
    for (const stored of status?.storedVersions ?? []) {
      if (versions.get(stored) === true) continue;
      found.push({
        state: versions.has(stored) ? 'warning' : 'blocked',
        text: `${metadata.name} is stored as ${stored}, which is ${versions.has(stored) ? 'served no more' : 'not known any more'}`,
      });
    }
  }
  if (found.length === 0) return { state: 'ok', summary: `${countText(crds.length, 'custom resource')}, all stored as they are served` };
  return {
    state: worst(found.map(({ state }) => state)),
    summary: found.map(({ text }) => text).join('; '),
    advice: 'Write each object anew (kubectl get, kubectl replace), then take the old version out of status.storedVersions.',
  };
}
