import type { ClusterApi } from './api-client.ts';
import type { CheckResult } from './check-result.ts';

interface Right {
  verb: string;
  group?: string;
  resource: string;
  subresource?: string;
  /** What it is needed for. */
  use: string;
}

/** What the walk changes by itself, through the API. */
const needed: readonly Right[] = [
  { verb: 'patch', resource: 'nodes', use: 'cordon and uncordon' },
  { verb: 'create', resource: 'pods', subresource: 'eviction', use: 'drain' },
  { verb: 'list', resource: 'pods', use: 'see what a drain moves' },
];

/** Asks beforehand, for a right that is missing in the middle of a drain leaves a node cordoned. */
export async function checkRights(api: ClusterApi, signal: AbortSignal): Promise<CheckResult> {
  const missing: string[] = [];
  for (const { verb, group = '', resource, subresource, use } of needed) {
    const review = await api.review<{ status?: { allowed?: boolean } }>(
      '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes: { verb, group, resource, ...(subresource !== undefined && { subresource }) } },
      },
      signal,
    );
    if (review.status?.allowed !== true)
      missing.push(`${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`} (to ${use})`);
  }
  if (missing.length === 0) return { state: 'ok', summary: 'to cordon, drain and uncordon' };
  return {
    state: 'blocked',
    summary: `missing: ${missing.join(', ')}`,
    evidence: missing,
    advice: `kubectl create clusterrole quarterdeck-upgrade --verb=get,list,patch --resource=nodes,pods; eviction is "create" on pods/eviction. Bind both to the user.`,
  };
}
