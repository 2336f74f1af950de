import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import { cleanLine } from '../text/clean.ts';
import { parseJson } from '../text/json-value.ts';
import { lastWords, type NodeOutcome, type NodeWay } from './node-way.ts';

/** Where etcd answers on its own node, and who may ask it: as kubeadm sets it up. */
export interface EtcdAccess {
  endpoint: string;
  certificates?: { ca: string; cert: string; key: string };
}

const pki = '/etc/kubernetes/pki/etcd';
export const kubeadmEtcd: EtcdAccess = {
  endpoint: 'https://127.0.0.1:2379',
  certificates: { ca: `${pki}/ca.crt`, cert: `${pki}/server.crt`, key: `${pki}/server.key` },
};

/** What of etcd's programs is there: on the node itself, or in the container that etcd runs in. */
export interface EtcdTools {
  /** Before each program: empty, or `crictl exec ID`. */
  prefix: readonly string[];
  /** `3.5.16` */
  version: string;
  /** What can read a snapshot: `etcdutl` from 3.5 on, before it `etcdctl`. */
  verifier: 'etcdutl' | 'etcdctl';
  /** A folder that the program can write to and that outlives it. */
  folder: string;
}

export interface Snapshot {
  file: string;
  hash: string;
  revision: number;
  keys: number;
  sizeBytes: number;
}

/** Needed by 3.4, which speaks API 2 by itself; later ones know nothing else. */
const env = { ETCDCTL_API: '3' };
/** On the node itself; inside of etcd's container only its data is on the disk of the node. */
const hostFolder = '/var/backups/etcd';
const containerFolder = '/var/lib/etcd';

const etcdctl = ({ endpoint, certificates }: EtcdAccess, ...words: string[]): string[] => [
  'etcdctl',
  '--endpoints',
  endpoint,
  ...(certificates ? ['--cacert', certificates.ca, '--cert', certificates.cert, '--key', certificates.key] : []),
  ...words,
];

/** Undefined where no etcdctl is found. */
export async function findEtcdTools(way: NodeWay, signal: AbortSignal): Promise<EtcdTools | undefined> {
  for (const place of [async () => ({ prefix: [] as string[], folder: hostFolder }), () => insideContainer(way, signal)]) {
    const found = await place();
    if (!found) continue;
    const told = await way.read([...found.prefix, 'etcdctl', 'version'], signal, env);
    const version = /etcdctl version:\s*v?(\d+\.\d+\.\d+)/.exec(told.stdout)?.[1];
    if (told.exitCode !== 0 || version === undefined) continue;
    const utility = await way.read([...found.prefix, 'etcdutl', 'version'], signal);
    return { ...found, version, verifier: utility.exitCode === 0 ? 'etcdutl' : 'etcdctl' };
  }
  return undefined;
}

async function insideContainer(way: NodeWay, signal: AbortSignal): Promise<{ prefix: string[]; folder: string } | undefined> {
  const { exitCode, stdout } = await way.read(['crictl', 'ps', '--name', '^etcd$', '--state', 'running', '-q'], signal);
  const id = stdout.trim().split('\n')[0] ?? '';
  return exitCode === 0 && /^[0-9a-f]{12,64}$/.test(id) ? { prefix: ['crictl', 'exec', id], folder: containerFolder } : undefined;
}

function need(outcome: NodeOutcome, what: string): NodeOutcome {
  if (outcome.exitCode === 0) return outcome;
  throw new Fault({
    code: 'failed.snapshot',
    message: `${what} failed (${outcome.exitCode}): ${cleanLine(lastWords(outcome))}`,
    remedy: 'Look at etcd on that node, and take the snapshot again.',
  });
}

/** How etcd is: its revision, and alarms (NOSPACE) that would refuse every write. Throws `failed.snapshot`. */
export async function askEtcd(
  way: NodeWay,
  { prefix }: EtcdTools,
  access: EtcdAccess,
  signal: AbortSignal,
): Promise<{ revision: number; alarms: string }> {
  const [status, alarms] = await Promise.all([
    way.read([...prefix, ...etcdctl(access, 'endpoint', 'status', '-w', 'json')], signal, env),
    way.read([...prefix, ...etcdctl(access, 'alarm', 'list')], signal, env),
  ]);
  // Ids in it are greater than what a number holds, so it is not parsed.
  const revision = /"revision":(\d+)/.exec(need(status, 'etcdctl endpoint status').stdout)?.[1];
  return { revision: Number(revision ?? 0), alarms: cleanLine(need(alarms, 'etcdctl alarm list').stdout.trim()) };
}

export function snapshotFile({ folder }: EtcdTools, atMs: number): string {
  return `${folder}/quarterdeck-${new Date(atMs).toISOString().replace(/[-:]|\.\d+/g, '')}.db`;
}

/** The requests, for the audit and for who takes it by hand. */
export function snapshotCommands({ prefix, folder, verifier }: EtcdTools, access: EtcdAccess, file: string): string[][] {
  return [
    ...(prefix.length === 0 ? [['mkdir', '-p', '-m', '700', folder]] : []),
    [...prefix, ...etcdctl(access, 'snapshot', 'save', file)],
    [...prefix, verifier, 'snapshot', 'status', file, '-w', 'json'],
  ];
}

/** Takes a snapshot and looks whether it is one: its program can read it, it has keys, and is no older than etcd was when it began. Throws `failed.snapshot`. */
export async function takeSnapshot(grant: Grant, way: NodeWay, tools: EtcdTools, access: EtcdAccess, file: string): Promise<Snapshot> {
  const before = await askEtcd(way, tools, access, grant.signal);
  for (const argv of snapshotCommands(tools, access, file).slice(0, -1))
    need(await way.run(grant, argv, env), argv.slice(tools.prefix.length, tools.prefix.length + 1).join(' '));
  const snapshot = await verifySnapshot(way, tools, file, grant.signal);
  if (snapshot.revision < before.revision)
    throw new Fault({
      code: 'failed.snapshot',
      message: `The snapshot ${cleanLine(file)} is of revision ${snapshot.revision}, and etcd was at ${before.revision} before it was taken.`,
      remedy: 'Take it again, from a member that is not behind.',
    });
  return snapshot;
}

export async function verifySnapshot(way: NodeWay, { prefix, verifier }: EtcdTools, file: string, signal: AbortSignal): Promise<Snapshot> {
  const outcome = need(
    await way.read([...prefix, verifier, 'snapshot', 'status', file, '-w', 'json'], signal, env),
    `${verifier} snapshot status`,
  );
  const unreadable = (why: string) =>
    new Fault({ code: 'failed.snapshot', message: `The snapshot ${cleanLine(file)} ${why}.`, remedy: 'Take it again.' });
  let told: { hash?: number; revision?: number; totalKey?: number; totalSize?: number };
  try {
    told = parseJson(outcome.stdout) as typeof told;
  } catch {
    throw unreadable('cannot be read');
  }
  const { hash = 0, revision = 0, totalKey = 0, totalSize = 0 } = told;
  if (totalKey <= 0 || totalSize <= 0) throw unreadable('is empty');
  return { file, hash: hash.toString(16), revision, keys: totalKey, sizeBytes: totalSize };
}
