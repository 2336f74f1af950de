import { Fault } from '../../faults/fault.ts';
import type { Grant } from '../../grants/grant.ts';
import { cleanLine } from '../../text/clean.ts';
import { agoText, bytesText, countText } from '../../text/quantities.ts';
import { holdsEtcd } from './client/api-shapes.ts';
import { blocked, type CheckResult, looked, ok, skipped, warning } from './client/check-result.ts';
import {
  builtInSnapshots,
  createSnapshot,
  type EtcdTools,
  etcdctl,
  findEtcdTools,
  kubeadmEtcd,
  type Snapshot,
  snapshotCommands,
  snapshotFile,
  verifySnapshot,
} from './client/etcd-snapshot.ts';
import { failureText, lastWords, type NodeExec, type NodeOutcome } from './client/node-exec.ts';
import { actOn, type ClusterChecklist, planeAddress, sections, showCheck } from './cluster-checklist.ts';

/** An older snapshot lacks too many later changes (R73). */
const freshMs = 3_600_000;
const snapshotLimitMs = 900_000;

type SnapshotSource = Awaited<ReturnType<typeof sourceOf>>;
type ReachedSource = SnapshotSource & { nodeExec: NodeExec };

/** How a snapshot is checked and taken, by where the state of the cluster is stored. */
const snapshotMethods = {
  etcd: { observe: observeEtcd, take: takeEtcd },
  'built-in': { observe: observeBuiltIn, take: takeBuiltIn },
  state: { observe: observeState, take: takeState },
  talos: { observe: observeTalos, take: takeTalos },
};

type Commands = readonly (readonly string[])[];

const failureOf = ([program = '']: readonly string[], outcome: NodeOutcome) => failureText(program, outcome);

/** Runs the commands of a snapshot. Throws `failed.snapshot` with this remedy. Returns the output of the last command. */
async function runSnapshot(grant: Grant, nodeExec: NodeExec, commands: Commands, remedy: string, messageOf = failureOf) {
  let output = '';
  for (const argv of commands) {
    const outcome = await nodeExec.run(grant, argv);
    if (outcome.exitCode !== 0) throw new Fault('failed.snapshot', messageOf(argv, outcome), remedy);
    output = `${outcome.stdout}\n${outcome.stderr}`;
  }
  return output;
}

function actSnapshot<T>(checklist: ClusterChecklist, node: string, commands: Commands, run: (grant: Grant) => Promise<T>) {
  const request = `on ${node}: ${commands.map((argv) => argv.join(' ')).join(' && ')}`;
  return actOn(checklist, 'snapshot', { right: 'operate', request, limitMs: snapshotLimitMs, run });
}

/** The record of a snapshot in a file of the node, in the checklist. */
type Taken = { evidence: readonly string[]; data?: Readonly<Record<string, string | number>> };

/** Takes a snapshot into a new file of this folder, and records it. */
async function takeFile(
  checklist: ClusterChecklist,
  node: string,
  folder: string,
  commandsFor: (file: string) => string[][],
  run: (grant: Grant, file: string) => Promise<Taken>,
): Promise<void> {
  const takenMs = Date.now();
  const file = snapshotFile(folder, takenMs);
  const taken = await actSnapshot(checklist, node, commandsFor(file), (grant) => run(grant, file));
  if (!taken) return;
  const { evidence, data = {} } = taken;
  await checklist.list.keep('snapshot', { kind: 'done', summary: file, evidence, data: { ...data, file, takenMs } });
}

/** Checks the recorded file of the last hour with `look`. `byHand`: how to take a snapshot without access to its node. */
async function observeFile(
  { list, hand, facts }: ClusterChecklist,
  nodeExec: NodeExec | undefined,
  byHand: string,
  look: (nodeExec: NodeExec, kept: Record<'file' | 'age' | 'by' | 'advice', string>) => Promise<CheckResult>,
): Promise<CheckResult> {
  const advice = nodeExec && !hand && facts.distribution.kind !== 'unknown' ? 'Create a snapshot in this checklist.' : byHand;
  const note = list.note('snapshot');
  const { file, takenMs } = note?.data ?? {};
  if (note?.kind !== 'done' || typeof file !== 'string' || typeof takenMs !== 'number') return blocked('none from the last hour', advice);
  const ageMs = Date.now() - takenMs;
  const age = agoText(ageMs);
  if (ageMs > freshMs) return blocked(`${file} was created ${age}; it must not be older than one hour`, advice);
  if (!nodeExec) return warning(`${file}, created ${age} by ${note.by}; not verified again`);
  return look(nodeExec, { file, age, by: note.by, advice });
}

/* etcd beside the control plane, as kubeadm configures it. */

const etcdByHand = (node: string) =>
  `Create a snapshot on ${node || 'a control-plane node'}: ETCDCTL_API=3 ${etcdctl(kubeadmEtcd, 'snapshot', 'save', 'FILE').join(' ')}. Check it with "etcdutl snapshot status FILE", then skip this item with the location of the snapshot as the reason.`;

const contentText = ({ file, keys, sizeBytes }: Snapshot, verifier: string) =>
  `${file} (${countText(keys, 'key')}, ${bytesText(sizeBytes)}), verified with ${verifier}`;
const evidenceOf = (node: string, { file, hash, revision, keys, sizeBytes }: Snapshot, { version, verifier }: EtcdTools): string[] => [
  `on ${node}: ${file}`,
  `hash ${hash}, revision ${revision}, ${countText(keys, 'key')}, ${sizeBytes} bytes; etcdctl ${version}, verified with ${verifier}`,
  'The snapshot contains every secret of the cluster. Copy it to a location that only you can read.',
];

function observeEtcd(checklist: ClusterChecklist, { name, nodeExec }: SnapshotSource): Promise<CheckResult> {
  const { signal } = checklist.session;
  const byHand = etcdByHand(name);
  return observeFile(checklist, nodeExec, byHand, async (reached, { file, age }) => {
    const tools = await findEtcdTools(reached, signal);
    if (!tools) return warning(`${file}, created ${age}; not verified again because etcdctl is missing`);
    const snapshot = await verifySnapshot(reached, tools, file, signal);
    return ok(`${contentText(snapshot, tools.verifier)}, ${age}`, evidenceOf(name, snapshot, tools));
  });
}

async function takeEtcd(checklist: ClusterChecklist, { name, nodeExec }: ReachedSource): Promise<void> {
  const tools = await findEtcdTools(nodeExec, checklist.session.signal);
  if (!tools) {
    const remedy = `Install etcdctl on ${name}, and create the snapshot again. If etcd runs on other hosts, create one there, and skip this item with its location as the reason.`;
    throw new Fault('failed.snapshot', `No etcdctl was found on ${name} or in a running etcd container.`, remedy);
  }
  const commandsFor = (file: string) => snapshotCommands(tools, kubeadmEtcd, file);
  await takeFile(checklist, name, tools.folder, commandsFor, async (grant, file) => {
    const snapshot = await createSnapshot(grant, nodeExec, tools, kubeadmEtcd, file);
    const { revision, keys, hash } = snapshot;
    return { evidence: evidenceOf(name, snapshot, tools), data: { revision, keys, hash } };
  });
}

/* The state of k3s and RKE2, in an embedded etcd or in SQLite. */

const kindOf = ({ facts }: ClusterChecklist) => (facts.distribution.kind === 'rke2' ? 'rke2' : 'k3s');

/** Checks for snapshots that the product's own program lists as complete. */
async function observeBuiltIn(checklist: ClusterChecklist): Promise<CheckResult> {
  const kind = kindOf(checklist);
  const keepToken = `Keep /var/lib/rancher/${kind}/server/token with the snapshot, because a restore requires the token.`;
  const [newest] = await builtInSnapshots(checklist.api, kind, checklist.session.signal);
  const advice = `On a server node, run "${kind} etcd-snapshot save --name before-upgrade". ${keepToken}`;
  if (!newest) return blocked('no complete snapshot found', advice);
  const ageMs = Date.now() - newest.atMs;
  const reported = `${newest.name} on ${newest.node}${newest.sizeBytes === undefined ? '' : ` (${bytesText(newest.sizeBytes)})`}, ${agoText(ageMs)}`;
  if (ageMs > freshMs) return blocked(`${reported}; it must not be older than one hour`, advice);
  return ok(reported, [newest.location, keepToken].filter(Boolean));
}

async function takeBuiltIn(checklist: ClusterChecklist, { name, nodeExec }: ReachedSource): Promise<void> {
  const argv = [kindOf(checklist), 'etcd-snapshot', 'save', '--name', 'before-upgrade'];
  const remedy = 'Check the log on the node, then create the snapshot again.';
  await actSnapshot(checklist, name, [argv], (grant) =>
    runSnapshot(grant, nodeExec, [argv], remedy, (_, outcome) => failureText(`${argv.join(' ')} on ${name}`, outcome)),
  );
}

/** Files of k3s without etcd: its state, and the token that a restore requires. */
const sqliteState = {
  database: '/var/lib/rancher/k3s/server/db/state.db',
  token: '/var/lib/rancher/k3s/server/token',
  folder: '/var/backups/k3s',
} as const;

/** Returns false for a server whose state is in an external database. */
async function hasSqlite(nodeExec: NodeExec, signal: AbortSignal): Promise<boolean> {
  return (await nodeExec.read(['test', '-f', sqliteState.database], signal)).exitCode === 0;
}

/** A copy by SQLite itself is consistent although k3s writes meanwhile. */
function copyCommands(file: string): string[][] {
  return [
    ['mkdir', '-p', '-m', '700', sqliteState.folder],
    ['sqlite3', sqliteState.database, `.backup '${file}'`],
    ['cp', '-p', sqliteState.token, `${file}.token`],
  ];
}

/** Reads the copy with SQLite, and returns the number of its rows. Throws `failed.snapshot`. */
async function verifyCopy(nodeExec: NodeExec, file: string, signal: AbortSignal): Promise<number> {
  // Without -readonly, sqlite3 creates an empty database if the file is missing.
  const outcome = await nodeExec.read(['sqlite3', '-readonly', file, 'pragma integrity_check; select count(*) from kine;'], signal);
  const [verdict = '', count = ''] = outcome.stdout.trim().split('\n');
  const rows = Number(count);
  if (outcome.exitCode === 0 && verdict === 'ok' && rows > 0) return rows;
  const why = cleanLine(outcome.exitCode !== 0 ? lastWords(outcome) : verdict === 'ok' ? '' : verdict) || 'it is empty';
  throw new Fault('failed.snapshot', `The copy ${cleanLine(file)} cannot be used: ${why}.`, 'Create the copy again.');
}

const copyEvidence = (node: string, file: string) => [
  `on ${node}: ${file}, and ${file}.token`,
  'Both files contain every secret of the cluster. Copy them to a location that only you can read.',
];

/** SQLite can only be detected on the server itself. */
async function observeState(checklist: ClusterChecklist, { name, nodeExec }: SnapshotSource): Promise<CheckResult> {
  const { signal } = checklist.session;
  const { database, token } = sqliteState;
  const byHand = `Stop k3s on ${name || 'the server'}, copy ${database.replace('/state.db', '')} and ${token}, and start k3s again; or back up the external database. Then skip this item with the location of the backup as the reason.`;
  if (!nodeExec) return blocked('cannot be checked from this machine, because the state is in SQLite or in an external database', byHand);
  if (!(await hasSqlite(nodeExec, signal))) {
    const advice = 'Back up the database and the token of the server. Then skip this item with the location of the backup as the reason.';
    return blocked(`${database} does not exist on ${name}: k3s uses an external database, or another data folder`, advice);
  }
  return observeFile(checklist, nodeExec, byHand, async (reached, { file, age }) =>
    ok(`${file} (${await verifyCopy(reached, file, signal)} rows), verified with sqlite3, ${age}`, copyEvidence(name, file)),
  );
}

async function takeState(checklist: ClusterChecklist, { name, nodeExec }: ReachedSource): Promise<void> {
  const remedy =
    'Fix the problem on the node (if sqlite3 is missing: apt-get install sqlite3), or stop k3s, copy /var/lib/rancher/k3s/server/db and the token, and start k3s again.';
  await takeFile(checklist, name, sqliteState.folder, copyCommands, async (grant, file) => {
    await runSnapshot(grant, nodeExec, copyCommands(file), remedy, ([program = ''], outcome) =>
      outcome.exitCode === 127 ? `${program} is not installed on the node.` : failureText(program, outcome),
    );
    await verifyCopy(nodeExec, file, grant.signal);
    return { evidence: copyEvidence(name, file) };
  });
}

/* etcd of Talos: talosctl downloads the snapshot to the operated host and verifies it there. */

function observeTalos(checklist: ClusterChecklist, { nodeExec }: SnapshotSource): Promise<CheckResult> {
  const byHand = `Create a snapshot: talosctl -n ${planeAddress(checklist.facts) ?? 'NODE'} etcd snapshot etcd.db. Then skip this item with the location of the snapshot as the reason.`;
  return observeFile(checklist, nodeExec, byHand, async (reached, { file, age, by, advice }) => {
    const { exitCode } = await reached.read(['test', '-s', file], checklist.session.signal);
    if (exitCode !== 0) return blocked(`${file} is missing or empty`, advice);
    return ok(`${file}, created ${age} by ${by}`, checklist.list.note('snapshot')?.evidence ?? []);
  });
}

async function takeTalos(checklist: ClusterChecklist, { nodeExec }: ReachedSource): Promise<void> {
  const { session, flowContext, input, facts } = checklist;
  const { home } = await flowContext.hostOf(input.engineName).facts(session.signal);
  const folder = `${home}/talos-snapshots`;
  const commandsFor = (file: string) => [
    ['mkdir', '-p', '-m', '700', folder],
    ['talosctl', '-n', planeAddress(facts) ?? '', 'etcd', 'snapshot', file],
  ];
  const remedy = 'talosctl requires its own configuration (~/.talos/config) with a reachable endpoint.';
  await takeFile(checklist, input.engineName, folder, commandsFor, async (grant, file) => {
    const snapshot = talosSnapshot(file, await runSnapshot(grant, nodeExec, commandsFor(file), remedy));
    return {
      evidence: [
        `on ${input.engineName}: ${contentText(snapshot, 'talosctl')}; hash ${snapshot.hash}, revision ${snapshot.revision}`,
        'The snapshot contains every secret of the cluster. Copy it to a location that only you can read.',
      ],
    };
  });
}

/** Parses talosctl's report about the snapshot that it wrote. Throws `failed.snapshot` if it reports no content. */
function talosSnapshot(file: string, reported: string): Snapshot {
  const found = /snapshot info: hash ([0-9a-f]+), revision (\d+), total keys (\d+), total size (\d+)/.exec(reported);
  const [, hash = '', revision = '0', keys = '0', size = '0'] = found ?? [];
  if (Number(keys) <= 0 || Number(size) <= 0)
    throw new Fault('failed.snapshot', `talosctl reports no content for the snapshot ${cleanLine(file)}.`, 'Create the snapshot again.');
  return { file, hash, revision: Number(revision), keys: Number(keys), sizeBytes: Number(size) };
}

export function storageOf({ facts: { distribution } }: ClusterChecklist): keyof typeof snapshotMethods {
  if (distribution.kind === 'talos') return 'talos';
  if (!distribution.isOneProgram) return 'etcd';
  return distribution.embeddedEtcd ? 'built-in' : 'state';
}

export const snapshotTitle = (checklist: ClusterChecklist): string =>
  storageOf(checklist) === 'state' ? 'Copy of the cluster state' : 'etcd snapshot';

/** Returns the node whose state is saved; its name is empty if the cluster shows no node of its control plane. */
async function sourceOf({ facts, nodeExecs }: ClusterChecklist) {
  const planes = facts.nodes.filter(({ controlPlane }) => controlPlane);
  const node = planes.find(({ object }) => holdsEtcd(object)) ?? planes[0];
  return { name: node?.name ?? '', nodeExec: node && (await nodeExecs.to(node)) };
}

export async function canSnapshot(checklist: ClusterChecklist): Promise<boolean> {
  const { distribution } = checklist.facts;
  if (checklist.hand || distribution.managed || distribution.kind === 'unknown') return false;
  const { nodeExec } = await sourceOf(checklist);
  return nodeExec !== undefined && (storageOf(checklist) !== 'state' || hasSqlite(nodeExec, checklist.session.signal));
}

/** Checks for a snapshot of the last hour that its own program can read (R73). */
export async function observeSnapshot(checklist: ClusterChecklist): Promise<CheckResult> {
  const { distribution } = checklist.facts;
  if (distribution.managed) return skipped(`not applicable: ${distribution.name} manages etcd itself`);
  return snapshotMethods[storageOf(checklist)].observe(checklist, await sourceOf(checklist));
}

export async function checkSnapshot(checklist: ClusterChecklist): Promise<void> {
  const result = await looked(() => observeSnapshot(checklist));
  if (result.state !== 'skipped')
    await showCheck(checklist, { id: 'snapshot', section: sections.safety, title: snapshotTitle(checklist) }, result);
}

export async function snapshotNow(checklist: ClusterChecklist): Promise<void> {
  const { session, list } = checklist;
  const { name, nodeExec } = await sourceOf(checklist);
  if (!nodeExec) throw new Fault('refused.noWay', 'The control plane is not reachable from this machine.', etcdByHand(name));
  await list.set('snapshot', { state: 'running', summary: `creating on ${name}, ${nodeExec.shown}` });
  await snapshotMethods[storageOf(checklist)].take(checklist, { name, nodeExec });
  if (session.dryRun) await list.set('snapshot', { state: 'todo', summary: 'dry-run' });
  // The snapshot is verified, not trusted.
  else await checkSnapshot(checklist);
}
