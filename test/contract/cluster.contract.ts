import { beforeAll, describe, expect, it } from 'vitest';

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

  const ask = async (path: string, init: RequestInit & { patch?: 'json' | 'merge' | 'strategic-merge' } = {}) => {
    const { patch, ...rest } = init;
    const type = patch === undefined ? 'application/json' : `application/${patch}-patch+json`;
    const response = await fetch(`${server.url}${path}`, {
      ...rest,
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
  const patchNode = (name: string, body: unknown, patch: 'json' | 'merge' | 'strategic-merge') =>
    ask(`/api/v1/nodes/${name}`, { method: 'PATCH', body: JSON.stringify(body), patch });
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
      expect(await ask('/readyz')).toMatchObject({ status: 200, text: 'ok' });
      expect((await ask('/readyz?verbose')).text).toMatch(
        /^\[\+\]ping ok\n(?:\[\+\]\S+ ok\n)*\[\+\]etcd ok\n(?:\[\+\]\S+ ok\n)*readyz check passed\n$/,
      );
      expect((await ask('/livez?verbose')).text).toContain('livez check passed');
      expect(await ask('/livez/etcd')).toMatchObject({ status: 200, text: 'ok' });
    });
    it('has etcd and the rest of the control plane as mirrors of static pods', async () => {
      const names = (await list('/api/v1/namespaces/kube-system/pods?labelSelector=tier%3Dcontrol-plane')).map(
        ({ metadata }) => metadata.name,
      );
      expect(names).toEqual(['etcd-cp-1', 'kube-apiserver-cp-1', 'kube-controller-manager-cp-1', 'kube-scheduler-cp-1']);
      const etcd = (await ask('/api/v1/namespaces/kube-system/pods/etcd-cp-1')).json;
      expect(etcd.metadata.annotations).toHaveProperty(['kubernetes.io/config.mirror']);
    });
    it('says what it serves', async () => {
      expect((await ask('/api')).json).toMatchObject({ kind: 'APIVersions', versions: ['v1'] });
      const core = (await ask('/api/v1')).json;
      expect(core).toMatchObject({ kind: 'APIResourceList', groupVersion: 'v1' });
      expect(core.resources).toContainEqual(
        expect.objectContaining({ name: 'pods/eviction', group: 'policy', version: 'v1', kind: 'Eviction' }),
      );
      expect((await ask('/apis')).json.groups).toContainEqual(
        expect.objectContaining({ name: 'policy', preferredVersion: { groupVersion: 'policy/v1', version: 'v1' } }),
      );
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
      expect((await ask('/apis/apps/v1/namespaces/web/deployments/nobody')).json).toMatchObject({
        message: 'deployments.apps "nobody" not found',
        details: { name: 'nobody', group: 'apps', kind: 'deployments' },
      });
    });
    it('are text for what is not served at all', async () => {
      expect(await ask('/apis/nothing.example.com/v1/things')).toMatchObject({ status: 404, text: '404 page not found\n' });
    });
    it('tell a wrong token from none', async () => {
      const wrong = await ask('/api/v1/nodes', { headers: { Authorization: 'Bearer wrong' } });
      expect(wrong).toMatchObject({ status: 401, json: { kind: 'Status', reason: 'Unauthorized', message: 'Unauthorized', code: 401 } });
      const none = await fetch(`${server.url}/api/v1/nodes`);
      expect(none.status).toBe(403);
      expect(await none.json()).toMatchObject({
        reason: 'Forbidden',
        message: 'nodes is forbidden: User "system:anonymous" cannot list resource "nodes" in API group "" at the cluster scope',
        details: { kind: 'nodes' },
      });
    });
    it('name selectors that cannot be used', async () => {
      expect(await ask('/api/v1/pods?fieldSelector=spec.colour%3Dred')).toMatchObject({
        status: 400,
        json: { reason: 'BadRequest', message: 'field label not supported: spec.colour' },
      });
    });
  });

  describe('lists', () => {
    it('can be selected by labels and fields', async () => {
      const names = async (query: string) => (await list(`/api/v1/pods?${query}`)).map(({ metadata }) => metadata.name);
      expect(await names('fieldSelector=spec.nodeName%3Dcp-1')).toContain('etcd-cp-1');
      expect(await names('fieldSelector=spec.nodeName%3Dcp-1')).not.toContain('debug-shell');
      expect(await names('fieldSelector=status.phase%3DSucceeded')).toEqual(['migrate-28911']);
      expect(await names('labelSelector=run')).toEqual(['debug-shell']);
      expect(await names(`labelSelector=${encodeURIComponent('app in (postgres),app!=shop')}`)).toEqual(['postgres-0']);
    });
    it('come in pages', async () => {
      const first = (await ask('/api/v1/pods?limit=5')).json;
      expect(first.items).toHaveLength(5);
      expect(first.metadata).toMatchObject({ continue: expect.any(String), remainingItemCount: expect.any(Number) });
      const rest = (await ask(`/api/v1/pods?limit=500&continue=${first.metadata.continue}`)).json;
      expect(rest.items).toHaveLength(first.metadata.remainingItemCount);
      expect(rest.metadata.continue).toBeUndefined();
      expect(new Set([...first.items, ...rest.items].map(({ metadata }: Named) => metadata.uid)).size).toBe(rest.items.length + 5);
      expect((await ask('/api/v1/pods?limit=5&continue=rubbish')).status).toBe(400);
    });
  });

  describe('cordon', () => {
    it.each([
      ['merge', { spec: { unschedulable: true } }],
      ['strategic-merge', { spec: { unschedulable: true } }],
      ['json', [{ op: 'add', path: '/spec/unschedulable', value: true }]],
    ] as const)('works by a %s patch, and by a dry run not', async (type, body) => {
      const dry = await ask('/api/v1/nodes/worker-1?dryRun=All', { method: 'PATCH', body: JSON.stringify(body), patch: type });
      expect(dry).toMatchObject({ status: 200, json: { spec: { unschedulable: true } } });
      expect((await ask('/api/v1/nodes/worker-1')).json.spec.unschedulable).toBeUndefined();
      expect((await patchNode('worker-1', body, type)).status).toBe(200);
      await expect
        .poll(async () => (await ask('/api/v1/nodes/worker-1')).json.spec)
        .toMatchObject({ unschedulable: true, taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] });
      expect((await patchNode('worker-1', { spec: { unschedulable: null } }, 'merge')).json.spec.unschedulable).toBeUndefined();
    });
    it('is refused to who changes an older version', async () => {
      const answer = await patchNode('worker-1', { metadata: { resourceVersion: '1' }, spec: { unschedulable: true } }, 'merge');
      expect(answer).toMatchObject({
        status: 409,
        json: {
          reason: 'Conflict',
          message:
            'Operation cannot be fulfilled on nodes "worker-1": the object has been modified; please apply your changes to the latest version and try again',
        },
      });
    });
    it('refuses a body of another kind', async () => {
      expect(await ask('/api/v1/nodes/worker-1', { method: 'PATCH', body: '{}', headers: { 'Content-Type': 'text/plain' } })).toMatchObject(
        { status: 415, json: { reason: 'UnsupportedMediaType' } },
      );
    });
  });

  describe('watch', () => {
    const watch = async (path: string, until: (events: { type: string; object: Named }[]) => boolean, act: () => Promise<unknown>) => {
      const abort = new AbortController();
      const response = await fetch(`${server.url}${path}`, { headers: { Authorization: `Bearer ${server.token}` }, signal: abort.signal });
      const events: { type: string; object: Named }[] = [];
      const reading = (async () => {
        let rest = '';
        try {
          for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
            rest += new TextDecoder().decode(chunk);
            const lines = rest.split('\n');
            rest = lines.pop() ?? '';
            events.push(...lines.map((line) => JSON.parse(line)));
            if (until(events)) return;
          }
        } catch {
          // Ended below.
        }
      })();
      await act();
      await reading;
      abort.abort();
      return events;
    };
    it('streams changes from a version on, one JSON object a line', async () => {
      const { metadata } = (await ask('/api/v1/nodes')).json;
      const path = `/api/v1/nodes?watch=true&resourceVersion=${metadata.resourceVersion}&fieldSelector=metadata.name%3Dworker-1`;
      const events = await watch(
        path,
        (all) => all.length >= 2,
        async () => {
          await patchNode('worker-1', { metadata: { labels: { seen: 'yes' } } }, 'merge');
          await patchNode('worker-1', { metadata: { labels: { seen: null } } }, 'merge');
        },
      );
      expect(events.map(({ type }) => type)).toEqual(['MODIFIED', 'MODIFIED']);
      expect(events[0]?.object).toMatchObject({ kind: 'Node', apiVersion: 'v1', metadata: { name: 'worker-1', labels: { seen: 'yes' } } });
      expect(Number(events[1]?.object.metadata.resourceVersion)).toBeGreaterThan(Number(events[0]?.object.metadata.resourceVersion));
    });
    it('begins with everything where no version is named, and sets bookmarks', async () => {
      const events = await watch(
        '/api/v1/nodes?watch=1&allowWatchBookmarks=true&timeoutSeconds=1',
        () => false,
        async () => {},
      );
      expect(events.slice(0, 4).map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual([
        'ADDED cp-1',
        'ADDED worker-1',
        'ADDED worker-2',
        'ADDED worker-3',
      ]);
      expect(events.at(-1)).toMatchObject({
        type: 'BOOKMARK',
        object: { kind: 'Node', metadata: { resourceVersion: expect.any(String) } },
      });
    });
    it('says when a version is too old', async () => {
      const [event] = await watch(
        '/api/v1/nodes?watch=1&resourceVersion=5',
        (all) => all.length > 0,
        async () => {},
      );
      expect(event).toMatchObject({
        type: 'ERROR',
        object: { kind: 'Status', reason: 'Expired', code: 410, message: expect.stringMatching(/^too old resource version: 5 \(\d+\)$/) },
      });
    });
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
      expect((await ask('/api/v1/namespaces/policy/endpoints/policy-webhook')).json.subsets).toBeUndefined();
      expect((await ask('/api/v1/namespaces/web/endpoints/shop')).json.subsets[0].addresses.length).toBeGreaterThan(0);
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
    it('is the use of an API that goes, counted since the API server started, and warned of', async () => {
      const { text } = await ask('/metrics');
      expect(text).toMatch(
        /^apiserver_requested_deprecated_apis\{group="flowcontrol\.apiserver\.k8s\.io",removed_release="1\.32",resource="flowschemas",subresource="",version="v1beta3"\} 1$/m,
      );
      expect(text).toMatch(/^apiserver_request_total\{.*\} \d+$/m);
      expect(text).not.toContain('resource="prioritylevelconfigurations",subresource="",version="v1beta3"');
      const answer = await ask('/apis/flowcontrol.apiserver.k8s.io/v1beta3/prioritylevelconfigurations');
      expect(answer.headers.get('warning')).toMatch(
        /^299 - "flowcontrol\.apiserver\.k8s\.io\/v1beta3 PriorityLevelConfiguration is deprecated in v1\.29\+, unavailable in v1\.32\+; use /,
      );
      expect((await ask('/metrics')).text).toContain('resource="prioritylevelconfigurations",subresource="",version="v1beta3"');
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
    it('brings the mirror of a static pod back', async () => {
      const { json: before } = await ask('/api/v1/namespaces/kube-system/pods/etcd-cp-1');
      expect((await evict(before, { gracePeriodSeconds: 0 })).status).toBe(201);
      expect((await ask('/api/v1/namespaces/kube-system/pods/etcd-cp-1')).json.metadata.uid).not.toBe(before.metadata.uid);
    });
  });

  describe('objects', () => {
    it('are made, changed and removed', async () => {
      const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'notes' }, data: { a: '1' } });
      const made = await ask('/api/v1/namespaces/default/configmaps', { method: 'POST', body });
      expect(made).toMatchObject({ status: 201, json: { metadata: { name: 'notes', namespace: 'default', uid: expect.any(String) } } });
      expect(await ask('/api/v1/namespaces/default/configmaps', { method: 'POST', body })).toMatchObject({
        status: 409,
        json: { reason: 'AlreadyExists', message: 'configmaps "notes" already exists' },
      });
      const changed = await ask('/api/v1/namespaces/default/configmaps/notes', {
        method: 'PUT',
        body: JSON.stringify({ ...made.json, data: { a: '2' } }),
      });
      expect(changed).toMatchObject({ status: 200, json: { data: { a: '2' } } });
      const stale = await ask('/api/v1/namespaces/default/configmaps/notes', {
        method: 'PUT',
        body: JSON.stringify({ ...made.json, data: { a: '3' } }),
      });
      expect(stale).toMatchObject({ status: 409, json: { reason: 'Conflict' } });
      expect(await ask('/api/v1/namespaces/default/configmaps/notes', { method: 'DELETE' })).toMatchObject({
        status: 200,
        json: { status: 'Success' },
      });
      expect((await ask('/api/v1/namespaces/default/configmaps/notes')).status).toBe(404);
    });
    it('that are scaled get their pods', async () => {
      await ask('/apis/apps/v1/namespaces/web/deployments/cache', {
        method: 'PATCH',
        patch: 'merge',
        body: JSON.stringify({ spec: { replicas: 2 } }),
      });
      await expect
        .poll(async () => (await ask('/apis/apps/v1/namespaces/web/deployments/cache')).json.status, { timeout: 5000 })
        .toMatchObject({ readyReplicas: 2, replicas: 2, observedGeneration: 2 });
      const scale = await ask('/apis/apps/v1/namespaces/web/deployments/cache/scale', {
        method: 'PATCH',
        patch: 'merge',
        body: '{"spec":{"replicas":1}}',
      });
      expect(scale).toMatchObject({ status: 200, json: { kind: 'Scale', apiVersion: 'autoscaling/v1', spec: { replicas: 1 } } });
      expect((await ask('/apis/apps/v1/namespaces/web/deployments/cache')).json.spec.replicas).toBe(1);
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
          caName: 'ca',
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
      expect((await server.onNode('cp-1', 'etcdutl', 'snapshot', 'status', '/var/lib/backup/etcd.db')).stdout).toMatch(
        /^[0-9a-f]+, \d+, \d+, \d+ kB\n$/,
      );
      expect((await server.onNode('cp-1', 'etcdutl', 'snapshot', 'status', '/nothing.db')).exitCode).not.toBe(0);
      expect(JSON.parse((await server.onNode('cp-1', 'etcdctl', 'endpoint', 'health', '-w', 'json')).stdout)).toMatchObject([
        { health: true },
      ]);
      expect((await server.onNode('cp-1', 'etcdctl', 'endpoint', 'status', '-w', 'json')).stdout).toContain(
        '"member_id":10276657743932975437',
      );
    });
    it('goes one minor at a time, the control plane first', async () => {
      const { stdout } = await server.onNode('cp-1', 'kubeadm', 'upgrade', 'plan', 'v1.32.4', '-o', 'json');
      expect(JSON.parse(stdout)).toMatchObject({
        kind: 'UpgradePlan',
        apiVersion: 'output.kubeadm.k8s.io/v1alpha3',
        availableUpgrades: [
          {
            components: expect.arrayContaining([
              { name: 'kubelet', currentVersion: 'v1.29.14', newVersion: 'v1.32.4', nodeName: 'worker-3' },
            ]),
          },
        ],
      });
      const far = await server.onNode('cp-1', 'kubeadm', 'upgrade', 'apply', 'v1.33.1', '-y');
      expect(far.exitCode).toBe(1);
      expect(far.stderr).toContain('kubeadm can upgrade only 1 minor version at a time');
      // Each minor has a repository of its own.
      const absent = await server.onNode('worker-1', 'apt-get', 'install', '-y', 'kubelet=1.32.4-1.1');
      expect(absent).toMatchObject({ exitCode: 100, stderr: expect.stringContaining("'kubelet' was not found") });
      await server.onNode('worker-1', 'sed', '-i', 's#/v1\\.[0-9]*/#/v1.32/#', '/etc/apt/sources.list.d/kubernetes.list');
      await server.onNode('worker-1', 'apt-get', 'install', '-y', 'kubelet=1.32.4-1.1');
      expect((await server.onNode('worker-1', 'systemctl', 'restart', 'kubelet')).exitCode).toBe(1);
      expect((await ask('/version')).json.gitVersion).toBe('v1.31.6');
      expect((await server.onNode('cp-1', 'kubeadm', 'upgrade', 'apply', 'v1.32.4', '--dry-run')).exitCode).toBe(0);
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
