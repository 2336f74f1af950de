import { parseJson } from '../text/json-value.ts';
import type { ClusterApi } from './api-client.ts';

export interface BuiltInSnapshot {
  name: string;
  node: string;
  atMs: number;
  location: string;
  sizeBytes: number | undefined;
}

interface SnapshotFile {
  metadata: { name: string };
  spec?: { snapshotName?: string; nodeName?: string; location?: string };
  status?: { creationTime?: string; readyToUse?: boolean; size?: string };
}
interface ListedFile {
  name?: string;
  location?: string;
  nodeName?: string;
  createdAt?: string;
  size?: number;
  status?: string;
}

/** `3145728`, as they write it; undefined for a quantity with a unit. */
const bytesIn = (text: string | undefined): number | undefined => (/^\d+$/.test(text ?? '') ? Number(text) : undefined);

/**
 * The snapshots that k3s and RKE2 know of and call whole, the newest first. Releases before 1.28 list them in a ConfigMap, newer ones as objects of
 * their own, and some in both.
 */
export async function builtInSnapshots(api: ClusterApi, kind: 'k3s' | 'rke2', signal: AbortSignal): Promise<BuiltInSnapshot[]> {
  const files = (await api.find<{ items?: SnapshotFile[] }>('/apis/k3s.cattle.io/v1/etcdsnapshotfiles', signal))?.items;
  const found = files
    ? files.flatMap(({ metadata, spec = {}, status = {} }) =>
        status.readyToUse === true
          ? {
              name: spec.snapshotName ?? metadata.name,
              node: spec.nodeName ?? '?',
              atMs: Date.parse(status.creationTime ?? ''),
              location: spec.location ?? '',
              sizeBytes: bytesIn(status.size),
            }
          : [],
      )
    : listed(await api.find<{ data?: Record<string, string> }>(`/api/v1/namespaces/kube-system/configmaps/${kind}-etcd-snapshots`, signal));
  return found.filter(({ atMs, sizeBytes }) => !Number.isNaN(atMs) && sizeBytes !== 0).sort((one, other) => other.atMs - one.atMs);
}

function listed(map: { data?: Record<string, string> } | undefined): BuiltInSnapshot[] {
  return Object.entries(map?.data ?? {}).flatMap(([key, text]) => {
    let file: ListedFile;
    try {
      file = parseJson(text) as ListedFile;
    } catch {
      return [];
    }
    // Those of before 1.23 have no word for how it went.
    if (file.status !== undefined && file.status !== 'successful') return [];
    return {
      name: file.name ?? key,
      node: file.nodeName ?? '?',
      atMs: Date.parse(file.createdAt ?? ''),
      location: file.location ?? '',
      sizeBytes: file.size,
    };
  });
}
