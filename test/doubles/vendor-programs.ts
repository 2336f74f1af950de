import { randomBytes } from 'node:crypto';
import { type ExecAnswer, failed, said } from '../../source/practice/answers.ts';
import { minorOf, nodes, resourceOf, seconds, versionsOf } from '../../source/products/kubernetes/simulator/kube-object.ts';
import type { NodeSurroundings, Programs } from '../../source/products/kubernetes/simulator/node-programs.ts';
import type { Maker } from './cluster-makers.ts';

const configMaps = resourceOf('', 'configmaps');
const snapshotFiles = resourceOf('k3s.cattle.io', 'etcdsnapshotfiles');
const database = '/var/lib/rancher/k3s/server/db/state.db';

const textOf = (argv: readonly string[]) => argv.join(' ');
/** The word behind an option, as `--to 1.32.4` and `--to=1.32.4`. */
function optionOf(argv: readonly string[], ...names: string[]): string | undefined {
  for (const [index, word] of argv.entries()) {
    if (names.includes(word)) return argv[index + 1];
    const found = names.find((name) => word.startsWith(`${name}=`));
    if (found !== undefined) return word.slice(found.length + 1);
  }
  return undefined;
}

/** The programs of k3s, RKE2 and Talos; on the node itself, and for Talos on the operator's machine. */
export class VendorPrograms implements Programs {
  readonly #maker: Maker;
  readonly #around: NodeSurroundings;
  /** What an installer has put there, and no service runs yet. */
  readonly #installed = new Map<string, string>();
  /** Copies of the state, by path. */
  readonly #copies = new Set<string>();

  constructor(maker: Maker, around: NodeSurroundings) {
    this.#maker = maker;
    this.#around = around;
  }

  run(node: string, [program = '', ...argv]: readonly string[]): Promise<ExecAnswer> | undefined {
    const answer = this.#run(node, program.split('/').at(-1) ?? '', argv);
    return answer && Promise.resolve(answer);
  }

  #run(node: string, program: string, argv: readonly string[]): ExecAnswer | undefined {
    const maker = this.#maker;
    if (maker === 'talos') {
      if (program === 'mkdir') return said('');
      if (program === 'test') return this.#copies.has(argv.at(-1) ?? '') ? said('') : failed(1, '');
      return program === 'talosctl' ? this.#talosctl(argv) : undefined;
    }
    switch (program) {
      case 'k3s':
      case 'rke2':
        return maker.startsWith(program) ? this.#rancher(node, program, argv) : undefined;
      case 'curl':
        return this.#install(node, argv);
      case 'systemctl':
        return this.#restart(node, argv);
      case 'sqlite3':
        return this.#sqlite(argv.filter((word) => word !== '-readonly'));
      case 'test':
        return argv[0] === '-f' && argv[1] === database && maker === 'k3s-sqlite' ? said('') : failed(1, '');
      case 'mkdir':
      case 'cp':
        return said('');
      default:
        return undefined;
    }
  }

  #rancher(node: string, program: string, argv: readonly string[]): ExecAnswer {
    const [topic, verb] = argv;
    if (topic !== 'etcd-snapshot') return said(`${program} version ${this.#around.apiServer()} (00000000)\n`);
    if (this.#maker === 'k3s-sqlite')
      return failed(1, 'time="" level=fatal msg="Error: etcd datastore disabled: server is not configured to use managed etcd"\n');
    if (!this.#around.servers.includes(node)) return failed(1, 'time="" level=fatal msg="see server log for details"\n');
    if (verb !== 'save') return failed(1, `No help topic for '${verb ?? ''}'\n`);
    const nowMs = Date.now();
    const name = `${optionOf(argv, '--name') ?? 'on-demand'}-${node}-${Math.floor(nowMs / 1000)}`;
    const location = `file:///var/lib/rancher/${program}/server/db/snapshots/${name}`;
    const { store } = this.#around;
    const size = 3_145_728;
    if (versionsOf(snapshotFiles, this.#around.apiServer()).length > 0)
      store.create(snapshotFiles, {
        metadata: { name: `local-${name}-${randomBytes(3).toString('hex')}` },
        spec: { snapshotName: name, nodeName: node, location },
        status: { creationTime: seconds(nowMs), readyToUse: true, size: String(size) },
      });
    const listed = `${program}-etcd-snapshots`;
    const reported = JSON.stringify({ name, location, nodeName: node, createdAt: seconds(nowMs), size, status: 'successful' });
    const map = store.find(configMaps, listed, 'kube-system');
    if (map)
      store.update(configMaps, map, (copy) => {
        copy.data = { ...copy.data, [`local-${name}`]: reported };
      });
    else store.create(configMaps, { metadata: { name: listed }, data: { [`local-${name}`]: reported } }, 'kube-system');
    return said('', `time="" level=info msg="Snapshot ${name} saved."\n`);
  }

  /** Their installer, as it is fetched and run in one line. That of k3s restarts its service by itself. */
  #install(node: string, argv: readonly string[]): ExecAnswer {
    const text = textOf(argv);
    const version = /INSTALL_(?:K3S|RKE2)_VERSION='?(v[^'\s]+)/.exec(text)?.[1];
    if (version === undefined) return failed(22, 'curl: (22) The requested URL returned error: 404\n');
    this.#installed.set(node, version);
    if (!/get\.k3s\.io/.test(text)) return said(`[INFO]  using ${version} as release\n`);
    return this.#start(node, /sh -s - server/.test(text) ? 'server' : 'agent');
  }

  #restart(node: string, argv: readonly string[]): ExecAnswer {
    const role = /(?:^|\s)(?:k3s|rke2-server)$/.test(textOf(argv)) ? 'server' : 'agent';
    return argv[0] === 'restart' ? this.#start(node, role) : said('');
  }

  #start(node: string, role: 'server' | 'agent'): ExecAnswer {
    const { servers, store } = this.#around;
    if ((role === 'server') !== servers.includes(node)) return failed(1, `Job for ${role} failed: ${node} is none\n`);
    const version = this.#installed.get(node) ?? (store.get(nodes, node).status.nodeInfo.kubeletVersion as string);
    if (role === 'server') this.#around.upgradeControlPlane(version, node);
    try {
      this.#around.upgradeKubelet(node, version);
    } catch (error) {
      return failed(1, `Job for agent failed: ${error instanceof Error ? error.message : ''}\n`);
    }
    return said('[INFO]  systemd: Starting\n');
  }

  #sqlite([file = '', statement = '']: readonly string[]): ExecAnswer {
    const copy = /^\.backup '(.+)'$/.exec(statement)?.[1];
    if (copy !== undefined) {
      if (file !== database) return failed(1, `Error: unable to open database "${file}": unable to open database file\n`);
      this.#copies.add(copy);
      return said('');
    }
    if (!this.#copies.has(file)) return failed(1, `Error: unable to open database "${file}": unable to open database file\n`);
    return said(`ok\n${this.#around.store.count}\n`);
  }

  #talosctl(argv: readonly string[]): ExecAnswer {
    const words = argv.filter(
      (word, index) => !word.startsWith('-') && !/^(?:-n|--nodes|-e|--endpoints|--to|--image|-c|--context)$/.test(argv[index - 1] ?? ''),
    );
    const node = optionOf(argv, '-n', '--nodes');
    const [topic, verb, file = ''] = words;
    if (topic === 'version') return said('Client:\n\tTalos v1.9.4\n');
    if (node === undefined) return failed(1, 'nodes are not set for the command: please use `--nodes` flag or configuration file\n');
    if (topic === 'etcd' && verb === 'snapshot') {
      const { store } = this.#around;
      const keys = store.count;
      const size = 20_480 + keys * 2048;
      this.#copies.add(file);
      return said(
        `etcd snapshot saved to ${JSON.stringify(file)} (${size} bytes)\nsnapshot info: hash c25fd181, revision ${store.version}, total keys ${keys}, total size ${size}\n`,
      );
    }
    if (topic === 'upgrade-k8s')
      return this.#upgradeTalos(`v${(optionOf(argv, '--to') ?? '').replace(/^v/, '')}`, argv.includes('--dry-run'));
    return failed(1, `unknown command ${JSON.stringify(words.join(' '))} for "talosctl"\n`);
  }

  #upgradeTalos(to: string, dryRunResult: boolean): ExecAnswer {
    const { store, servers } = this.#around;
    const all = store.list(nodes).map(({ metadata, status }) => ({
      name: metadata.name,
      version: status.nodeInfo.kubeletVersion as string,
    }));
    const from = all.reduce((lowest, { version }) => (minorOf(version) < minorOf(lowest) ? version : lowest), this.#around.apiServer());
    if (minorOf(to) > minorOf(from) + 1 || minorOf(to) < minorOf(from))
      return failed(1, `unsupported upgrade path 1.${minorOf(from)}->1.${minorOf(to)} (from "${from.slice(1)}" to "${to.slice(1)}")\n`);
    const reported = `automatically detected the lowest Kubernetes version ${from.slice(1)}\n`;
    if (dryRunResult) return said(`${reported}updating kube-apiserver to version "${to.slice(1)}"\n> skipped in dry-run\n`);
    for (const server of servers) this.#around.upgradeControlPlane(to, server);
    for (const { name, version } of all) if (version !== to) this.#around.upgradeKubelet(name, to);
    return said(
      `${reported} > "10.0.0.10": kube-apiserver: waiting for the config to be updated\nupdating kubelet to version "${to.slice(1)}"\n`,
    );
  }
}
