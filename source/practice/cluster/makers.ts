/** What made the practice cluster. `k3s-sqlite` keeps its state without etcd. */
export type Maker = 'kubeadm' | 'k3s' | 'k3s-sqlite' | 'rke2' | 'talos';

export interface MakerFacts {
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
}

const controlPlaneRole = 'node-role.kubernetes.io/control-plane';
const etcdVersion = '3.5.16-0';
const upstream = (version: string) => [
  { name: 'kube-apiserver', image: `registry.k8s.io/kube-apiserver:${version}` },
  { name: 'kube-controller-manager', image: `registry.k8s.io/kube-controller-manager:${version}` },
  { name: 'kube-scheduler', image: `registry.k8s.io/kube-scheduler:${version}` },
];
const debian = 'Debian GNU/Linux 12 (bookworm)';
const rancher = (etcd: boolean) => ({
  [controlPlaneRole]: 'true',
  'node-role.kubernetes.io/master': 'true',
  ...(etcd && { 'node-role.kubernetes.io/etcd': 'true' }),
});

export const makers: Record<Maker, MakerFacts> = {
  kubeadm: {
    suffix: '',
    osImage: debian,
    nodeAnnotations: { 'kubeadm.alpha.kubernetes.io/cri-socket': 'unix:///var/run/containerd/containerd.sock' },
    serverLabels: { [controlPlaneRole]: '' },
    staticPods: (version) => [{ name: 'etcd', image: `registry.k8s.io/etcd:${etcdVersion}` }, ...upstream(version)],
    proxied: true,
    lagging: true,
  },
  k3s: {
    suffix: '+k3s1',
    osImage: debian,
    nodeAnnotations: { 'k3s.io/hostname': '' },
    serverLabels: rancher(true),
    staticPods: () => [],
    proxied: false,
    lagging: true,
  },
  'k3s-sqlite': {
    suffix: '+k3s1',
    osImage: debian,
    nodeAnnotations: { 'k3s.io/hostname': '' },
    serverLabels: rancher(false),
    staticPods: () => [],
    proxied: false,
    lagging: true,
  },
  rke2: {
    suffix: '+rke2r1',
    osImage: debian,
    nodeAnnotations: { 'rke2.io/hostname': '' },
    serverLabels: rancher(true),
    staticPods: (version) => [
      { name: 'etcd', image: 'index.docker.io/rancher/hardened-etcd:v3.5.18-k3s1-build20250210' },
      ...['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'].map((name) => ({
        name,
        image: `index.docker.io/rancher/hardened-kubernetes:${version.replace('+', '-')}-build20250214`,
      })),
    ],
    proxied: false,
    lagging: true,
  },
  talos: {
    suffix: '',
    osImage: 'Talos (v1.9.4)',
    nodeAnnotations: {},
    serverLabels: { [controlPlaneRole]: '' },
    staticPods: upstream,
    proxied: true,
    lagging: false,
  },
};
