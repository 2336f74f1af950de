import { holdsEtcd, type KubeNode } from './api-shapes.ts';
import type { Release } from './release.ts';

type Kind = { name: string; vendor?: RegExp; first?: string };

/** Name of each distribution, the form of its release suffix (`vendor`), and the suffix of the first release of a patch. */
const kinds = {
  kubeadm: { name: 'kubeadm' },
  k3s: { name: 'k3s', vendor: /^k3s\d+$/, first: 'k3s1' },
  rke2: { name: 'RKE2', vendor: /^rke2r\d+$/, first: 'rke2r1' },
  talos: { name: 'Talos' },
  eks: { name: 'Amazon EKS', vendor: /^eks/ },
  gke: { name: 'Google GKE', vendor: /^gke/ },
  aks: { name: 'Azure AKS' },
  unknown: { name: 'of an unknown kind' },
} satisfies Record<string, Kind>;
export type DistributionKind = keyof typeof kinds;

export type Distribution = ReturnType<typeof distributionOf>;

function kindOf({ vendor }: Release, nodes: readonly KubeNode[]): DistributionKind {
  const [prefix] = /^(?:k3s|rke2|eks|gke)/.exec(vendor) ?? [];
  if (prefix !== undefined) return prefix as DistributionKind;
  if (nodes.some(({ metadata }) => 'kubernetes.azure.com/cluster' in (metadata.labels ?? {}))) return 'aks';
  if (nodes.some(({ status }) => /^Talos/.test(status?.nodeInfo?.osImage ?? ''))) return 'talos';
  if (nodes.some(({ metadata }) => 'kubeadm.alpha.kubernetes.io/cri-socket' in (metadata.annotations ?? {}))) return 'kubeadm';
  return 'unknown';
}

/** Reports whether a server is one program, as in k3s and RKE2: control plane and kubelet are upgraded together. */
export const isOneProgram = ({ kind }: { kind: DistributionKind }): boolean => kind === 'k3s' || kind === 'rke2';

export const vendorOf = ({ kind }: { kind: DistributionKind }): string => {
  const known: Kind = kinds[kind];
  return known.first ?? '';
};

/** Reports whether the suffix is one of this cluster's distribution. A release without a suffix is completed. */
export function isVendorOf({ kind }: { kind: DistributionKind }, running: Release, vendor: string): boolean {
  if (vendor === '') return true;
  const known: Kind = kinds[kind];
  // Other builds of Kubernetes may have any suffix.
  return known.vendor?.test(vendor) ?? running.vendor !== '';
}

export function whereItLogs({ kind }: Distribution, controlPlane: boolean): string {
  if (kind === 'k3s') return `journalctl -u ${controlPlane ? 'k3s' : 'k3s-agent'}`;
  if (kind === 'rke2') return `journalctl -u ${controlPlane ? 'rke2-server' : 'rke2-agent'}`;
  return kind === 'talos' ? 'talosctl -n NODE logs kubelet' : 'journalctl -u kubelet';
}

export function distributionOf(apiServer: Release, nodes: readonly KubeNode[]) {
  const kind = kindOf(apiServer, nodes);
  return {
    kind,
    name: kinds[kind].name,
    /** The control plane is run by a provider: no etcd, no certificates, no kubeadm. */
    managed: kind === 'eks' || kind === 'gke' || kind === 'aks',
    /** For k3s and RKE2: true if etcd is embedded, false for SQLite or an external database. */
    embeddedEtcd: isOneProgram({ kind }) && nodes.some(holdsEtcd),
  };
}
