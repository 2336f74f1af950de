import { beforeAll, describe, expect, it, test } from 'vitest';

/** An API server with one control-plane node and three workers behind, as the practice's scenery has them. */
export interface ClusterServer {
  url: string;
  token: string;
  /** Runs a program on a node. */
  onNode(node: string, ...argv: string[]): Promise<{ exitCode: number; stdout: string; stderr: string }>;
}

interface Named {
  metadata: { name: string; namespace?: string; uid: string; resourceVersion: string; deletionTimestamp?: string };
  // biome-ignore lint/suspicious/noExplicitAny: objects of every kind.
  [key: string]: any;
}

/**
 * What reference/kubernetes-upgrade.md says of an API server, line by line, and of the programs on its nodes. No real API server can be had
 * where these tests run, so that the sheet alone is what the practice is held to.
 */
export function clusterContract(open: () => ClusterServer): void {
  let server: ClusterServer;
  beforeAll(() => {
    server = open();
  });

  const ask = async (path: string, init: RequestInit = {}) => {
    const type = init.method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const response = await fetch(`${server.url}${path}`, {
      ...init,
      headers: { Authorization: `Bearer ${server.token}`, 'Content-Type': type, ...init.headers },
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    return { status: response.status, text, json: isJson ? JSON.parse(text) : undefined, headers: response.headers };
  };
  const list = async (path: string): Promise<Named[]> => (await ask(path)).json.items as Named[];
  const pod = async (namespace: string, app: string): Promise<Named> => {
    const [found] = (await list(`/api/v1/namespaces/${namespace}/pods?labelSelector=app%3D${app}`)).filter(
      ({ metadata }) => metadata.deletionTimestamp === undefined,
    );
    if (found === undefined) throw new Error(`no pod of ${app}`);
    return found;
  };
  const evict = (of: Named, options: object = {}) =>
    ask(`/api/v1/namespaces/${of.metadata.namespace}/pods/${of.metadata.name}/eviction`, {
      method: 'POST',
      body: JSON.stringify({
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name: of.metadata.name, namespace: of.metadata.namespace },
        deleteOptions: options,
      }),
    });
  const patchNode = (name: string, body: unknown) => ask(`/api/v1/nodes/${name}`, { method: 'PATCH', body: JSON.stringify(body) });
  const readyOf = (node: Named): string => node.status.conditions.find(({ type }: { type: string }) => type === 'Ready').status;

  describe('where the cluster is', () => {
    it('tells its version to everybody', async () => {
      const answer = await (await fetch(`${server.url}/version`)).json();
      expect(answer).toMatchObject({
        major: '1',
        minor: expect.stringMatching(/^\d+\+?$/),
        gitVersion: expect.stringMatching(/^v1\.\d+\.\d+/),
        platform: 'linux/amd64',
      });
    });
    it('has nodes of several releases, none newer than the API server and none more than three minors older', async () => {
      const minor = (version: string) => Number(version.split('.')[1]);
      const { gitVersion } = (await ask('/version')).json;
      const nodes = await list('/api/v1/nodes');
      expect(nodes.map(({ metadata }) => metadata.name)).toEqual(['cp-1', 'worker-1', 'worker-2', 'worker-3']);
      const kubelets = nodes.map(({ status }) => minor(status.nodeInfo.kubeletVersion));
      expect(Math.max(...kubelets)).toBe(minor(gitVersion));
      expect(minor(gitVersion) - Math.min(...kubelets)).toBeGreaterThan(0);
      expect(minor(gitVersion) - Math.min(...kubelets)).toBeLessThanOrEqual(3);
      for (const { status } of nodes) {
        expect(status.nodeInfo).toMatchObject({
          kubeProxyVersion: status.nodeInfo.kubeletVersion,
          containerRuntimeVersion: expect.stringMatching(/^containerd:\/\//),
          osImage: expect.any(String),
        });
        expect(status.conditions.map(({ type }: { type: string }) => type).sort()).toEqual([
          'DiskPressure',
          'MemoryPressure',
          'PIDPressure',
          'Ready',
        ]);
      }
    });
    it('names its health in lines', async () => {
      expect((await ask('/readyz?verbose')).text).toMatch(
        /^\[\+\]ping ok\n(?:\[\+\]\S+ ok\n)*\[\+\]etcd ok\n(?:\[\+\]\S+ ok\n)*readyz check passed\n$/,
      );
      expect((await ask('/livez?verbose')).text).toContain('livez check passed');
    });
    it('has etcd and the rest of the control plane as mirrors of static pods', async () => {
      const names = (await list('/api/v1/namespaces/kube-system/pods?labelSelector=tier%3Dcontrol-plane')).map(
        ({ metadata }) => metadata.name,
      );
      expect(names).toEqual(['etcd-cp-1', 'kube-apiserver-cp-1', 'kube-controller-manager-cp-1', 'kube-scheduler-cp-1']);
      const etcd = (await ask('/api/v1/namespaces/kube-system/pods/etcd-cp-1')).json;
      expect(etcd.metadata.annotations).toHaveProperty(['kubernetes.io/config.mirror']);
    });
    it('says which groups it serves', async () => {
      expect((await ask('/apis')).json.groups).toContainEqual(
        expect.objectContaining({ name: 'policy', preferredVersion: { groupVersion: 'policy/v1', version: 'v1' } }),
      );
      expect((await ask('/apis/policy/v1')).json).toMatchObject({ kind: 'APIResourceList', groupVersion: 'policy/v1' });
    });
  });

  describe('failures', () => {
    it('are Status objects', async () => {
      expect((await ask('/api/v1/namespaces/web/pods/nobody')).json).toEqual({
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: 'pods "nobody" not found',
        reason: 'NotFound',
        details: { name: 'nobody', kind: 'pods' },
        code: 404,
      });
      expect((await ask('/apis/policy/v1/namespaces/web/poddisruptionbudgets/nobody')).json).toMatchObject({
        message: 'poddisruptionbudgets.policy "nobody" not found',
        details: { name: 'nobody', group: 'policy', kind: 'poddisruptionbudgets' },
      });
    });
    it('are text for what is not served at all', async () => {
      expect(await ask('/apis/nothing.example.com/v1/things')).toMatchObject({ status: 404, text: '404 page not found\n' });
    });
    it('tell a wrong token', async () => {
      const wrong = await ask('/api/v1/nodes', { headers: { Authorization: 'Bearer wrong' } });
      expect(wrong).toMatchObject({ status: 401, json: { kind: 'Status', reason: 'Unauthorized', message: 'Unauthorized', code: 401 } });
    });
  });

  describe('lists', () => {
    it('can be selected by labels and fields', async () => {
      const names = async (query: string) => (await list(`/api/v1/pods?${query}`)).map(({ metadata }) => metadata.name);
      expect(await names('fieldSelector=spec.nodeName%3Dcp-1')).toContain('etcd-cp-1');
      expect(await names('fieldSelector=spec.nodeName%3Dcp-1')).not.toContain('debug-shell');
      expect(await names('fieldSelector=status.phase%3DSucceeded')).toEqual(['migrate-28911']);
      expect(await names('labelSelector=app%3Dpostgres')).toEqual(['postgres-0']);
    });
    it('come in pages', async () => {
      const first = (await ask('/api/v1/pods?limit=5')).json;
      expect(first.items).toHaveLength(5);
      expect(first.metadata).toMatchObject({ continue: expect.any(String), remainingItemCount: expect.any(Number) });
      const rest = (await ask(`/api/v1/pods?limit=500&continue=${first.metadata.continue}`)).json;
      expect(rest.items).toHaveLength(first.metadata.remainingItemCount);
      expect(rest.metadata.continue).toBeUndefined();
      expect(new Set([...first.items, ...rest.items].map(({ metadata }: Named) => metadata.uid)).size).toBe(rest.items.length + 5);
    });
  });

  test('cordon works by a merge patch', async () => {
    expect((await patchNode('worker-1', { spec: { unschedulable: true } })).status).toBe(200);
    expect((await ask('/api/v1/nodes/worker-1')).json.spec.unschedulable).toBe(true);
    expect((await patchNode('worker-1', { spec: { unschedulable: null } })).json.spec.unschedulable).toBeUndefined();
  });

  describe('what blocks', () => {
    it('is seen in the budgets', async () => {
      const budgets = Object.fromEntries(
        (await list('/apis/policy/v1/poddisruptionbudgets')).map(({ metadata, status }) => [metadata.name, status]),
      );
      expect(budgets.postgres).toMatchObject({ disruptionsAllowed: 0, expectedPods: 1, currentHealthy: 1, desiredHealthy: 1 });
      expect(budgets.shop).toMatchObject({ disruptionsAllowed: 1, expectedPods: 3, desiredHealthy: 2 });
      expect(budgets['left-behind']).toMatchObject({ expectedPods: 0, disruptionsAllowed: 0 });
    });
    it('is a webhook that fails closed, with nobody behind its service', async () => {
      const [hook] = await list('/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations');
      expect(hook?.webhooks[0]).toMatchObject({
        failurePolicy: 'Fail',
        clientConfig: { service: { namespace: 'policy', name: 'policy-webhook' } },
      });
      const slices = '/apis/discovery.k8s.io/v1/namespaces/policy/endpointslices';
      expect(await list(`${slices}?labelSelector=kubernetes.io%2Fservice-name%3Dpolicy-webhook`)).toEqual([]);
    });
    it('is an APIService that is not available, and a version that is stored but served no more', async () => {
      const services = await list('/apis/apiregistration.k8s.io/v1/apiservices');
      const away = services.filter(({ status }) =>
        status.conditions.some(({ type, status: is }: { type: string; status: string }) => type === 'Available' && is === 'False'),
      );
      expect(away.map(({ metadata }) => metadata.name)).toEqual(['v1beta1.metrics.k8s.io']);
      const crds = await list('/apis/apiextensions.k8s.io/v1/customresourcedefinitions');
      const stale = crds.filter(({ spec, status }) =>
        status.storedVersions.some(
          (version: string) => !spec.versions.some(({ name, served }: { name: string; served: boolean }) => name === version && served),
        ),
      );
      expect(stale.map(({ metadata }) => metadata.name)).toEqual(['issuers.cert.example.com']);
    });
    it('is the use of an API that goes, counted since the API server started', async () => {
      const use = (plural: string) =>
        new RegExp(
          `^apiserver_requested_deprecated_apis\\{removed_release="1\\.32",group="flowcontrol\\.apiserver\\.k8s\\.io",resource="${plural}",subresource="",version="v1beta3"\\} 1$`,
          'm',
        );
      const { text } = await ask('/metrics');
      expect(text).toMatch(use('flowschemas'));
      expect(text).toMatch(/^apiserver_request_total\{.*\} \d+$/m);
      expect(text).not.toMatch(use('prioritylevelconfigurations'));
      await ask('/apis/flowcontrol.apiserver.k8s.io/v1beta3/prioritylevelconfigurations');
      expect((await ask('/metrics')).text).toMatch(use('prioritylevelconfigurations'));
    });
    it('is a pod that keeps crashing', async () => {
      expect((await pod('web', 'report')).status.containerStatuses[0]).toMatchObject({
        ready: false,
        state: { waiting: { reason: 'CrashLoopBackOff' } },
      });
    });
  });

  describe('eviction', () => {
    it('by dry run asks the budgets and changes nothing', async () => {
      const before = await pod('web', 'shop');
      expect(await evict(before, { dryRun: ['All'] })).toMatchObject({
        status: 201,
        json: { kind: 'Status', status: 'Success', code: 201 },
      });
      expect((await ask(`/api/v1/namespaces/web/pods/${before.metadata.name}`)).json.metadata.resourceVersion).toBe(
        before.metadata.resourceVersion,
      );
      expect((await evict(await pod('data', 'postgres'), { dryRun: ['All'] })).status).toBe(429);
    });
    it('is refused by a budget, which is named', async () => {
      expect(await evict(await pod('data', 'postgres'))).toMatchObject({
        status: 429,
        json: {
          kind: 'Status',
          reason: 'TooManyRequests',
          message: "Cannot evict pod as it would violate the pod's disruption budget.",
          details: {
            causes: [{ reason: 'DisruptionBudget', message: 'The disruption budget postgres needs 1 healthy pods and has 1 currently' }],
          },
          code: 429,
        },
      });
    });
    it('fails where two budgets claim a pod', async () => {
      expect(await evict(await pod('data', 'queue'))).toMatchObject({
        status: 500,
        json: { message: 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.' },
      });
    });
    it('ends a pod, for which another one comes; a budget that is used up refuses the next at once', async () => {
      const [first, second] = await list('/api/v1/namespaces/web/pods?labelSelector=app%3Dshop');
      if (first === undefined || second === undefined) throw new Error('too few pods');
      expect((await Promise.all([evict(first), evict(second)])).map(({ status }) => status)).toEqual([201, 429]);
      await expect.poll(async () => (await ask(`/api/v1/namespaces/web/pods/${first.metadata.name}`)).status, { timeout: 5000 }).toBe(404);
      expect((await evict(first)).status).toBe(404);
      await expect
        .poll(async () => (await ask('/apis/policy/v1/namespaces/web/poddisruptionbudgets/shop')).json.status.disruptionsAllowed, {
          timeout: 5000,
        })
        .toBe(1);
    });
  });

  describe('an upgrade', () => {
    const node = async (name: string): Promise<Named> => (await ask(`/api/v1/nodes/${name}`)).json;

    it('knows certificates and their ends', async () => {
      const { stdout } = await server.onNode('cp-1', 'kubeadm', 'certs', 'check-expiration', '-o', 'json');
      const { certificates, certificateAuthorities } = JSON.parse(stdout);
      expect(certificates).toContainEqual(
        expect.objectContaining({
          name: 'apiserver',
          externallyManaged: false,
          missing: false,
          residualTime: expect.any(Number),
          expirationDate: expect.stringMatching(/Z$/),
        }),
      );
      expect(certificateAuthorities.map(({ name }: { name: string }) => name)).toEqual(['ca', 'etcd-ca', 'front-proxy-ca']);
    });
    it('begins with a snapshot that can be verified', async () => {
      expect(await server.onNode('cp-1', 'etcdctl', 'snapshot', 'save', '/var/lib/backup/etcd.db')).toMatchObject({
        exitCode: 0,
        stdout: 'Snapshot saved at /var/lib/backup/etcd.db\n',
      });
      for (const program of ['etcdctl', 'etcdutl'])
        expect((await server.onNode('cp-1', program, 'version')).stdout).toMatch(new RegExp(`^${program} version: 3\\.\\d+\\.\\d+\n`));
      expect((await server.onNode('cp-1', 'etcdctl', 'snapshot', 'save', 'nowhere/etcd.db')).exitCode).toBe(5);
      const status = await server.onNode('cp-1', 'etcdutl', 'snapshot', 'status', '/var/lib/backup/etcd.db', '-w', 'json');
      expect(JSON.parse(status.stdout)).toEqual({
        hash: expect.any(Number),
        revision: expect.any(Number),
        totalKey: expect.any(Number),
        totalSize: expect.any(Number),
      });
      expect((await server.onNode('cp-1', 'etcdutl', 'snapshot', 'status', '/nothing.db')).exitCode).not.toBe(0);
      expect((await server.onNode('cp-1', 'etcdctl', 'endpoint', 'status', '-w', 'json')).stdout).toContain(
        '"member_id":10276657743932975437',
      );
    });
    it('goes one minor at a time, the control plane first', async () => {
      const { stdout } = await server.onNode('cp-1', 'kubeadm', 'upgrade', 'plan', 'v1.32.4', '-o', 'json');
      expect(JSON.parse(stdout)).toMatchObject({
        kind: 'UpgradePlan',
        availableUpgrades: [{ components: [{ name: 'kube-apiserver', currentVersion: 'v1.31.6', newVersion: 'v1.32.4' }] }],
      });
      const remote = await server.onNode('cp-1', 'kubeadm', 'upgrade', 'apply', 'v1.33.1', '-y');
      expect(remote.exitCode).toBe(1);
      expect(remote.stderr).toContain('kubeadm can upgrade only 1 minor version at a time');
      // Each minor has a repository of its own.
      const absent = await server.onNode('worker-1', 'apt-get', 'install', '-y', 'kubelet=1.32.4-1.1');
      expect(absent).toMatchObject({ exitCode: 100, stderr: expect.stringContaining("'kubelet' was not found") });
      await server.onNode('worker-1', 'sed', '-i', 's#/v1\\.[0-9]*/#/v1.32/#', '/etc/apt/sources.list.d/kubernetes.list');
      await server.onNode('worker-1', 'apt-get', 'install', '-y', 'kubelet=1.32.4-1.1');
      expect((await server.onNode('worker-1', 'systemctl', 'restart', 'kubelet')).exitCode).toBe(1);
      expect((await ask('/version')).json.gitVersion).toBe('v1.31.6');
      expect(await server.onNode('cp-1', 'kubeadm', 'upgrade', 'apply', 'v1.32.4', '-y')).toMatchObject({
        exitCode: 0,
        stdout: expect.stringContaining('SUCCESS'),
      });
      expect((await ask('/version')).json).toMatchObject({ minor: '32', gitVersion: 'v1.32.4' });
      expect((await pod('kube-system', 'kube-proxy')).spec.containers[0].image).toMatch(/v1\.3[12]/);
    });
    it('takes what was deprecated away, and the counts of it', async () => {
      expect((await ask('/apis/flowcontrol.apiserver.k8s.io/v1beta3/flowschemas')).status).toBe(404);
      expect((await ask('/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas')).status).toBe(200);
      expect((await ask('/metrics')).text).not.toContain('apiserver_requested_deprecated_apis{');
    });
    it('restarts a kubelet: the node is not ready, and then ready with its new release', async () => {
      await server.onNode('worker-1', 'apt-get', 'install', '-y', 'kubelet=1.32.4-1.1', 'kubectl=1.32.4-1.1');
      expect((await node('worker-1')).status.nodeInfo.kubeletVersion).toBe('v1.31.6');
      expect((await server.onNode('worker-1', 'systemctl', 'restart', 'kubelet')).exitCode).toBe(0);
      expect(readyOf(await node('worker-1'))).toBe('False');
      await expect.poll(async () => readyOf(await node('worker-1')), { timeout: 5000 }).toBe('True');
      expect((await node('worker-1')).status.nodeInfo).toMatchObject({ kubeletVersion: 'v1.32.4', kubeProxyVersion: 'v1.32.4' });
    });
  });
}
