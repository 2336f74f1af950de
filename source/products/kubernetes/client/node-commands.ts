import { type DistributionKind, distributions } from './distribution.ts';
import { minorText, type Release } from './release.ts';

/** Commands for a node. `hand` is the reason why they are not run from here; the text is then for the operator. */
export interface NodeCommands {
  argv: readonly (readonly string[])[];
  hand?: string;
  text: readonly string[];
}

export interface UpgradeTarget {
  kind: DistributionKind;
  to: Release;
  from: Release;
  osImage: string;
  /** Address of the node, for programs that run elsewhere. */
  address?: string | undefined;
}

interface PackageManager {
  systems: RegExp;
  /** Each minor of Kubernetes has its own repository, which this file names. */
  repository: string;
  install(packages: readonly string[], version: string): string[][];
}

const packageManagers: readonly PackageManager[] = [
  {
    systems: /debian|ubuntu|raspbian/i,
    repository: '/etc/apt/sources.list.d/kubernetes.list',
    install: (packages, version) => [
      ['apt-mark', 'unhold', ...packages],
      ['apt-get', 'update'],
      ['apt-get', 'install', '-y', ...packages.map((name) => `${name}=${version}-*`)],
      ['apt-mark', 'hold', ...packages],
    ],
  },
  {
    systems: /red hat|centos|rocky|alma|fedora|oracle|amazon/i,
    repository: '/etc/yum.repos.d/kubernetes.repo',
    install: (packages, version) => [
      ['dnf', 'install', '-y', ...packages.map((name) => `${name}-${version}-*`), '--disableexcludes=kubernetes'],
    ],
  },
  {
    systems: /suse/i,
    repository: '/etc/zypp/repos.d/kubernetes.repo',
    install: (packages, version) => [['zypper', '--non-interactive', 'install', ...packages.map((name) => `${name}=${version}`)]],
  },
];

const shown = (argv: readonly (readonly string[])[]): string[] =>
  argv.map((words) => words.map((word) => (/^[\w@%+=:,./*-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' '));
const run = (argv: string[][]): NodeCommands => ({ argv, text: shown(argv) });
const byHand = (hand: string, text: string[]): NodeCommands => ({ argv: [], hand, text });

const releaseText = ({ major, minor, patch }: Release) => `v${major}.${minor}.${patch}`;

const providers: Partial<Record<DistributionKind, (minor: string, version: string) => string>> = {
  eks: (minor) => `aws eks update-cluster-version --name CLUSTER --kubernetes-version ${minor}`,
  gke: (minor) => `gcloud container clusters upgrade CLUSTER --master --cluster-version ${minor}`,
  aks: (_, version) => `az aks upgrade --name CLUSTER --resource-group GROUP --control-plane-only --kubernetes-version ${version}`,
};

/** Returns the commands for the control plane: `first` upgrades the cluster-wide part, the other nodes only themselves. */
export function controlPlaneCommands(target: UpgradeTarget, first: boolean): NodeCommands {
  const version = releaseText(target.to);
  const apply = [
    ['kubeadm', 'upgrade', 'plan', version],
    ['kubeadm', 'upgrade', 'apply', version, '-y'],
  ];
  const own = first ? apply : [['kubeadm', 'upgrade', 'node']];
  if (target.kind === 'kubeadm') return kubeadmCommands(target, 'kubeadm', own, (install) => [...install('kubeadm'), ...own]);
  const provider = providers[target.kind]?.(minorText(target.to), version.slice(1)) ?? '';
  return otherCommands(target, 'server', provider, `# upgrade the control plane to ${version} with the tools of the cluster provider`);
}

export function nodeCommands(target: UpgradeTarget, controlPlane: boolean): NodeCommands {
  const { kind, to } = target;
  const provider = `# upgrade the node pool to ${minorText(to)}`;
  if (kind !== 'kubeadm')
    return otherCommands(target, controlPlane ? 'server' : 'agent', provider, `# upgrade the kubelet to ${releaseText(to)}`);
  const restart = [
    ['systemctl', 'daemon-reload'],
    ['systemctl', 'restart', 'kubelet'],
  ];
  // Nodes of the control plane already have the new kubeadm.
  const own = controlPlane ? [] : [['kubeadm', 'upgrade', 'node']];
  return kubeadmCommands(target, 'kubeadm, kubelet and kubectl', [...own, ...restart], (install) => [
    ...(controlPlane ? [] : install('kubeadm')),
    ...own,
    ...install('kubelet', 'kubectl'),
    ...restart,
  ]);
}

/** Returns the commands of kubeadm and of the package manager; `own` without the latter if it is not known. */
function kubeadmCommands(
  { from, to, osImage }: UpgradeTarget,
  packages: string,
  own: string[][],
  all: (install: (...packages: string[]) => string[][]) => string[][],
): NodeCommands {
  const version = releaseText(to);
  const manager = packageManagers.find(({ systems }) => systems.test(osImage));
  if (!manager)
    return byHand(`the package manager of ${osImage || 'the node'} is unknown`, [`# install ${packages} ${version}`, ...shown(own)]);
  // The file may name another minor than the one that runs, after an interrupted run for example.
  const repository = from.minor === to.minor ? [] : [['sed', '-i', `s#/v1\\.[0-9]*/#/v${minorText(to)}/#`, manager.repository]];
  return run([...repository, ...all((...names) => manager.install(names, version.slice(1)))]);
}

function otherCommands({ kind, to, address }: UpgradeTarget, role: 'server' | 'agent', provider: string, unknown: string): NodeCommands {
  if (kind === 'k3s' || kind === 'rke2') return installer(kind, to, role);
  if (kind === 'talos') return talos(to, address);
  return kind === 'unknown' ? byHand('the installer of this cluster is unknown', [unknown]) : byHand('managed by the provider', [provider]);
}

/** Upgrades the kubelets of all nodes too, without a drain. Upgraded parts stay unchanged. */
function talos(to: Release, address = 'CONTROL-PLANE'): NodeCommands {
  const upgrade = ['talosctl', '-n', address, 'upgrade-k8s', '--to', releaseText(to).slice(1)];
  return run([[...upgrade, '--dry-run'], upgrade]);
}

/** The installer is downloaded from the network, and drops options and variables that are in no file, so the operator runs it. */
function installer(kind: 'k3s' | 'rke2', to: Release, role: 'server' | 'agent'): NodeCommands {
  const version = to.vendor === '' ? `${releaseText(to)}+${distributions[kind].firstSuffix}` : to.text;
  if (kind === 'k3s')
    return byHand('the installer drops options and K3S_ variables that are not in /etc/rancher/k3s/config.yaml, so pass them again', [
      `curl -sfL https://get.k3s.io | INSTALL_K3S_VERSION='${version}' sh -s - ${role}`,
    ]);
  return byHand('the installer is downloaded from the network', [
    `curl -sfL https://get.rke2.io | INSTALL_RKE2_VERSION='${version}' INSTALL_RKE2_TYPE=${role} sh -`,
    `systemctl restart rke2-${role}`,
  ]);
}
