import { countText } from '../text/quantities.ts';
import type { ClusterApi } from './api-client.ts';
import type { Metadata } from './api-shapes.ts';
import type { CheckResult } from './check-result.ts';

interface UpgradePlan {
  metadata: Metadata;
  spec?: { version?: string; channel?: string; concurrency?: number };
  status?: { applying?: readonly string[]; latestVersion?: string };
}

/** Plans of the system-upgrade-controller, which bring nodes of k3s and RKE2 on by themselves. */
export async function checkUpgradePlans(api: ClusterApi, signal: AbortSignal): Promise<CheckResult> {
  const plans = (await api.find<{ items?: UpgradePlan[] }>('/apis/upgrade.cattle.io/v1/plans', signal))?.items ?? [];
  if (plans.length === 0) return { state: 'ok', summary: 'nothing in the cluster upgrades its nodes by itself' };
  const evidence = plans.map(
    ({ metadata, spec = {}, status = {} }) =>
      `${metadata.namespace ?? ''}/${metadata.name}  ${spec.version ?? spec.channel ?? status.latestVersion ?? ''}  ${spec.concurrency ?? 1} at a time`,
  );
  const busy = plans.flatMap(({ status }) => status?.applying ?? []);
  return {
    state: busy.length > 0 ? 'blocked' : 'warning',
    summary: `${countText(plans.length, 'plan')} of the system-upgrade-controller: ${plans.map(({ metadata }) => metadata.name).join(', ')}${busy.length > 0 ? `; at work on ${busy.join(', ')}` : ''}`,
    evidence,
    advice: 'It would upgrade the same nodes beside this walk: take its plans away first, or leave the upgrade to it.',
  };
}
