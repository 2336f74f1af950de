import { type DistributionKind, vendorOf } from './distribution.ts';
import { minorText, type Release } from './release.ts';

/** What is to be run on a node. `hand` says why it is not run from here; the text is then for a person. */
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
  /** Where the node is asked, for programs that are not on it. */
  address?: string | undefined;
}

type Family = 'apt' | 'dnf' | 'zypper' | 'other';

export function packagesOf(osImage: string): Family {
  if (/debian|ubuntu|raspbian/i.test(osImage)) return 'apt';
  if (/red hat|centos|rocky|alma|fedora|oracle|amazon/i.test(osImage)) return 'dnf';
  return /suse/i.test(osImage) ? 'zypper' : 'other';
}

const repositoryFiles = {
  apt: '/etc/apt/sources.list.d/kubernetes.list',
  dnf: '/etc/yum.repos.d/kubernetes.repo',
  zypper: '/etc/zypp/repos.d/kubernetes.repo',
};

/** Each minor has a repository of its own. The file may name another minor than the one that runs: that of the control plane, or of a run that was interrupted. */
function repository(family: Exclude<Family, 'other'>, from: Release, to: Release): string[][] {
  if (from.minor === to.minor) return [];
  return [['sed', '-i', `s#/v1\\.[0-9]*/#/v${minorText(to)}/#`, repositoryFiles[family]]];
}

function install(family: Family, packages: readonly string[], { major, minor, patch }: Release): string[][] {
  const version = `${major}.${minor}.${patch}`;
  if (family === 'apt')
    return [
      ['apt-mark', 'unhold', ...packages],
      ['apt-get', 'update'],
      ['apt-get', 'install', '-y', ...packages.map((name) => `${name}=${version}-*`)],
      ['apt-mark', 'hold', ...packages],
    ];
  if (family === 'dnf')
    return [['dnf', 'install', '-y', ...packages.map((name) => `${name}-${version}-*`), '--disableexcludes=kubernetes']];
  return [['zypper', '--non-interactive', 'install', ...packages.map((name) => `${name}=${version}`)]];
}

const shown = (argv: readonly (readonly string[])[]): string[] =>
  argv.map((words) => words.map((word) => (/^[\w@%+=:,./*-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' '));
const run = (argv: string[][]): NodeCommands => ({ argv, text: shown(argv) });
const byHand = (hand: string, text: string[]): NodeCommands => ({ argv: [], hand, text });

const releaseText = ({ major, minor, patch }: Release) => `v${major}.${minor}.${patch}`;

/** The control plane's own step: `first` does the cluster's part, the other nodes of the control plane theirs. */
export function controlPlaneCommands({ kind, from, to, osImage, address }: UpgradeTarget, first: boolean): NodeCommands {
  const version = releaseText(to);
  switch (kind) {
    case 'kubeadm': {
      const family = packagesOf(osImage);
      const own = first
        ? [
            ['kubeadm', 'upgrade', 'plan', version],
            ['kubeadm', 'upgrade', 'apply', version, '-y'],
          ]
        : [['kubeadm', 'upgrade', 'node']];
      if (family === 'other')
        return byHand(`how packages are installed on ${osImage || 'it'} is not known here`, [
          `# install kubeadm ${version}`,
          ...shown(own),
        ]);
      return run([...repository(family, from, to), ...install(family, ['kubeadm'], to), ...own]);
    }
    case 'k3s':
    case 'rke2':
      return installer(kind, to, 'server');
    case 'talos':
      return talos(to, address);
    case 'eks':
      return byHand('its provider does it', [`aws eks update-cluster-version --name CLUSTER --kubernetes-version ${minorText(to)}`]);
    case 'gke':
      return byHand('its provider does it', [`gcloud container clusters upgrade CLUSTER --master --cluster-version ${minorText(to)}`]);
    case 'aks':
      return byHand('its provider does it', [
        `az aks upgrade --name CLUSTER --resource-group GROUP --control-plane-only --kubernetes-version ${version.slice(1)}`,
      ]);
    case 'unknown':
      return byHand('how this cluster was made is not known here', [
        `# bring the control plane to ${version}, as whoever made the cluster says`,
      ]);
  }
}

/** The node's own step, when it is drained. */
export function nodeCommands({ kind, from, to, osImage, address }: UpgradeTarget, controlPlane: boolean): NodeCommands {
  const version = releaseText(to);
  switch (kind) {
    case 'kubeadm': {
      const family = packagesOf(osImage);
      const kubelet = [
        ['systemctl', 'daemon-reload'],
        ['systemctl', 'restart', 'kubelet'],
      ];
      const own = controlPlane ? [] : [['kubeadm', 'upgrade', 'node']];
      if (family === 'other')
        return byHand(`how packages are installed on ${osImage || 'it'} is not known here`, [
          `# install kubeadm, kubelet and kubectl ${version}`,
          ...shown([...own, ...kubelet]),
        ]);
      // Those of the control plane have their kubeadm already.
      const before = controlPlane ? [] : install(family, ['kubeadm'], to);
      return run([...repository(family, from, to), ...before, ...own, ...install(family, ['kubelet', 'kubectl'], to), ...kubelet]);
    }
    case 'k3s':
    case 'rke2':
      return installer(kind, to, controlPlane ? 'server' : 'agent');
    case 'talos':
      return talos(to, address);
    case 'eks':
    case 'gke':
    case 'aks':
      return byHand('its provider does it', [`# let the node pool be brought to ${minorText(to)}`]);
    case 'unknown':
      return byHand('how this cluster was made is not known here', [`# bring its kubelet to ${version}`]);
  }
}

/** Asks a node of the control plane, and brings everything along, the kubelets of all nodes too; none is drained. What is there already stays. */
function talos(to: Release, address = 'CONTROL-PLANE'): NodeCommands {
  const upgrade = ['talosctl', '-n', address, 'upgrade-k8s', '--to', releaseText(to).slice(1)];
  return run([[...upgrade, '--dry-run'], upgrade]);
}

/** Their installer is fetched from the network and run, and forgets options that are in no file: a person does that. */
function installer(kind: 'k3s' | 'rke2', to: Release, role: 'server' | 'agent'): NodeCommands {
  const version = to.vendor === '' ? `${releaseText(to)}+${vendorOf({ kind })}` : to.text;
  if (kind === 'k3s')
    return byHand('its installer forgets options that are not in /etc/rancher/k3s/config.yaml: give them again', [
      `curl -sfL https://get.k3s.io | INSTALL_K3S_VERSION='${version}' sh -s - ${role}`,
    ]);
  return byHand('its installer is fetched from the network', [
    `curl -sfL https://get.rke2.io | INSTALL_RKE2_VERSION='${version}' INSTALL_RKE2_TYPE=${role} sh -`,
    `systemctl restart rke2-${role}`,
  ]);
}
