import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { stringify } from 'yaml';
import { mintGrant } from '../../source/grants/mint.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import {
  checkApiServices,
  checkBackups,
  checkDeprecated,
  checkRights,
  checkStoredVersions,
  checkWebhooks,
} from '../../source/products/kubernetes/client/api-checks.ts';
import { ClusterApi } from '../../source/products/kubernetes/client/api-client.ts';
import { type KubePod, podName } from '../../source/products/kubernetes/client/api-shapes.ts';
import { readCluster } from '../../source/products/kubernetes/client/cluster-facts.ts';
import { deletePods, drainNode, dryRunDrain, planDrain, setSchedulable } from '../../source/products/kubernetes/client/drain.ts';
import { loginOf, readKubeconfig } from '../../source/products/kubernetes/client/kubeconfig.ts';
import { checkHealth } from '../../source/products/kubernetes/client/node-checks.ts';
import { describeUnless } from '../required.ts';
import { missingEtcd } from './etcd-programs.ts';
import { findServer, freePort, type RunningServer, runServer } from './real-server.ts';

describeUnless(findServer('kube-apiserver').missing ?? missingEtcd(), 'a real API server (R73)', () => {
  const signal = new AbortController().signal;
  const grant = mintGrant('drain', 'operate', signal);
  const servers: RunningServer[] = [];
  let folder: string;
  let admin: ClusterApi;
  let nobody: ClusterApi;
  let port: number;

  async function clientOf(user: string): Promise<ClusterApi> {
    const file = join(folder, `${user}.yaml`);
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'real', cluster: { server: `https://127.0.0.1:${port}`, 'certificate-authority': 'certs/apiserver.crt' } }],
      users: [{ name: user, user: { token: `${user}-token` } }],
      contexts: [{ name: 'real', context: { cluster: 'real', user } }],
    };
    await writeFile(file, stringify(config), { mode: 0o600 });
    const host = openLocalHost();
    return new ClusterApi(host, await loginOf(host, await readKubeconfig(host, file, signal), 'real', signal));
  }
  const make = (path: string, body: object) => admin.review<{ metadata: { uid: string } }>(path, body, signal);
  const putStatus = async (path: string, status: object) => admin.patch(grant, `${path}/status`, { status });
  const pod = async (name: string, labels: Record<string, string>, more: object = {}) => {
    await make('/api/v1/namespaces/default/pods', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, labels },
      spec: { nodeName: 'worker-1', terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'busybox' }], ...more },
    });
    await putStatus(`/api/v1/namespaces/default/pods/${name}`, { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] });
  };
  /** As the disruption controller would, which is not there. */
  const budget = async (name: string, app: string, allowed: number) => {
    const path = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
    await make(path, {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name },
      spec: { minAvailable: 1, selector: { matchLabels: { app } } },
    });
    await putStatus(`${path}/${name}`, {
      disruptionsAllowed: allowed,
      currentHealthy: 1,
      desiredHealthy: 1,
      expectedPods: 1,
      observedGeneration: 1,
    });
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'quarterdeck-kube-'));
    const [client, peer] = [await freePort(), await freePort()];
    port = await freePort();
    const etcd = `http://127.0.0.1:${client}`;
    const peers = `http://127.0.0.1:${peer}`;
    const listen = [
      '--listen-client-urls',
      etcd,
      '--advertise-client-urls',
      etcd,
      '--listen-peer-urls',
      peers,
      '--initial-advertise-peer-urls',
      peers,
    ];
    servers.push(
      await runServer('etcd', ['--data-dir', join(folder, 'etcd'), ...listen, '--initial-cluster', `default=${peers}`], {
        cwd: folder,
        answers: `${etcd}/health`,
      }),
    );
    const keys = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    await writeFile(join(folder, 'sa.key'), keys.privateKey, { mode: 0o600 });
    await writeFile(join(folder, 'sa.pub'), keys.publicKey);
    await writeFile(join(folder, 'tokens.csv'), 'admin-token,admin,1,"system:masters"\nnobody-token,nobody,2\n', { mode: 0o600 });
    const args = [
      `--etcd-servers=${etcd}`,
      `--secure-port=${port}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      `--cert-dir=${join(folder, 'certs')}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${join(folder, 'sa.pub')}`,
      `--service-account-signing-key-file=${join(folder, 'sa.key')}`,
      `--token-auth-file=${join(folder, 'tokens.csv')}`,
      '--authorization-mode=RBAC',
      '--service-cluster-ip-range=10.0.0.0/24',
      '--disable-admission-plugins=ServiceAccount,TaintNodesByCondition',
      // Nobody is there to grant leases or shut anything down with.
      '--shutdown-delay-duration=0s',
    ];
    // Its certificate is its own until it has made one: the first answer is waited for over our own client.
    servers.push(
      await runServer(findServer('kube-apiserver').program ?? '', args, { cwd: folder, answers: `${etcd}/health`, limitMs: 60_000 }),
    );
    await vi.waitFor(() => readFile(join(folder, 'certs', 'apiserver.crt')), { timeout: 60_000, interval: 200 });
    admin = await clientOf('admin');
    nobody = await clientOf('nobody');
    await vi.waitFor(async () => expect(await checkHealth(admin, signal)).toMatchObject({ state: 'ok' }), {
      timeout: 90_000,
      interval: 300,
    });
    for (const name of ['cp-1', 'worker-1']) {
      const labels = name === 'cp-1' ? { 'node-role.kubernetes.io/control-plane': '' } : {};
      await make('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } });
      const nodeInfo = {
        kubeletVersion: name === 'cp-1' ? 'v1.34.2' : 'v1.33.4',
        containerRuntimeVersion: 'containerd://2.0.0',
        osImage: 'Debian GNU/Linux 12',
      };
      await putStatus(`/api/v1/nodes/${name}`, {
        conditions: [{ type: 'Ready', status: 'True' }],
        nodeInfo: {
          machineID: '',
          systemUUID: '',
          bootID: '',
          kernelVersion: '',
          kubeProxyVersion: '',
          operatingSystem: 'linux',
          architecture: 'amd64',
          ...nodeInfo,
        },
      });
    }
  });
  afterAll(async () => {
    for (const server of servers.reverse()) await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test('tells where it is', async () => {
    const facts = await readCluster(admin, signal);
    expect(facts.apiServer.text).toMatch(/^v1\.\d+\.\d+$/);
    expect(facts.nodes.map(({ name, kubelet, controlPlane, ready }) => [name, kubelet.text, controlPlane, ready])).toEqual([
      ['cp-1', 'v1.34.2', true, true],
      ['worker-1', 'v1.33.4', false, true],
    ]);
  });

  test('answers each look, and of a deprecated API that is asked for names the release', async () => {
    expect(await checkApiServices(admin, signal)).toMatchObject({ state: 'ok' });
    expect(await checkWebhooks(admin, signal)).toMatchObject({ state: 'ok' });
    expect(await checkStoredVersions(admin, signal)).toMatchObject({ state: 'ok' });
    expect(await checkBackups(admin, Date.now(), signal)).toMatchObject({
      state: 'warning',
      summary: expect.stringMatching(/^Velero not found/),
    });
    expect(await checkRights(admin, signal)).toMatchObject({ state: 'ok' });
    await admin.list('/api/v1/componentstatuses', signal);
    expect(await checkDeprecated(admin, 35, signal)).toMatchObject({
      state: 'warning',
      summary: expect.stringMatching(/componentstatuses \(v1\), requested \d+ times?/),
    });
  });

  test('names the rights that somebody lacks', async () => {
    await expect(nobody.list('/api/v1/nodes', signal)).rejects.toMatchObject({
      code: 'refused.right',
      message: 'User nobody is not allowed to list nodes.',
    });
    await expect(nobody.text('/metrics', signal)).rejects.toMatchObject({
      code: 'refused.right',
      message: 'User nobody is not allowed to get /metrics.',
    });
    await expect(nobody.list('/apis/policy/v1/poddisruptionbudgets', signal)).rejects.toMatchObject({
      message: expect.stringMatching(/not allowed to list poddisruptionbudgets\.policy/),
    });
    expect(await checkRights(nobody, signal)).toMatchObject({
      state: 'blocked',
      summary: expect.stringMatching(/patch nodes .*create pods\/eviction/),
    });
    const foreign = new ClusterApi(openLocalHost(), { ...admin.login, token: 'wrong' });
    await expect(foreign.list('/api/v1/nodes', signal)).rejects.toMatchObject({ code: 'refused.clusterLogin' });
    await expect(admin.get('/apis/nothing.example.com/v1', signal)).rejects.toMatchObject({ code: 'failed.notServed' });
  });

  test('gives lists page by page', async () => {
    const names = Array.from({ length: 601 }, (_, index) => `many-${index}`);
    for (let from = 0; from < names.length; from += 50)
      await Promise.all(
        names
          .slice(from, from + 50)
          .map((name) => make('/api/v1/namespaces/default/configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } })),
      );
    const counts: number[] = [];
    const listed = await admin.list<{ metadata: { name: string } }>('/api/v1/namespaces/default/configmaps', signal, {}, (count) =>
      counts.push(count),
    );
    expect(new Set(listed.map(({ metadata }) => metadata.name)).size).toBe(listed.length);
    expect(listed.length).toBeGreaterThanOrEqual(601);
    expect(counts).toEqual([500, listed.length]);
  });

  test('cordons, dry-runs evictions without one, refuses what a budget forbids, and evicts the rest', async () => {
    await pod('free', { app: 'free' });
    await pod('kept', { app: 'kept' });
    await pod('claimed', { app: 'claimed' }, { volumes: [{ name: 'scratch', emptyDir: {} }] });
    await budget('kept', 'kept', 0);
    await budget('one', 'claimed', 1);
    await budget('two', 'claimed', 1);
    await setSchedulable(grant, admin, 'worker-1', false);
    expect((await readCluster(admin, signal)).nodes.find(({ name }) => name === 'worker-1')?.cordoned).toBe(true);
    const plan = await planDrain(admin, 'worker-1', signal);
    expect(plan.evicted.map(podName).sort()).toEqual(['default/claimed', 'default/free', 'default/kept']);
    expect(plan.withData).toEqual(['default/claimed']);
    expect(plan.bare).toHaveLength(3);
    const refused = await dryRunDrain(admin, plan.evicted, signal);
    expect(refused.sort((one, other) => (one.pod < other.pod ? -1 : 1))).toEqual([
      { pod: 'default/claimed', why: expect.stringMatching(/more than one PodDisruptionBudget/), forGood: true },
      {
        pod: 'default/kept',
        why: expect.stringMatching(/^The disruption budget kept needs 1 healthy pods and has 1 currently/),
        forGood: true,
      },
    ]);
    expect((await planDrain(admin, 'worker-1', signal)).evicted).toHaveLength(3);
    await expect(drainNode(grant, admin, 'worker-1', () => {}, { everyMs: 50, againMs: 100, stalledMs: 20_000 })).rejects.toMatchObject({
      code: 'failed.drain',
      message: expect.stringMatching(
        /^worker-1 stays cordoned because 2 pods cannot be moved\..*default\/kept: The disruption budget kept/,
      ),
    });
    const left = (await planDrain(admin, 'worker-1', signal)).evicted;
    expect(left.map(podName).sort()).toEqual(['default/claimed', 'default/kept']);
    await deletePods(grant, admin, left as KubePod[]);
    await drainNode(grant, admin, 'worker-1', () => {}, { everyMs: 50, againMs: 100, stalledMs: 20_000 });
    await setSchedulable(grant, admin, 'worker-1', true);
    expect((await readCluster(admin, signal)).nodes.every(({ cordoned }) => !cordoned)).toBe(true);
  });
});
