import pLimit from 'p-limit';
import { Fault } from '../faults/fault.ts';
import type { ClusterApi } from './api-client.ts';
import type { CheckResult } from './check-result.ts';

interface GroupList {
  groups?: readonly { name?: string; preferredVersion?: { groupVersion?: string } }[];
}

const askedAtOnce = 8;

/**
 * What a program that looks through the whole cluster cannot see: pluto (5.22, tried) leaves out what is away or forbidden without a word, and says that it
 * found nothing. Empty where it can see all.
 */
export async function blindSpots(api: ClusterApi, signal: AbortSignal): Promise<string[]> {
  const review = await api.review<{ status?: { allowed?: boolean } }>(
    '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { verb: 'list', group: '*', resource: '*' } },
    },
    signal,
  );
  const { groups = [] } = await api.get<GroupList>('/apis', signal);
  const limit = pLimit(askedAtOnce);
  const away = await Promise.all(
    groups.map(({ name = '', preferredVersion }) =>
      limit(async () => {
        try {
          await api.get(`/apis/${preferredVersion?.groupVersion ?? name}`, signal);
          return [];
        } catch (thrown) {
          signal.throwIfAborted();
          if (!(thrown instanceof Fault)) throw thrown;
          return [`${name} is away`];
        }
      }),
    ),
  );
  return [...(review.status?.allowed === true ? [] : ['the right to list everything is missing']), ...away.flat()];
}

/** Silence of who does not see all is no answer. */
export function inSightOf(result: CheckResult, blind: readonly string[]): CheckResult {
  if (result.state === 'blocked' || blind.length === 0) return result;
  return {
    ...result,
    state: 'warning',
    summary: `${result.summary}, but does not see all: ${blind.join(', ')}`,
    advice:
      'It leaves out what it cannot see, without a word. Look again when all of the API is there, as somebody who may list everything.',
    unseen: true,
  };
}
