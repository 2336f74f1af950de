import { holdsEtcd, type KubeNode } from './api-shapes.ts';
import type { Release } from './release.ts';

const usual = {
  /** Form of the suffix of its releases. */
  suffix: undefined as RegExp | undefined,
  /** Suffix of the first release of a patch. */
  firstSuffix: '',
  /** The control plane is run by a provider: no etcd, no certificates, no kubeadm. */
  managed: false,
  /** A server is one program: control plane and kubelet are upgraded together. */
  isOneProgram: false,
};

export const distributions = {
  kubeadm: { ...usual, name: 'kubeadm' },
  k3s: { ...usual, name: 'k3s', suffix: /^k3s\d+$/, firstSuffix: 'k3s1', isOneProgram: true },
  rke2: { ...usual, name: 'RKE2', suffix: /^rke2r\d+$/, firstSuffix: 'rke2r1', isOneProgram: true },
  talos: { ...usual, name: 'Talos' },
  eks: { ...usual, name: 'Amazon EKS', suffix: /^eks/, managed: true },
  gke: { ...usual, name: 'Google GKE', suffix: /^gke/, managed: true },
  aks: { ...usual, name: 'Azure AKS', managed: true },
  unknown: { ...usual, name: 'unknown distribution' },
};
export type DistributionKind = keyof typeof distributions;

export type Distribution = ReturnType<typeof distributionOf>;

function kindOf({ vendor }: Release, nodes: readonly KubeNode[]): DistributionKind {
  const [prefix] = /^(?:k3s|rke2|eks|gke)/.exec(vendor) ?? [];
  if (prefix !== undefined) return prefix as DistributionKind;
  if (nodes.some(({ metadata }) => 'kubernetes.azure.com/cluster' in (metadata.labels ?? {}))) return 'aks';
  if (nodes.some(({ status }) => /^Talos/.test(status?.nodeInfo?.osImage ?? ''))) return 'talos';
  if (nodes.some(({ metadata }) => 'kubeadm.alpha.kubernetes.io/cri-socket' in (metadata.annotations ?? {}))) return 'kubeadm';
  return 'unknown';
}

export function logLocation({ kind, managed }: Distribution, controlPlane: boolean): string {
  if (managed) return 'with the tools of the provider';
  if (kind === 'k3s') return `journalctl -u ${controlPlane ? 'k3s' : 'k3s-agent'}`;
  if (kind === 'rke2') return `journalctl -u ${controlPlane ? 'rke2-server' : 'rke2-agent'}`;
  return kind === 'talos' ? 'talosctl -n NODE logs kubelet' : 'journalctl -u kubelet';
}

export function distributionOf(apiServer: Release, nodes: readonly KubeNode[]) {
  const kind = kindOf(apiServer, nodes);
  const known = distributions[kind];
  /** For k3s and RKE2: true if etcd is embedded, false for SQLite or an external database. */
  const embeddedEtcd = known.isOneProgram && nodes.some(holdsEtcd);
  return { ...known, kind, embeddedEtcd };
}
