import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ClusterStage } from '../../test/doubles/cluster-stage.ts';
import { mintGrant } from '../grants/mint.ts';
import { openLocalHost } from '../hosts/local-host.ts';
import type { ClusterOptions } from '../practice/cluster/cluster.ts';
import { ClusterApi } from './api-client.ts';
import { podName } from './api-shapes.ts';
import { type DrainProgress, drainNode, planDrain, rehearseDrain, setSchedulable } from './drain.ts';

const signal = new AbortController().signal;
const pace = { everyMs: 15, againMs: 15, stalledMs: 60_000 };
let stage: ClusterStage;
let api: ClusterApi;
const grant = mintGrant('drain', 'operate', signal);
async function reopen(options: ClusterOptions = {}): Promise<void> {
  await stage?.close();
  stage = await ClusterStage.open(options);
  const { hostname, port } = new URL(stage.url);
  const { token } = stage.cluster;
  api = new ClusterApi(openLocalHost(), { context: 'c', user: 'u', host: hostname, port: Number(port), tls: false, basePath: '', token });
}
beforeEach(async () => {
  stage = undefined as unknown as ClusterStage;
  await reopen();
});
afterEach(() => stage.close());

describe('a drain', () => {
  test('leaves what belongs to the node, and what is over, and tells what is lost', async () => {
    const plane = await planDrain(api, 'cp-1', signal);
    expect(plane.evicted).toEqual([]);
    expect(plane.staying).toBeGreaterThanOrEqual(6);
    const first = await planDrain(api, 'worker-1', signal);
    expect(first.evicted.map(podName).some((name) => name.includes('migrate-28911'))).toBe(false);
    const second = await planDrain(api, 'worker-2', signal);
    expect(second.withData).toEqual([expect.stringMatching(/^web\/cache-/)]);
    expect(second.bare).toEqual(['data/debug-shell']);
  });

  test('is rehearsed without moving anything', async () => {
    const plan = await planDrain(api, 'worker-3', signal);
    const refused = await rehearseDrain(api, plan, signal);
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
    // Two of three pods of the shop on one node: the second may go when the first is there again.
    await setSchedulable(grant, api, 'worker-2', false);
    await setSchedulable(grant, api, 'worker-3', false);
    const told: DrainProgress[] = [];
    // A budget looks hopeless until the pod that takes another's place is counted: on a busy machine that takes longer than a look.
    const patient = { ...pace, againMs: 1000 };
    await drainNode(grant, api, 'worker-2', (progress) => told.push(progress), patient);
    await setSchedulable(grant, api, 'worker-2', true);
    await expect
      .poll(async () => (await planDrain(api, 'worker-1', signal)).evicted.filter((pod) => podName(pod).startsWith('web/shop')).length)
      .toBeGreaterThan(1);
    await setSchedulable(grant, api, 'worker-1', false);
    await drainNode(grant, api, 'worker-1', (progress) => told.push(progress), patient);
    expect(told.at(-1)).toMatchObject({ left: 0, refused: [] });
    expect(told.flatMap(({ refused }) => refused.map(({ pod, forGood }) => `${pod.split('-')[0]} ${forGood}`))).toContain('web/shop false');
  });

  test('gives up at once where waiting does not help, and names the pods and their budgets', async () => {
    await setSchedulable(grant, api, 'worker-3', false);
    await expect(drainNode(grant, api, 'worker-3', () => {}, pace)).rejects.toMatchObject({
      code: 'failed.drain',
      message: expect.stringMatching(
        /^worker-3 stays cordoned: 2 pods cannot be moved\. .*data\/postgres-0: The disruption budget postgres needs 1/,
      ),
    });
  });

  test('pods that no budget holds, and that do not end, are named with where to look', async () => {
    await reopen({ terminationMs: 600_000 });
    await setSchedulable(grant, api, 'worker-1', false);
    await expect(drainNode(grant, api, 'worker-1', () => {}, { ...pace, stalledMs: 300 })).rejects.toMatchObject({
      code: 'failed.drain',
      message: expect.stringMatching(/^worker-1 stays cordoned: \d pods cannot be moved\. .*web\/shop-\S+ does not end\./),
      remedy: expect.stringMatching(/^No budget holds them: "kubectl describe pod"/),
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
      message: expect.stringMatching(/right to create pods\/eviction is missing/),
    });
  });
});
