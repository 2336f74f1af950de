import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ClusterFixture, type FixtureOptions } from '../../../../test/doubles/cluster-fixture.ts';
import { mintGrant } from '../../../grants/mint.ts';
import { openLocalHost } from '../../../hosts/local-host.ts';
import { ClusterApi } from './api-client.ts';
import { podName } from './api-shapes.ts';
import { type DrainProgress, drainNode, dryRunDrain, planDrain, setSchedulable } from './drain.ts';

const signal = new AbortController().signal;
const pace = { everyMs: 15, againMs: 15, stalledMs: 60_000 };
let fixture: ClusterFixture;
let api: ClusterApi;
const grant = mintGrant('drain', 'operate', signal);
async function reopen(options: FixtureOptions = {}): Promise<void> {
  await fixture?.close();
  fixture = await ClusterFixture.open(options);
  const { hostname, port } = new URL(fixture.url);
  const { token } = fixture.cluster;
  api = new ClusterApi(openLocalHost(), { context: 'c', user: 'u', host: hostname, port: Number(port), tls: false, basePath: '', token });
}
beforeEach(async () => {
  fixture = undefined as unknown as ClusterFixture;
  await reopen();
});
afterEach(() => fixture.close());

describe('a drain', () => {
  test('leaves what belongs to the node, and what is over, and tells what is lost', async () => {
    const plane = await planDrain(api, 'cp-1', signal);
    expect(plane.evicted).toEqual([]);
    const first = await planDrain(api, 'worker-1', signal);
    expect(first.evicted.map(podName).some((name) => name.includes('migrate-28911'))).toBe(false);
    const second = await planDrain(api, 'worker-2', signal);
    expect(second.withData).toEqual([expect.stringMatching(/^web\/cache-/)]);
    expect(second.bare).toEqual(['data/debug-shell']);
  });

  test('is dry-run without moving anything', async () => {
    const plan = await planDrain(api, 'worker-3', signal);
    const refused = await dryRunDrain(api, plan.evicted, signal);
    expect(refused.map(({ pod, forGood }) => [pod.replace(/-[^-]+-[^-]+$/, ''), forGood])).toEqual(
      expect.arrayContaining([['data/queue', true]]),
    );
    expect(refused.find(({ pod }) => pod === 'data/postgres-0')).toMatchObject({
      forGood: true,
      why: expect.stringMatching(/needs 1 healthy pods and has 1/),
    });
    expect((await planDrain(api, 'worker-3', signal)).evicted.map(podName)).toEqual(plan.evicted.map(podName));
  });

  test('waits for a budget whose pods come back, and says whom it waits for', async () => {
    await reopen({ podStartMs: 1500 });
    // Two of three pods of the shop are on one node: the second is evicted when the first is ready again.
    await setSchedulable(grant, api, 'worker-2', false);
    await setSchedulable(grant, api, 'worker-3', false);
    const reported: DrainProgress[] = [];
    // A budget appears to block forever until the replacement pod is counted: on a busy machine that takes longer than one interval.
    const patient = { ...pace, againMs: 1000 };
    await drainNode(grant, api, 'worker-2', (progress) => reported.push(progress), patient);
    await setSchedulable(grant, api, 'worker-2', true);
    await expect
      .poll(async () => (await planDrain(api, 'worker-1', signal)).evicted.filter((pod) => podName(pod).startsWith('web/shop')).length)
      .toBeGreaterThan(1);
    await setSchedulable(grant, api, 'worker-1', false);
    await drainNode(grant, api, 'worker-1', (progress) => reported.push(progress), patient);
    expect(reported.at(-1)).toMatchObject({ left: 0, refused: [] });
    expect(reported.flatMap(({ refused }) => refused.map(({ pod, forGood }) => `${pod.split('-')[0]} ${forGood}`))).toContain(
      'web/shop false',
    );
  });

  test('gives up at once where waiting does not help, and names the pods and their budgets', async () => {
    await setSchedulable(grant, api, 'worker-3', false);
    await expect(drainNode(grant, api, 'worker-3', () => {}, pace)).rejects.toMatchObject({
      code: 'failed.drain',
      message: expect.stringMatching(
        /^worker-3 stays cordoned because 2 pods cannot be moved\. .*data\/postgres-0: The disruption budget postgres needs 1/,
      ),
    });
  });

  test('pods that no budget holds, and that do not end, are named with where to look', async () => {
    await reopen({ terminationMs: 600_000 });
    await setSchedulable(grant, api, 'worker-1', false);
    await expect(drainNode(grant, api, 'worker-1', () => {}, { ...pace, stalledMs: 300 })).rejects.toMatchObject({
      code: 'failed.drain',
      message: expect.stringMatching(/^worker-1 stays cordoned because \d pods cannot be moved\. .*web\/shop-\S+ does not stop\./),
      remedy: expect.stringMatching(/^No disruption budget blocks these pods. Find the cause with "kubectl describe pod"/),
    });
  });

  test('ends with its grant', async () => {
    const over = new AbortController();
    const mine = mintGrant('drain', 'operate', over.signal);
    await setSchedulable(grant, api, 'worker-2', false);
    await expect(drainNode(mine, api, 'worker-2', () => over.abort(new Error('over')), pace)).rejects.toThrow('over');
  });

  test('a pod that may not be evicted names the right', async () => {
    await reopen({ forbidden: [{ verb: 'create', group: '', resource: 'pods/eviction' }] });
    await expect(drainNode(grant, api, 'worker-1', () => {}, pace)).rejects.toMatchObject({
      code: 'refused.right',
      message: expect.stringMatching(/not allowed to create pods\/eviction/),
    });
  });
});
