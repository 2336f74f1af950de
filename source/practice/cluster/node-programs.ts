import { createHash } from 'node:crypto';
import { nodes } from './controllers.ts';
import type { Maker } from './makers.ts';
import type { ObjectStore } from './object-store.ts';
import { minorOf, resources } from './resources.ts';
import { controlPlane } from './scenery.ts';
import { VendorPrograms } from './vendor-programs.ts';

export interface NodeAnswer {
  exitCode: number;
  stdout: string;
  stderr: string;
}

export interface NodeSurroundings {
  store: ObjectStore;
  maker: Maker;
  servers: readonly string[];
  apiServer(): string;
  configured(): string;
  upgradeControlPlane(version: string, server?: string): void;
  upgradeKubelet(node: string, version: string): void;
}

export const said = (stdout: string, stderr = ''): NodeAnswer => ({ exitCode: 0, stdout, stderr });
export const failed = (exitCode: number, stderr: string, stdout = ''): NodeAnswer => ({ exitCode, stdout, stderr });
const versionIn = (argv: readonly string[]): string | undefined => argv.find((word) => /^v?1\.\d+\.\d+$/.test(word))?.replace(/^v?/, 'v');

/** The programs that an upgrade needs on a node; what they change is seen through the API. */
export class NodePrograms {
  readonly #around: NodeSurroundings;
  /** The kubelet that is installed on a node, and not running yet. */
  readonly #installed = new Map<string, string>();
  /** By node, as `/v1.31/` of its address. */
  readonly #repositories = new Map<string, string>();
  readonly #snapshots = new Map<string, { revision: number; totalKey: number; totalSize: number }>();

  readonly #vendor: VendorPrograms;

  constructor(around: NodeSurroundings) {
    this.#around = around;
    this.#vendor = new VendorPrograms(around);
  }

  run(node: string, argv: readonly string[]): Promise<NodeAnswer> | undefined {
    const [program = '', ...rest] = argv;
    const words = rest.filter((word) => !word.startsWith('-'));
    if (this.#around.maker !== 'kubeadm') {
      const answer = this.#vendor.run(node, program.split('/').at(-1) ?? '', rest);
      return answer && Promise.resolve(answer);
    }
    switch (program.split('/').at(-1)) {
      case 'kubeadm':
        return Promise.resolve(this.#kubeadm(node, words, rest));
      case 'etcdctl':
      case 'etcdutl':
        return Promise.resolve(this.#etcd(program.split('/').at(-1) ?? '', rest));
      case 'apt-get':
        return Promise.resolve(this.#install(node, rest));
      case 'systemctl':
        return Promise.resolve(this.#restart(node, words));
      case 'sed':
        return Promise.resolve(this.#point(node, rest));
      // What prepares something and says nothing.
      case 'apt-mark':
      case 'mkdir':
        return Promise.resolve(said(''));
      default:
        return undefined;
    }
  }

  #kubeadm(node: string, words: readonly string[], argv: readonly string[]): NodeAnswer {
    const running = this.#around.apiServer();
    const json = argv.some(
      (word, index) =>
        word === '-o=json' || word === '--output=json' || (word === 'json' && /^(?:-o|--output)$/.test(argv[index - 1] ?? '')),
    );
    if (words[0] === 'version') return said(`${running}\n`);
    if (words[0] === 'certs' && words[1] === 'check-expiration')
      return said(
        json
          ? `${JSON.stringify(this.#certificates(), undefined, 4)}\n`
          : '[check-expiration] Reading configuration from the "kubeadm-config" ConfigMap in namespace "kube-system"...\n',
      );
    if (words[0] !== 'upgrade')
      return failed(
        1,
        `unknown command ${JSON.stringify(words[0] ?? '')} for "kubeadm"\nTo see the stack trace of this error execute with --v=5 or higher\n`,
      );
    const wanted = versionIn(argv);
    if (words[1] === 'plan')
      return said(
        json
          ? `${JSON.stringify(this.#plan(wanted ?? nextMinor(running)), undefined, 4)}\n`
          : `[upgrade/versions] Cluster version: ${running.slice(1)}\n[upgrade/versions] Target version: ${wanted ?? nextMinor(running)}\n`,
      );
    if (words[1] === 'node') {
      // On a node of the control plane it brings its pods to what was applied.
      if (this.#around.servers.includes(node)) this.#around.upgradeControlPlane(this.#around.configured(), node);
      return said(
        `[upgrade] Reading configuration from the "kubeadm-config" ConfigMap in namespace "kube-system"...\n[upgrade/kubelet-config] The kubelet configuration for this node was successfully upgraded!\n`,
      );
    }
    if (words[1] !== 'apply') return failed(1, 'missing subcommand; "upgrade" is not meant to be run on its own\n');
    if (!this.#around.servers.includes(node)) return failed(1, '[upgrade/config] FATAL: this node is no control-plane node\n');
    if (wanted === undefined) return failed(1, 'missing one or more required arguments. Required arguments: [version]\n');
    if (minorOf(wanted) > minorOf(running) + 1)
      return failed(
        1,
        `[upgrade/version] FATAL: the --version argument is invalid due to these fatal errors:\n\n\t- Specified version to upgrade to ${JSON.stringify(wanted)} is too high; kubeadm can upgrade only 1 minor version at a time\n\nPlease fix the misalignments highlighted above and try upgrading again\n`,
      );
    if (minorOf(wanted) < minorOf(running))
      return failed(
        1,
        `[upgrade/version] FATAL: the --version argument is invalid due to these fatal errors:\n\n\t- Specified version to upgrade to ${JSON.stringify(wanted)} is lower than the current version\n`,
      );
    const ready = this.#around.store
      .list(nodes)
      .every((each) =>
        (each.status.conditions as { type: string; status: string }[]).some(({ type, status }) => type === 'Ready' && status === 'True'),
      );
    if (!ready && !argv.some((word) => word.startsWith('--ignore-preflight-errors')))
      return failed(
        2,
        '[preflight] Some fatal errors occurred:\n\t[ERROR ControlPlaneNodesReady]: there are NotReady Nodes in the cluster\n[preflight] If you know what you are doing, you can make a check non-fatal with `--ignore-preflight-errors=...`\n',
      );
    if (argv.includes('--dry-run')) return said(`[upgrade/successful] Finished dryrunning successfully!\n`);
    this.#around.upgradeControlPlane(wanted, node);
    return said(
      `[upgrade] SUCCESS! A control plane node of your cluster was upgraded to ${JSON.stringify(wanted)}.\n\n[upgrade] Now please proceed with upgrading the rest of the nodes by following the right order.\n`,
    );
  }

  #plan(target: string) {
    const running = this.#around.apiServer();
    const components = [
      ...this.#around.store.list(nodes).map(({ metadata, status }) => ({
        name: 'kubelet',
        currentVersion: status.nodeInfo.kubeletVersion as string,
        newVersion: target,
        nodeName: metadata.name,
      })),
      ...['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'].map((name) => ({
        name,
        currentVersion: running,
        newVersion: target,
        nodeName: controlPlane,
      })),
      { name: 'kube-proxy', currentVersion: running, newVersion: target },
      { name: 'CoreDNS', currentVersion: 'v1.11.3', newVersion: 'v1.11.3' },
      { name: 'kubeadm', currentVersion: running, newVersion: target },
      { name: 'etcd', currentVersion: '3.5.16-0', newVersion: '3.5.16-0', nodeName: controlPlane },
    ];
    return {
      kind: 'UpgradePlan',
      apiVersion: 'output.kubeadm.k8s.io/v1alpha3',
      availableUpgrades: [
        {
          description: minorOf(target) === minorOf(running) ? `version in the v1.${minorOf(running)} series` : 'stable version',
          components,
        },
      ],
      configVersions: [
        { group: 'kubeproxy.config.k8s.io', currentVersion: 'v1alpha1', preferredVersion: 'v1alpha1', manualUpgradeRequired: false },
        { group: 'kubelet.config.k8s.io', currentVersion: 'v1beta1', preferredVersion: 'v1beta1', manualUpgradeRequired: false },
      ],
    };
  }

  /** One leaf is about to end. */
  #certificates() {
    const leaf = (name: string, days: number, caName = 'ca') => ({
      name,
      ...this.#ending(days),
      externallyManaged: false,
      caName,
      missing: false,
    });
    const authority = (name: string) => ({ name, ...this.#ending(3400), externallyManaged: false, missing: false });
    return {
      kind: 'CertificateExpirationInfo',
      apiVersion: 'output.kubeadm.k8s.io/v1alpha3',
      certificates: [
        leaf('admin.conf', 210),
        leaf('apiserver', 210),
        leaf('apiserver-etcd-client', 210, 'etcd-ca'),
        leaf('apiserver-kubelet-client', 210),
        leaf('controller-manager.conf', 210),
        leaf('etcd-healthcheck-client', 210, 'etcd-ca'),
        leaf('etcd-peer', 210, 'etcd-ca'),
        leaf('etcd-server', 210, 'etcd-ca'),
        leaf('front-proxy-client', 19, 'front-proxy-ca'),
        leaf('scheduler.conf', 210),
        leaf('super-admin.conf', 210),
      ],
      certificateAuthorities: [authority('ca'), authority('etcd-ca'), authority('front-proxy-ca')],
    };
  }

  #ending(days: number) {
    const ms = this.#around.store.now() + days * 86_400_000;
    return { expirationDate: new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z'), residualTime: days * 86_400 };
  }

  #etcd(program: string, argv: readonly string[]): NodeAnswer {
    const words = argv.filter(
      (word, index) =>
        !word.startsWith('-') && !/^--(?:cacert|cert|key|endpoints|data-dir)$|^-w$|^--write-out$/.test(argv[index - 1] ?? ''),
    );
    const json = argv.some((word, index) => /=json$/.test(word) || (word === 'json' && /^(?:-w|--write-out)$/.test(argv[index - 1] ?? '')));
    const [topic, verb, file = ''] = words;
    if (topic === 'version')
      return said(program === 'etcdctl' ? 'etcdctl version: 3.5.16\nAPI version: 3.5\n' : 'etcdutl version: 3.5.16\nAPI version: 3.5\n');
    const endpoint = 'https://127.0.0.1:2379';
    const keys = resources.reduce((sum, resource) => sum + this.#around.store.list(resource).length, 0);
    if (topic === 'snapshot' && verb === 'save' && program === 'etcdctl') {
      if (!file.startsWith('/')) return failed(5, `Error: could not open ${file}.part (open ${file}.part: no such file or directory)\n`);
      this.#snapshots.set(file, { revision: this.#around.store.version, totalKey: keys, totalSize: 20_480 + keys * 2048 });
      return said(
        `Snapshot saved at ${file}\n`,
        `{"level":"info","caller":"snapshot/v3_snapshot.go:65","msg":"created temporary db file","path":"${file}.part"}\n`,
      );
    }
    if (topic === 'snapshot' && verb === 'status') {
      const known = this.#snapshots.get(file);
      if (known === undefined) return failed(1, `Error: stat ${file}: no such file or directory\n`);
      const hash = createHash('sha256')
        .update(file + known.revision)
        .digest()
        .readUInt32BE(0);
      const human = `${hash.toString(16)}, ${known.revision}, ${known.totalKey}, ${Math.round(known.totalSize / 1000)} kB\n`;
      return said(json ? `${JSON.stringify({ hash, ...known })}\n` : human);
    }
    if (topic === 'endpoint' && verb === 'health')
      return said(
        json
          ? `${JSON.stringify([{ endpoint, health: true, took: '7.2ms' }])}\n`
          : `${endpoint} is healthy: successfully committed proposal: took = 7.2ms\n`,
      );
    if (topic === 'endpoint' && verb === 'status') {
      // Ids are greater than what a double holds.
      return said(
        `[{"Endpoint":"${endpoint}","Status":{"header":{"cluster_id":14841639068965178418,"member_id":10276657743932975437,"revision":${this.#around.store.version},"raft_term":3},"version":"3.5.16","dbSize":${20_480 + keys * 2048},"leader":10276657743932975437,"raftIndex":${this.#around.store.version + 900},"raftTerm":3}}]\n`,
      );
    }
    if (topic === 'alarm' && verb === 'list') return said('');
    return failed(1, `Error: unknown command ${JSON.stringify(words.join(' '))} for ${JSON.stringify(program)}\n`);
  }

  /** The package repository of a node serves one minor: that of its kubelet, until it is pointed to another. */
  #repositoryOf(node: string): string {
    return this.#repositories.get(node) ?? `/v1.${minorOf(this.#around.store.get(nodes, node).status.nodeInfo.kubeletVersion)}/`;
  }

  #point(node: string, argv: readonly string[]): NodeAnswer {
    const [, pattern, replacement = ''] = /s#([^#]*)#([^#]*)#/.exec(argv.join(' ')) ?? [];
    if (pattern === undefined) return failed(1, 'sed: no script specified\n');
    this.#repositories.set(node, this.#repositoryOf(node).replace(new RegExp(pattern), replacement));
    return said('');
  }

  #install(node: string, argv: readonly string[]): NodeAnswer {
    const served = this.#repositoryOf(node);
    const absent = argv.find((word) => /^\w+=1\.\d+\./.test(word) && !served.startsWith(`/v${/=(1\.\d+)\./.exec(word)?.[1]}/`));
    if (absent !== undefined) return failed(100, `E: Version '${absent.split('=')[1]}' for '${absent.split('=')[0]}' was not found\n`);
    const version = argv.map((word) => /^kubelet=(1\.\d+\.\d+)/.exec(word)?.[1]).find(Boolean);
    if (version === undefined) return said('0 upgraded, 0 newly installed, 0 to remove and 0 not upgraded.\n');
    this.#installed.set(node, `v${version}`);
    return said(`Setting up kubelet (${version}-1.1) ...\n`);
  }

  #restart(node: string, words: readonly string[]): NodeAnswer {
    if (words[0] !== 'restart' || words[1] !== 'kubelet') return said('');
    const current = this.#around.store.get(nodes, node).status.nodeInfo.kubeletVersion as string;
    try {
      this.#around.upgradeKubelet(node, this.#installed.get(node) ?? current);
    } catch (error) {
      return failed(1, `Job for kubelet.service failed: ${error instanceof Error ? error.message : ''}\n`);
    }
    return said('');
  }
}

const nextMinor = (version: string): string => `v1.${minorOf(version) + 1}.3`;
