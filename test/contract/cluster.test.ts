import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clusterPort, createCluster } from '../../source/products/kubernetes/simulator/cluster.ts';
import { type ClusterServer, clusterContract } from './cluster.contract.ts';
import { type ServedProduct, serveProduct } from './serve-product.ts';

const pace = { podStartMs: 100, terminationMs: 60, nodeRestartMs: 80 };

describe('the practice cluster', () => {
  let served: ServedProduct;
  let server: ClusterServer;

  beforeAll(async () => {
    const cluster = createCluster(pace);
    served = await serveProduct(cluster.product);
    const none = { exitCode: 127, stdout: '', stderr: '' };
    server = {
      url: served.url(clusterPort),
      token: cluster.token,
      onNode: async (node, ...argv) => (await cluster.onNode(node, argv)) ?? none,
    };
  });
  afterAll(() => served.close());

  clusterContract(() => server);
});

describe('a practice cluster that was made difficult', () => {
  it('refuses what the operator may not do, and names it', async () => {
    const cluster = createCluster({
      ...pace,
      forbidden: [
        { verb: 'create', group: '', resource: 'pods/eviction' },
        { verb: 'list', group: 'policy', resource: '*' },
      ],
    });
    const served = await serveProduct(cluster.product);
    const ask = (path: string, init: RequestInit = {}) =>
      fetch(`${served.url(clusterPort)}${path}`, { ...init, headers: { Authorization: `Bearer ${cluster.token}` } });
    const budgets = await ask('/apis/policy/v1/poddisruptionbudgets');
    expect(budgets.status).toBe(403);
    expect(await budgets.json()).toMatchObject({
      message:
        'poddisruptionbudgets.policy is forbidden: User "practice" cannot list resource "poddisruptionbudgets" in API group "policy" at the cluster scope',
    });
    const eviction = await ask('/api/v1/namespaces/web/pods/migrate-28911/eviction', { method: 'POST', body: '{}' });
    expect(await eviction.json()).toMatchObject({
      message:
        'pods "migrate-28911" is forbidden: User "practice" cannot create resource "pods/eviction" in API group "" in the namespace "web"',
    });
    const review = {
      kind: 'SelfSubjectAccessReview',
      apiVersion: 'authorization.k8s.io/v1',
      spec: { resourceAttributes: { verb: 'create', resource: 'pods', subresource: 'eviction' } },
    };
    const may = await ask('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { method: 'POST', body: JSON.stringify(review) });
    expect(await may.json()).toMatchObject({ status: { allowed: false } });
    await served.close();
  });

  it('answers slowly, and not at all for what is away', async () => {
    const cluster = createCluster({ ...pace, away: ['policy'], delayMs: 120 });
    const served = await serveProduct(cluster.product);
    const ask = (path: string) => fetch(`${served.url(clusterPort)}${path}`, { headers: { Authorization: `Bearer ${cluster.token}` } });
    expect(((await (await ask('/apis')).json()) as { groups: unknown[] }).groups).toContainEqual(
      expect.objectContaining({ name: 'policy' }),
    );
    const away = await ask('/apis/policy/v1/poddisruptionbudgets');
    expect([away.status, await away.text()]).toEqual([503, 'service unavailable\n']);
    const begun = performance.now();
    expect((await ask('/api/v1/nodes')).status).toBe(200);
    expect(performance.now() - begun).toBeGreaterThan(100);
    await served.close();
  });

  it('holds 5,000 pods, and gives them page by page', async () => {
    const cluster = createCluster({ ...pace, morePods: 5000 });
    const served = await serveProduct(cluster.product);
    let count = 0;
    let next = '';
    do {
      const answer = await fetch(`${served.url(clusterPort)}/api/v1/namespaces/default/pods?limit=500&continue=${next}`, {
        headers: { Authorization: `Bearer ${cluster.token}` },
      });
      const page = (await answer.json()) as { items: unknown[]; metadata: { continue?: string } };
      count += page.items.length;
      next = page.metadata.continue ?? '';
    } while (next !== '');
    expect(count).toBe(5000);
    await served.close();
  });

  it('keeps what it stores over a restart, and forgets what it counted', async () => {
    const cluster = createCluster(pace);
    const first = await serveProduct(cluster.product);
    const auth = { headers: { Authorization: `Bearer ${cluster.token}` } };
    await fetch(`${first.url(clusterPort)}/apis/flowcontrol.apiserver.k8s.io/v1beta3/prioritylevelconfigurations`, auth);
    await fetch(`${first.url(clusterPort)}/api/v1/nodes/worker-1`, {
      method: 'PATCH',
      body: '{"spec":{"unschedulable":true}}',
      headers: { ...auth.headers, 'Content-Type': 'application/merge-patch+json' },
    });
    await first.close();
    const second = await serveProduct(cluster.product);
    expect(await (await fetch(`${second.url(clusterPort)}/api/v1/nodes/worker-1`, auth)).json()).toMatchObject({
      spec: { unschedulable: true },
    });
    expect(await (await fetch(`${second.url(clusterPort)}/metrics`, auth)).text()).not.toContain(
      'prioritylevelconfigurations",subresource="",version="v1beta3"',
    );
    await second.close();
  });
});
