import {
  type BuilderFacts,
  controlPlaneRole,
  debian,
  kubeadm,
  upstream,
} from '../../source/products/kubernetes/simulator/object-builders.ts';
import { VendorPrograms } from './vendor-programs.ts';

/** What made a cluster. `k3s-sqlite` keeps its state without etcd. */
export type Maker = 'kubeadm' | 'k3s' | 'k3s-sqlite' | 'rke2' | 'talos';

const rancher = (etcd: boolean) => ({
  [controlPlaneRole]: 'true',
  'node-role.kubernetes.io/master': 'true',
  ...(etcd && { 'node-role.kubernetes.io/etcd': 'true' }),
});

export const makers: Record<Maker, BuilderFacts> = {
  kubeadm,
  k3s: {
    programs: (around) => new VendorPrograms('k3s', around),
    suffix: '+k3s1',
    osImage: debian,
    nodeAnnotations: { 'k3s.io/hostname': '' },
    serverLabels: rancher(true),
    staticPods: () => [],
    proxied: false,
    lagging: true,
  },
  'k3s-sqlite': {
    programs: (around) => new VendorPrograms('k3s-sqlite', around),
    suffix: '+k3s1',
    osImage: debian,
    nodeAnnotations: { 'k3s.io/hostname': '' },
    serverLabels: rancher(false),
    staticPods: () => [],
    proxied: false,
    lagging: true,
  },
  rke2: {
    programs: (around) => new VendorPrograms('rke2', around),
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
    programs: (around) => new VendorPrograms('talos', around),
    suffix: '',
    osImage: 'Talos (v1.9.4)',
    nodeAnnotations: {},
    serverLabels: { [controlPlaneRole]: '' },
    staticPods: upstream,
    proxied: true,
    lagging: false,
  },
};
