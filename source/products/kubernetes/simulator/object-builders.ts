import type { NodeSurroundings, Programs } from './node-programs.ts';

/** What made a cluster, and how it shows. */
export interface BuilderFacts {
  /** Behind each version: `+k3s1`. */
  suffix: string;
  osImage: string;
  nodeAnnotations: Readonly<Record<string, string>>;
  serverLabels: Readonly<Record<string, string>>;
  /** What runs as a pod of the node itself, with its image; k3s has all of it in one program. */
  staticPods(version: string): readonly { name: string; image: string }[];
  /** kube-proxy as a DaemonSet. */
  proxied: boolean;
  /** Do the workers lag behind? Talos brings all of them along. */
  lagging: boolean;
  /** Instead of those of kubeadm. */
  programs?(around: NodeSurroundings): Programs;
}

export const controlPlaneRole = 'node-role.kubernetes.io/control-plane';
export const debian = 'Debian GNU/Linux 12 (bookworm)';
export const upstream = (version: string) => [
  { name: 'kube-apiserver', image: `registry.k8s.io/kube-apiserver:${version}` },
  { name: 'kube-controller-manager', image: `registry.k8s.io/kube-controller-manager:${version}` },
  { name: 'kube-scheduler', image: `registry.k8s.io/kube-scheduler:${version}` },
];

export const kubeadm: BuilderFacts = {
  suffix: '',
  osImage: debian,
  nodeAnnotations: { 'kubeadm.alpha.kubernetes.io/cri-socket': 'unix:///var/run/containerd/containerd.sock' },
  serverLabels: { [controlPlaneRole]: '' },
  staticPods: (version) => [{ name: 'etcd', image: `registry.k8s.io/etcd:3.5.16-0` }, ...upstream(version)],
  proxied: true,
  lagging: true,
};
