import type { Draft, KubeObject } from './kube-object.ts';
import { resourceOf } from './resources.ts';

/** Where the addresses behind services are, in the newer form. */
export const slices = resourceOf('discovery.k8s.io', 'endpointslices');

/** The slice of a service with these pods behind it. */
export const sliceOf = (service: KubeObject, ready: readonly KubeObject[], ports: readonly { port: number }[]): Draft => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: `${service.metadata.name}-x7k2p`, labels: { 'kubernetes.io/service-name': service.metadata.name } },
  addressType: 'IPv4',
  endpoints: ready.map((pod) => ({
    addresses: [pod.status.podIP],
    conditions: { ready: true, serving: true, terminating: false },
    nodeName: pod.spec.nodeName,
    targetRef: { kind: 'Pod', name: pod.metadata.name },
  })),
  ports,
});

/** A pod from the template of what wants it. */
export function podOf(owner: KubeObject, metadata: { name?: string; generateName?: string }): Draft {
  const template = structuredClone(owner.spec.template ?? {});
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...template.metadata,
      ...metadata,
      ownerReferences: [
        {
          apiVersion: owner.apiVersion,
          kind: owner.kind,
          name: owner.metadata.name,
          uid: owner.metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: { ...template.spec },
    status: { phase: 'Pending' },
  };
}

let lastAddress = 0;

/** The status of a pod in which all containers run. */
export function runningStatus(pod: Draft | KubeObject | { spec: KubeObject[string] }, since: string) {
  lastAddress++;
  return {
    phase: 'Running',
    conditions: ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
      type,
      status: 'True',
      lastProbeTime: null,
      lastTransitionTime: since,
    })),
    podIP: `10.244.${(lastAddress >> 8) & 255}.${lastAddress & 255}`,
    startTime: since,
    qosClass: 'Burstable',
    containerStatuses: ((pod as KubeObject).spec.containers ?? []).map(({ name, image }: { name: string; image: string }) => ({
      name,
      image,
      ready: true,
      started: true,
      restartCount: 0,
      state: { running: { startedAt: since } },
    })),
  };
}
