import { Fault } from '../../../faults/fault.ts';
import type { Grant } from '../../../grants/grant.ts';
import { cleanLine } from '../../../text/clean.ts';
import { objectOf, parsedJson } from '../../../text/json-value.ts';
import type { ClusterApi } from './api-client.ts';
import type { KubeObject } from './api-shapes.ts';
import { failureText, type NodeExec, type NodeOutcome } from './node-exec.ts';

/** The endpoint of etcd on its own node and the client certificates, as kubeadm configures them. */
export interface EtcdAccess {
  endpoint: string;
  certificates?: { ca: string; cert: string; key: string };
}

const pki = '/etc/kubernetes/pki/etcd';
export const kubeadmEtcd: EtcdAccess = {
  endpoint: 'https://127.0.0.1:2379',
  certificates: { ca: `${pki}/ca.crt`, cert: `${pki}/server.crt`, key: `${pki}/server.key` },
};

/** The programs of etcd that are available: on the node itself, or in the container of etcd. */
export type EtcdTools = NonNullable<Awaited<ReturnType<typeof findEtcdTools>>>;
export type Snapshot = Awaited<ReturnType<typeof verifySnapshot>>;

/** Required by 3.4, whose default is API 2; later releases have no other API. */
const env = { ETCDCTL_API: '3' };
/** Folder on the node itself; in etcd's container only its data folder is on the disk of the node. */
const hostFolder = '/var/backups/etcd';
const containerFolder = '/var/lib/etcd';

export const etcdctl = ({ endpoint, certificates }: EtcdAccess, ...words: string[]): string[] => [
  'etcdctl',
  '--endpoints',
  endpoint,
  ...(certificates ? ['--cacert', certificates.ca, '--cert', certificates.cert, '--key', certificates.key] : []),
  ...words,
];

export async function findEtcdTools(nodeExec: NodeExec, signal: AbortSignal) {
  const find = async (prefix: string[], folder: string) => {
    const reported = await nodeExec.read([...prefix, 'etcdctl', 'version'], signal, env);
    const version = /etcdctl version:\s*v?(\d+\.\d+\.\d+)/.exec(reported.stdout)?.[1];
    if (reported.exitCode !== 0 || version === undefined) return undefined;
    const utility = await nodeExec.read([...prefix, 'etcdutl', 'version'], signal);
    // A snapshot is read by etcdutl from 3.5 on, before that by etcdctl.
    return { prefix, folder, version, verifier: utility.exitCode === 0 ? 'etcdutl' : 'etcdctl' };
  };
  const onNode = await find([], hostFolder);
  if (onNode) return onNode;
  const { exitCode, stdout } = await nodeExec.read(['crictl', 'ps', '--name', '^etcd$', '--state', 'running', '-q'], signal);
  const id = stdout.trim().split('\n')[0] ?? '';
  return exitCode === 0 && /^[0-9a-f]{12,64}$/.test(id) ? find(['crictl', 'exec', id], containerFolder) : undefined;
}

function need(outcome: NodeOutcome, what: string): NodeOutcome {
  if (outcome.exitCode === 0) return outcome;
  throw new Fault('failed.snapshot', failureText(what, outcome), 'Fix the problem on the node, then create the snapshot again.');
}

/** Returns etcd's revision and its alarms; with the alarm NOSPACE it would refuse every write. Throws `failed.snapshot`. */
export async function queryEtcd(nodeExec: NodeExec, { prefix }: EtcdTools, access: EtcdAccess, signal: AbortSignal) {
  const [status, alarms] = await Promise.all([
    nodeExec.read([...prefix, ...etcdctl(access, 'endpoint', 'status', '-w', 'json')], signal, env),
    nodeExec.read([...prefix, ...etcdctl(access, 'alarm', 'list')], signal, env),
  ]);
  // The ids in it exceed the range of a number, so it is not parsed.
  const revision = /"revision":(\d+)/.exec(need(status, 'etcdctl endpoint status').stdout)?.[1];
  return { revision: Number(revision ?? 0), alarms: cleanLine(need(alarms, 'etcdctl alarm list').stdout.trim()) };
}

export function snapshotFile(folder: string, atMs: number): string {
  return `${folder}/quarterdeck-${new Date(atMs).toISOString().replace(/[-:]|\.\d+/g, '')}.db`;
}

/** Returns the commands, for the audit and for an operator who runs them by hand. */
export function snapshotCommands({ prefix, folder, verifier }: EtcdTools, access: EtcdAccess, file: string): string[][] {
  return [
    ...(prefix.length === 0 ? [['mkdir', '-p', '-m', '700', folder]] : []),
    [...prefix, ...etcdctl(access, 'snapshot', 'save', file)],
    [...prefix, verifier, 'snapshot', 'status', file, '-w', 'json'],
  ];
}

/** Verifies that the snapshot can be read, has keys, and is not older than etcd's revision at the start. Throws `failed.snapshot`. */
export async function createSnapshot(grant: Grant, nodeExec: NodeExec, tools: EtcdTools, access: EtcdAccess, file: string) {
  const before = await queryEtcd(nodeExec, tools, access, grant.signal);
  for (const argv of snapshotCommands(tools, access, file).slice(0, -1))
    need(await nodeExec.run(grant, argv, env), argv.slice(tools.prefix.length, tools.prefix.length + 1).join(' '));
  const snapshot = await verifySnapshot(nodeExec, tools, file, grant.signal);
  if (snapshot.revision < before.revision) {
    const message = `The snapshot ${cleanLine(file)} has revision ${snapshot.revision}, but etcd was already at ${before.revision}.`;
    throw new Fault('failed.snapshot', message, 'Create the snapshot again from an up-to-date etcd member.');
  }
  return snapshot;
}

const differs = 9;
/**
 * etcd ends a snapshot with the SHA-256 of what is before it. `snapshot status` does not compare it, and opens one that lacks only pages that
 * it does not read.
 */
const compareSum = `command -v sha256sum od >/dev/null || { echo 'sha256sum or od is not found' >&2; exit 2; }
n=$(wc -c <"$1") || exit 2; [ $((n % 512)) = 32 ] &&
[ "$(head -c $((n - 32)) "$1" | sha256sum | cut -c 1-64)" = "$(tail -c 32 "$1" | od -An -v -tx1 | tr -d ' \\n')" ] || exit ${differs}`;

export async function verifySnapshot(nodeExec: NodeExec, { prefix, verifier }: EtcdTools, file: string, signal: AbortSignal) {
  // On the node itself, where `hostFolder` and `containerFolder` both are. etcd's image has no shell.
  const compared = await nodeExec.read(['sh', '-c', compareSum, 'sh', file], signal);
  const unreadable = (why: string) => new Fault('failed.snapshot', `The snapshot ${cleanLine(file)} ${why}.`, 'Create the snapshot again.');
  if (compared.exitCode === differs) throw unreadable('is incomplete: it does not match its checksum');
  need(compared, 'Checksum verification');
  const status = await nodeExec.read([...prefix, verifier, 'snapshot', 'status', file, '-w', 'json'], signal, env);
  const { stdout } = need(status, `${verifier} snapshot status`);
  const reported = objectOf(parsedJson(stdout)) as Partial<Record<'hash' | 'revision' | 'totalKey' | 'totalSize', number>> | undefined;
  if (!reported) throw unreadable('cannot be read');
  const { hash = 0, revision = 0, totalKey: keys = 0, totalSize: sizeBytes = 0 } = reported;
  if (keys <= 0 || sizeBytes <= 0) throw unreadable('is empty');
  return { file, hash: hash.toString(16), revision, keys, sizeBytes };
}

type SnapshotFile = KubeObject<
  { snapshotName?: string; nodeName?: string; location?: string },
  { creationTime?: string; readyToUse?: boolean; size?: string }
>;
type ListedFile = Partial<Record<'name' | 'location' | 'nodeName' | 'createdAt' | 'status', string>> & { size?: number };

/** Parses `3145728`, as these products write it; returns undefined for a quantity with a unit. */
const bytesIn = (text: string | undefined): number | undefined => (/^\d+$/.test(text ?? '') ? Number(text) : undefined);

/** The newest first. Releases before 1.28 list snapshots in a ConfigMap, newer ones as separate objects, and some in both. */
export async function builtInSnapshots(api: ClusterApi, kind: 'k3s' | 'rke2', signal: AbortSignal) {
  const files = (await api.find<{ items?: SnapshotFile[] }>('/apis/k3s.cattle.io/v1/etcdsnapshotfiles', signal))?.items;
  const map = `/api/v1/namespaces/kube-system/configmaps/${kind}-etcd-snapshots`;
  const listed =
    files?.map(fileOf) ?? Object.entries((await api.find<{ data?: Record<string, string> }>(map, signal))?.data ?? {}).map(entryOf);
  return listed
    .filter(({ isComplete, atMs, sizeBytes }) => isComplete && !Number.isNaN(atMs) && sizeBytes !== 0)
    .sort((one, other) => other.atMs - one.atMs);
}

function fileOf({ metadata, spec = {}, status = {} }: SnapshotFile) {
  return {
    name: spec.snapshotName ?? metadata.name,
    node: spec.nodeName ?? '?',
    atMs: Date.parse(status.creationTime ?? ''),
    location: spec.location ?? '',
    sizeBytes: bytesIn(status.size),
    isComplete: status.readyToUse === true,
  };
}

function entryOf([key, text]: [string, string]): ReturnType<typeof fileOf> {
  const file = objectOf(parsedJson(text)) as ListedFile | undefined;
  return {
    name: file?.name ?? key,
    node: file?.nodeName ?? '?',
    atMs: Date.parse(file?.createdAt ?? ''),
    location: file?.location ?? '',
    sizeBytes: file?.size,
    // Entries from before 1.23 have no status.
    isComplete: file !== undefined && (file.status ?? 'successful') === 'successful',
  };
}
