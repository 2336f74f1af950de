import { randomBytes } from 'node:crypto';
import { stringify } from 'yaml';
import type { PracticeProduct, ProductSurroundings } from '../../../practice/practice.ts';
import { type ApiServer, apiListener } from './api.ts';
import { Controllers, type Pace } from './controllers.ts';
import { minorOf, nodes, pods, seconds } from './kube-object.ts';
import { NodePrograms } from './node-programs.ts';
import { type BuilderFacts, kubeadm } from './object-builders.ts';
import { ObjectStore } from './object-store.ts';
import { buildScenery, controlPlane, imageOf, readyCondition, workers } from './scenery.ts';

export interface ClusterOptions extends Partial<Pace & Pick<ApiServer, 'forbidden' | 'away' | 'delayMs'>> {
  /** The release of the control plane. `v1.31.6` by default; the workers are up to two minors behind. */
  version?: string;
  maker?: BuilderFacts;
  /** Nodes of the control plane: `cp-1`, `cp-2`. One by default. */
  servers?: number;
  /** How long a node takes to come back after its kubelet was restarted. 4 s by default. */
  nodeRestartMs?: number;
  /** Pods besides the scenery, spread over the workers. */
  morePods?: number;
}

export type PracticeCluster = ReturnType<typeof createCluster>;

export const clusterPort = 6443;

/** Made after the reference sheet: there is no real cluster to hold it to. It keeps its objects over a restart, its counters not. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: everything in it shares the state of one cluster
export function createCluster(options: ClusterOptions = {}) {
  const token = randomBytes(24).toString('base64url');
  const store = new ObjectStore();
  const { podStartMs = 1500, terminationMs = 2000, nodeRestartMs = 4000, maker = kubeadm } = options;
  const { forbidden = [], away = [], delayMs = 0 } = options;
  const controllers = new Controllers(store, { podStartMs, terminationMs });
  const version = options.version ?? `v1.31.6${maker.suffix}`;
  let surroundings: ProductSurroundings | undefined;
  let built = false;

  const behind = (minors: number, patch: number): string =>
    maker.lagging ? `v1.${minorOf(version) - minors}.${patch}${maker.suffix}` : version;
  const servers = Array.from({ length: options.servers ?? 1 }, (_, index) => `cp-${index + 1}`);
  let answering: string = controlPlane;
  const running = new Map(servers.map((server) => [server, version]));
  /** What kubeadm's configuration of the cluster names: the last release that was applied. */
  let configured = version;
  const answers = () => running.get(answering) ?? version;
  const kubelets = { [workers[1]]: behind(1, 10), [workers[2]]: behind(2, 14) };

  const api: ApiServer = { store, controllers, token, forbidden, away, delayMs, requests: new Map(), version: answers };

  /** A line of klog. */
  const logVersion = (version: string, ms = Date.now()): void => {
    const stamp = new Date(ms).toISOString();
    const heading = `I${stamp.slice(5, 7)}${stamp.slice(8, 10)} ${stamp.slice(11, 23)}000       1 server.go:143]`;
    surroundings?.log(`${heading} Version: ${version}`, 'stderr', ms);
  };

  const setImage = (pod: string, image: string): void => {
    const found = store.find(pods, pod, 'kube-system');
    if (!found) return;
    store.update(pods, found, (copy) => {
      copy.spec.containers[0].image = image;
      copy.status.containerStatuses[0].image = image;
    });
  };

  /** A new release of a node of the control plane: its API server is back with it at once, its counts are not. */
  const upgradeControlPlane = (next: string, server = controlPlane): void => {
    for (const { name, image } of maker.staticPods(next)) setImage(`${name}-${server}`, image);
    running.set(server, next);
    configured = next;
    if (server !== answering) return;
    for (const { metadata } of store.list(pods, 'kube-system'))
      if (metadata.labels?.app === 'kube-proxy') setImage(metadata.name, imageOf('kube-proxy', next));
    api.requests.clear();
    logVersion(next);
  };

  const setReady = (name: string, ready: boolean, kubelet?: string): void => {
    store.update(nodes, store.get(nodes, name), (copy) => {
      const others = copy.status.conditions.filter(({ type }: { type: string }) => type !== 'Ready');
      copy.status.conditions = [...others, readyCondition(ready, seconds(Date.now()))];
      if (kubelet) copy.status.nodeInfo = { ...copy.status.nodeInfo, kubeletVersion: kubelet, kubeProxyVersion: kubelet };
    });
  };

  const restarts = new Map<string, number>();
  /** A new release of a kubelet: the node is not ready while it restarts. Throws when it would be newer than the API server. */
  const upgradeKubelet = (name: string, next: string): void => {
    // Where control plane and kubelet are one program, a server asks its own API server; others may be led to any of them.
    const own = maker.proxied ? undefined : running.get(name);
    const asked = own === undefined ? [...running.values()] : [own];
    const older = asked.find((each) => minorOf(next) > minorOf(each));
    if (older !== undefined) throw new Error(`kubelet ${next} is newer than the API server ${older}`);
    setReady(name, false);
    // A restart during a restart replaces it: a kubelet that reported ready in between would be one that is gone.
    const restart = (restarts.get(name) ?? 0) + 1;
    restarts.set(name, restart);
    controllers.after(nodeRestartMs, () => {
      if (restarts.get(name) === restart) setReady(name, true, next);
    });
  };

  const around = { store, servers, apiServer: answers, configured: () => configured, upgradeControlPlane, upgradeKubelet };
  const programs = maker.programs?.(around) ?? new NodePrograms(around);

  const onNode = (node: string, argv: readonly string[]) => programs.run(node, argv);

  const product: PracticeProduct = {
    listeners: { [clusterPort]: apiListener(api) },
    start(given) {
      surroundings = given;
      if (!built) {
        built = true;
        buildScenery(store, { apiServer: version, kubelets, servers, maker }, options.morePods ?? 0);
      }
      api.requests.clear();
      // Some old program in the cluster reads what the next release no longer serves.
      api.requests.set('flowcontrol.apiserver.k8s.io v1beta3 flowschemas', 1);
      logVersion(answers(), given.startedMs);
      controllers.start();
    },
    stop() {
      controllers.stop();
    },
    exec: (argv) => onNode(controlPlane, argv),
    onNode,
    play(incident) {
      if (incident !== 'node-not-ready') return;
      setReady(workers[1], false);
      controllers.after(60_000, () => setReady(workers[1], true));
    },
  };

  const kubeconfig = (server: string): string =>
    stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'practice', cluster: { server } }],
      users: [{ name: 'practice', user: { token } }],
      contexts: [{ name: 'practice', context: { cluster: 'practice', user: 'practice', namespace: 'default' } }],
      'current-context': 'practice',
    });
  /** From now on the API server of this node of the control plane answers, as behind a load balancer. `cp-1` did. */
  const answerFrom = (server: string): void => {
    answering = server;
  };
  return { product, token, store, kubeconfig, onNode, answerFrom, upgradeControlPlane };
}
