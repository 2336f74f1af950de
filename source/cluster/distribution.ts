import { holdsEtcd, type KubeNode } from './api-shapes.ts';
import type { Release } from './release.ts';

export type DistributionKind = 'kubeadm' | 'k3s' | 'rke2' | 'talos' | 'eks' | 'gke' | 'aks' | 'unknown';

export interface Distribution {
  kind: DistributionKind;
  /** `kubeadm`, `Amazon EKS` */
  name: string;
  /** Its control plane is somebody else's: no etcd, no certificates, no kubeadm. */
  managed: boolean;
  /** Of k3s and RKE2: is etcd in it, or SQLite or a database elsewhere? */
  embeddedEtcd?: boolean;
}

const names: Record<DistributionKind, string> = {
  kubeadm: 'kubeadm',
  k3s: 'k3s',
  rke2: 'RKE2',
  talos: 'Talos',
  eks: 'Amazon EKS',
  gke: 'Google GKE',
  aks: 'Azure AKS',
  unknown: 'of an unknown kind',
};

function kindOf({ vendor }: Release, nodes: readonly KubeNode[]): DistributionKind {
  if (/^k3s/.test(vendor)) return 'k3s';
  if (/^rke2/.test(vendor)) return 'rke2';
  if (/^eks/.test(vendor)) return 'eks';
  if (/^gke/.test(vendor)) return 'gke';
  if (nodes.some(({ metadata }) => 'kubernetes.azure.com/cluster' in (metadata.labels ?? {}))) return 'aks';
  if (nodes.some(({ status }) => /^Talos/.test(status?.nodeInfo?.osImage ?? ''))) return 'talos';
  if (nodes.some(({ metadata }) => 'kubeadm.alpha.kubernetes.io/cri-socket' in (metadata.annotations ?? {}))) return 'kubeadm';
  return 'unknown';
}

/** Of k3s and RKE2, whose servers are one program: control plane and kubelet go together. */
export const isOneProgram = ({ kind }: Distribution): boolean => kind === 'k3s' || kind === 'rke2';

/** What the first release of a patch is called there. */
export function vendorOf({ kind }: Pick<Distribution, 'kind'>): string {
  if (kind === 'k3s') return 'k3s1';
  return kind === 'rke2' ? 'rke2r1' : '';
}

const vendors: Partial<Record<DistributionKind, RegExp>> = { k3s: /^k3s\d+$/, rke2: /^rke2r\d+$/, eks: /^eks/, gke: /^gke/ };

/** Is it what a release of this cluster is called behind its number? One without a name of its own is completed. */
export function isVendorOf({ kind }: Pick<Distribution, 'kind'>, running: Release, vendor: string): boolean {
  if (vendor === '') return true;
  // Whoever builds Kubernetes otherwise names it as they like.
  return vendors[kind]?.test(vendor) ?? running.vendor !== '';
}

/** Where a node says why it does not come back. */
export function whereItLogs({ kind }: Distribution, controlPlane: boolean): string {
  if (kind === 'k3s') return `journalctl -u ${controlPlane ? 'k3s' : 'k3s-agent'}`;
  if (kind === 'rke2') return `journalctl -u ${controlPlane ? 'rke2-server' : 'rke2-agent'}`;
  return kind === 'talos' ? 'talosctl -n NODE logs kubelet' : 'journalctl -u kubelet';
}

/** Who made the cluster: it decides how it is upgraded. */
export function distributionOf(apiServer: Release, nodes: readonly KubeNode[]): Distribution {
  const kind = kindOf(apiServer, nodes);
  return {
    kind,
    name: names[kind],
    managed: kind === 'eks' || kind === 'gke' || kind === 'aks',
    ...((kind === 'k3s' || kind === 'rke2') && {
      embeddedEtcd: nodes.some(holdsEtcd),
    }),
  };
}
