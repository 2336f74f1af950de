import { randomBytes } from 'node:crypto';
import type { PracticeProduct, ProductSurroundings } from '../practice.ts';
import type { ApiServer, Forbidden } from './api-request.ts';
import { apiListener } from './api-server.ts';
import { Controllers, nodes, type Pace, pods } from './controllers.ts';
import { kubeconfigText } from './kubeconfig.ts';
import { type Maker, makers } from './makers.ts';
import { type NodeAnswer, NodePrograms } from './node-programs.ts';
import { ObjectStore, seconds } from './object-store.ts';
import { RequestTally } from './request-tally.ts';
import { minorOf, resourceOf } from './resources.ts';
import { buildScenery, controlPlane, imageOf, readyCondition, workers } from './scenery.ts';

export interface ClusterOptions extends Partial<Pace> {
  /** The release of the control plane. `v1.31.6` by default; the workers are up to two minors behind. */
  version?: string;
  /** kubeadm by default. */
  maker?: Maker;
  /** Nodes of the control plane: `cp-1`, `cp-2`. One by default. */
  servers?: number;
  /** Lets everybody in without a token. False by default. */
  open?: boolean;
  /** Rights that the operator lacks. */
  forbidden?: readonly Forbidden[];
  /** API groups whose backend is away: they are listed, and answer 503. */
  away?: readonly string[];
  /** How long every answer takes, but for health and version. */
  delayMs?: number;
  /** How long a node takes to come back after its kubelet was restarted. 4 s by default. */
  nodeRestartMs?: number;
  /** Pods besides the scenery, spread over the workers. */
  morePods?: number;
  /** Between two bookmarks of a watch; 60 s by default. */
  bookmarkMs?: number;
}

export interface PracticeCluster {
  readonly product: PracticeProduct;
  readonly token: string;
  readonly store: ObjectStore;
  kubeconfig(serverUrl: string, caPem?: string): string;
  /** Runs a program on a node as its root would: kubeadm, etcdctl, etcdutl, apt-get, systemctl, k3s, talosctl. Undefined for any other. */
  onNode(node: string, argv: readonly string[]): Promise<NodeAnswer> | undefined;
  /** A new release of a node of the control plane, the first one by default: its API server is back with it at once, its counts are not. */
  upgradeControlPlane(version: string, server?: string): void;
  /** From now on the API server of this node of the control plane answers, as behind a load balancer. `cp-1` did. */
  answerFrom(server: string): void;
  /** A new release of a node's kubelet: the node is not ready while it restarts. Throws when it would be newer than the API server. */
  upgradeKubelet(node: string, version: string): void;
  /** Lets a check of the health pages fail, or recover: `etcd`. */
  fail(check: string, failing: boolean): void;
}

/** The port of the API server. */
export const clusterPort = 6443;

const leases = resourceOf('coordination.k8s.io', 'leases');
const daemonSets = resourceOf('apps', 'daemonsets');

/**
 * A Kubernetes API server with one control-plane node and three workers, for the upgrade walk. Made after the reference sheet: there is no
 * real one to hold it to. What it stores outlives a restart of its container, what its API server counted does not.
 */
export function createCluster(options: ClusterOptions = {}): PracticeCluster {
  const token = randomBytes(24).toString('base64url');
  const store = new ObjectStore();
  const controllers = new Controllers(store, { podStartMs: options.podStartMs ?? 1500, terminationMs: options.terminationMs ?? 2000 });
  const nodeRestartMs = options.nodeRestartMs ?? 4000;
  const health = { failing: new Set<string>() };
  const maker = makers[options.maker ?? 'kubeadm'];
  const version = options.version ?? `v1.31.6${maker.suffix}`;
  let surroundings: ProductSurroundings | undefined;
  let run = new AbortController();
  let built = false;

  const behind = (minors: number, patch: number): string =>
    maker.lagging ? `v1.${minorOf(version) - minors}.${patch}${maker.suffix}` : version;
  const servers = Array.from({ length: options.servers ?? 1 }, (_, index) => `cp-${index + 1}`);
  let answering: string = controlPlane;
  /** What each API server runs, by node. */
  const running = new Map(servers.map((server) => [server, version]));
  /** What kubeadm's configuration of the cluster names: the last release that was applied. */
  let configured = version;
  const answers = () => running.get(answering) ?? version;
  const kubelets = { [workers[1]]: behind(1, 10), [workers[2]]: behind(2, 14) };

  const api: ApiServer = {
    store,
    controllers,
    health,
    tally: new RequestTally(),
    token,
    open: options.open ?? false,
    forbidden: options.forbidden ?? [],
    away: options.away ?? [],
    delayMs: options.delayMs ?? 0,
    bookmarkMs: options.bookmarkMs ?? 60_000,
    signal: () => run.signal,
    version: answers,
  };

  /** klog's line: `I1120 13:15:41.123456       1 server.go:240] words`. */
  const log = (level: 'I' | 'W' | 'E', from: string, words: string, ms = store.now()): void => {
    const stamp = new Date(ms).toISOString();
    surroundings?.log(
      `${level}${stamp.slice(5, 7)}${stamp.slice(8, 10)} ${stamp.slice(11, 23)}000       1 ${from}] ${words}`,
      'stderr',
      ms,
    );
  };

  const beat = (): void => {
    for (const lease of store.list(leases, 'kube-node-lease')) {
      store.update(leases, lease, (copy) => {
        copy.spec.renewTime = new Date(store.now()).toISOString();
      });
    }
    controllers.after(10_000, beat);
  };

  const upgradeControlPlane = (next: string, server = controlPlane): void => {
    for (const { name, image } of maker.staticPods(next)) {
      const pod = store.find(pods, `${name}-${server}`, 'kube-system');
      if (pod !== undefined) {
        store.update(pods, pod, (copy) => {
          copy.spec.containers[0].image = image;
          if (copy.status.containerStatuses?.[0]) copy.status.containerStatuses[0].image = image;
        });
      }
    }
    running.set(server, next);
    configured = next;
    if (server !== answering) return;
    const proxy = store.find(daemonSets, 'kube-proxy', 'kube-system');
    if (proxy !== undefined) {
      store.update(daemonSets, proxy, (copy) => {
        copy.spec.template.spec.containers[0].image = imageOf('kube-proxy', next);
      });
    }
    api.tally = new RequestTally();
    log('I', 'options.go:228', `external host was not specified, using 10.0.0.10`);
    log('I', 'server.go:143', `Version: ${next}`);
  };

  const upgradeKubelet = (name: string, next: string): void => {
    // Where control plane and kubelet are one program, a server asks its own API server; others may be led to any of them.
    const own = maker.proxied ? undefined : running.get(name);
    const asked = own === undefined ? [...running.values()] : [own];
    const older = asked.find((each) => minorOf(next) > minorOf(each));
    if (older !== undefined) throw new Error(`kubelet ${next} is newer than the API server ${older}`);
    const node = store.get(nodes, name);
    const settle = (ready: boolean) => {
      store.update(nodes, node, (copy) => {
        const others = copy.status.conditions.filter(({ type }: { type: string }) => type !== 'Ready');
        copy.status.conditions = [...others, readyCondition(ready, seconds(store.now()))];
        if (ready) copy.status.nodeInfo = { ...copy.status.nodeInfo, kubeletVersion: next, kubeProxyVersion: next };
      });
    };
    log('W', 'node_lifecycle_controller.go:1041', `"Node NotReady" node="${name}"`);
    settle(false);
    controllers.after(nodeRestartMs, () => settle(true));
  };

  const programs = new NodePrograms({
    store,
    maker: options.maker ?? 'kubeadm',
    servers,
    apiServer: answers,
    configured: () => configured,
    upgradeControlPlane,
    upgradeKubelet,
  });

  const product: PracticeProduct = {
    listeners: { [clusterPort]: apiListener(api) },
    start(given) {
      surroundings = given;
      store.now = given.now;
      run = new AbortController();
      given.signal.addEventListener('abort', () => run.abort(), { once: true });
      if (!built) {
        built = true;
        buildScenery(store, { apiServer: version, kubelets, servers, maker }, options.morePods ?? 0);
      }
      api.tally = new RequestTally();
      // Some old program in the cluster reads what the next release no longer serves.
      api.tally.deprecated(resourceOf('flowcontrol.apiserver.k8s.io', 'flowschemas'));
      log('I', 'server.go:143', `Version: ${answers()}`, given.startedMs);
      log('I', 'secure_serving.go:213', `Serving securely on [::]:${clusterPort}`, given.startedMs);
      controllers.start();
      controllers.after(10_000, beat);
    },
    stop() {
      log('I', 'genericapiserver.go:548', '"[graceful-termination] shutdown event" name="ShutdownInitiated"');
      controllers.stop();
      run.abort();
    },
    exec: (argv) => programs.run(controlPlane, argv),
    onNode: (node, argv) => programs.run(node, argv),
    incidents: [
      {
        name: 'node-not-ready',
        title: 'A node that is not ready',
        summary: 'The kubelet of worker-2 stops reporting; the node is not ready for a minute.',
        play: () => {
          const node = store.get(nodes, workers[1]);
          const settle = (ready: boolean) =>
            store.update(nodes, node, (copy) => {
              const others = copy.status.conditions.filter(({ type }: { type: string }) => type !== 'Ready');
              copy.status.conditions = [...others, readyCondition(ready, seconds(store.now()))];
            });
          log('W', 'node_lifecycle_controller.go:1041', `"Node NotReady" node="${workers[1]}"`);
          settle(false);
          controllers.after(60_000, () => settle(true));
        },
      },
    ],
  };

  return {
    product,
    token,
    store,
    kubeconfig: (serverUrl, caPem) => kubeconfigText(serverUrl, token, caPem),
    onNode: (node, argv) => programs.run(node, argv),
    upgradeControlPlane,
    answerFrom: (server) => {
      answering = server;
    },
    upgradeKubelet,
    fail: (check, failing) => {
      if (failing) health.failing.add(check);
      else health.failing.delete(check);
    },
  };
}
