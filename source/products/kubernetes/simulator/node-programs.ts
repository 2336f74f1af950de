import { createHash } from 'node:crypto';
import { type ExecAnswer, failed, said } from '../../../practice/answers.ts';
import { isReady, minorOf, nodes, seconds } from './kube-object.ts';
import type { ObjectStore } from './object-store.ts';

export interface NodeSurroundings {
  store: ObjectStore;
  servers: readonly string[];
  apiServer(): string;
  configured(): string;
  upgradeControlPlane(version: string, server?: string): void;
  upgradeKubelet(node: string, version: string): void;
}

/** What can be run on the nodes of a cluster. Undefined for a program that is not there. */
export type Programs = Pick<NodePrograms, 'run'>;

/** The programs that an upgrade needs on a node; what they change is seen through the API. */
export class NodePrograms {
  /** The kubelet that is installed on a node, and not running yet. */
  readonly #installed = new Map<string, string>();
  /** By node, as `/v1.31/` of its address. */
  readonly #repositories = new Map<string, string>();
  readonly #snapshots = new Map<string, { revision: number; totalKey: number; totalSize: number }>();

  constructor(private readonly around: NodeSurroundings) {}

  run(node: string, [program = '', ...rest]: readonly string[]): Promise<ExecAnswer> | undefined {
    const name = program.split('/').at(-1) ?? '';
    const words = rest.filter((word) => !word.startsWith('-'));
    const programs: Readonly<Record<string, () => ExecAnswer>> = {
      kubeadm: () => this.#kubeadm(node, words, rest),
      etcdctl: () => this.#etcd(name, rest),
      etcdutl: () => this.#etcd(name, rest),
      'apt-get': () => this.#install(node, rest),
      systemctl: () => this.#restart(node, words),
      sed: () => this.#point(node, rest),
      // What prepares something and says nothing.
      'apt-mark': () => said(''),
      mkdir: () => said(''),
      // Compares a snapshot with its checksum.
      sh: () => (this.#snapshots.has(rest.at(-1) ?? '') ? said('') : failed(2, `sh: 1: cannot open ${rest.at(-1)}: No such file\n`)),
    };
    const answer = programs[name];
    return answer && Promise.resolve(answer());
  }

  #kubeadm(node: string, [topic, verb]: readonly string[], argv: readonly string[]): ExecAnswer {
    const { apiServer, servers, store, upgradeControlPlane, configured } = this.around;
    const running = apiServer();
    const wanted = argv.find((word) => /^v?1\.\d+\.\d+$/.test(word))?.replace(/^v?/, 'v');
    if (topic === 'version') return said(`${running}\n`);
    if (topic === 'certs') return said(JSON.stringify(this.#certificates()));
    if (topic !== 'upgrade') return failed(1, `unknown command ${JSON.stringify(topic)} for "kubeadm"\n`);
    if (verb === 'plan') {
      const component = { name: 'kube-apiserver', currentVersion: running, newVersion: wanted ?? `v1.${minorOf(running) + 1}.3` };
      return said(JSON.stringify({ kind: 'UpgradePlan', availableUpgrades: [{ components: [component] }] }));
    }
    if (verb === 'node') {
      // On a node of the control plane it brings its pods to what was applied.
      if (servers.includes(node)) upgradeControlPlane(configured(), node);
      return said('[upgrade/kubelet-config] The kubelet configuration for this node was successfully upgraded!\n');
    }
    if (!servers.includes(node)) return failed(1, '[upgrade/config] FATAL: this node is no control-plane node\n');
    if (wanted === undefined || verb !== 'apply')
      return failed(1, 'missing one or more required arguments. Required arguments: [version]\n');
    if (minorOf(wanted) > minorOf(running) + 1)
      return failed(1, `Specified version to upgrade to "${wanted}" is too high; kubeadm can upgrade only 1 minor version at a time\n`);
    if (minorOf(wanted) < minorOf(running))
      return failed(1, `Specified version to upgrade to "${wanted}" is lower than the current version\n`);
    if (!store.list(nodes).every(isReady)) return failed(2, '[ERROR ControlPlaneNodesReady]: there are NotReady Nodes in the cluster\n');
    upgradeControlPlane(wanted, node);
    return said(`[upgrade] SUCCESS! A control plane node of your cluster was upgraded to "${wanted}".\n`);
  }

  /** One leaf is about to end. */
  #certificates() {
    const entry = (name: string, days: number) => ({
      name,
      expirationDate: seconds(Date.now() + days * 86_400_000),
      residualTime: days * 86_400,
      externallyManaged: false,
      missing: false,
    });
    const leaves = 'admin.conf apiserver apiserver-etcd-client controller-manager.conf etcd-peer etcd-server scheduler.conf'.split(' ');
    return {
      certificates: [...leaves.map((name) => entry(name, 210)), entry('front-proxy-client', 19)],
      certificateAuthorities: ['ca', 'etcd-ca', 'front-proxy-ca'].map((name) => entry(name, 3400)),
    };
  }

  #etcd(program: string, argv: readonly string[]): ExecAnswer {
    const { store } = this.around;
    const words = argv.filter(
      (word, index) => !word.startsWith('-') && !/^--(?:cacert|cert|key|endpoints)$|^-w$/.test(argv[index - 1] ?? ''),
    );
    const [topic, verb, file = ''] = words;
    switch (`${topic} ${verb ?? ''}`.trim()) {
      case 'version':
        return said(`${program} version: 3.5.16\nAPI version: 3.5\n`);
      case 'snapshot save':
        if (!file.startsWith('/')) return failed(5, `Error: could not open ${file}.part (open ${file}.part: no such file or directory)\n`);
        this.#snapshots.set(file, { revision: store.version, totalKey: store.count, totalSize: 20_480 + store.count * 2048 });
        return said(`Snapshot saved at ${file}\n`);
      case 'snapshot status': {
        const known = this.#snapshots.get(file);
        if (known === undefined) return failed(1, `Error: stat ${file}: no such file or directory\n`);
        const digest = createHash('sha256').update(file + known.revision);
        return said(JSON.stringify({ hash: digest.digest().readUInt32BE(0), ...known }));
      }
      case 'endpoint status':
        // Ids are greater than what a double holds.
        return said(`[{"Status":{"header":{"member_id":10276657743932975437,"revision":${store.version}},"version":"3.5.16"}}]\n`);
      case 'alarm list':
        return said('');
      default:
        return failed(1, `Error: unknown command ${JSON.stringify(words.join(' '))} for ${JSON.stringify(program)}\n`);
    }
  }

  /** The package repository of a node serves one minor: that of its kubelet, until it is pointed to another. */
  #repositoryOf(node: string): string {
    return this.#repositories.get(node) ?? `/v1.${minorOf(this.around.store.get(nodes, node).status.nodeInfo.kubeletVersion)}/`;
  }

  #point(node: string, argv: readonly string[]): ExecAnswer {
    const [, pattern, replacement = ''] = /s#([^#]*)#([^#]*)#/.exec(argv.join(' ')) ?? [];
    if (pattern === undefined) return failed(1, 'sed: no script specified\n');
    this.#repositories.set(node, this.#repositoryOf(node).replace(new RegExp(pattern), replacement));
    return said('');
  }

  #install(node: string, argv: readonly string[]): ExecAnswer {
    const served = this.#repositoryOf(node);
    const absent = argv.find((word) => /^\w+=1\.\d+\./.test(word) && !served.startsWith(`/v${/=(1\.\d+)\./.exec(word)?.[1]}/`));
    if (absent !== undefined) return failed(100, `E: Version '${absent.split('=')[1]}' for '${absent.split('=')[0]}' was not found\n`);
    const version = argv.map((word) => /^kubelet=(1\.\d+\.\d+)/.exec(word)?.[1]).find(Boolean);
    if (version === undefined) return said('0 upgraded, 0 newly installed, 0 to remove and 0 not upgraded.\n');
    this.#installed.set(node, `v${version}`);
    return said(`Setting up kubelet (${version}-1.1) ...\n`);
  }

  #restart(node: string, words: readonly string[]): ExecAnswer {
    if (words[0] !== 'restart' || words[1] !== 'kubelet') return said('');
    const current = this.around.store.get(nodes, node).status.nodeInfo.kubeletVersion as string;
    try {
      this.around.upgradeKubelet(node, this.#installed.get(node) ?? current);
    } catch (error) {
      return failed(1, `Job for kubelet.service failed: ${error instanceof Error ? error.message : ''}\n`);
    }
    return said('');
  }
}
