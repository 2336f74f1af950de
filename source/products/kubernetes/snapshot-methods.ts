import { Fault } from '../../faults/fault.ts';
import type { Grant } from '../../grants/grant.ts';
import { cleanLine } from '../../text/clean.ts';
import { agoText, bytesText } from '../../text/quantities.ts';
import { blocked, type CheckResult, ok, warning } from './client/check-result.ts';
import {
  builtInSnapshots,
  type EtcdTools,
  etcdctl,
  findEtcdTools,
  kubeadmEtcd,
  type Snapshot,
  snapshotCommands,
  snapshotFile,
  takeSnapshot,
  verifySnapshot,
} from './client/etcd-snapshot.ts';
import { failureText, lastWords, type NodeExec, type NodeOutcome } from './client/node-exec.ts';
import { actId, type ClusterChecklist, planeAddress, sections, targetOf } from './cluster-checklist.ts';

/* The record of the snapshot in a checklist run, for every kind of snapshot. */

/** An older snapshot lacks too many later changes (R73). */
const freshMs = 3_600_000;
const snapshotLimitMs = 900_000;

export interface SnapshotSource {
  name: string;
  nodeExec?: NodeExec;
}

/** Runs the commands of a snapshot. Throws `failed.snapshot` with this remedy. Returns the output of the last command. */
async function runSnapshot(
  grant: Grant,
  nodeExec: NodeExec,
  commands: readonly (readonly string[])[],
  remedy: string,
  messageOf = ([program = '']: readonly string[], outcome: NodeOutcome) => failureText(program, outcome),
): Promise<string> {
  let output = '';
  for (const argv of commands) {
    const outcome = await nodeExec.run(grant, argv);
    if (outcome.exitCode !== 0) throw new Fault('failed.snapshot', messageOf(argv, outcome), remedy);
    output = `${outcome.stdout}\n${outcome.stderr}`;
  }
  return output;
}

function keptSnapshot({ list }: ClusterChecklist, advice: string): CheckResult | { file: string; ageMs: number; by: string } {
  const note = list.note('snapshot');
  const { file, takenMs } = note?.data ?? {};
  if (note?.kind !== 'done' || typeof file !== 'string' || typeof takenMs !== 'number') return blocked('none of the last hour', advice);
  const ageMs = Date.now() - takenMs;
  if (ageMs > freshMs) return blocked(`${file} is of ${agoText(ageMs)}: older than an hour`, advice);
  return { file, ageMs, by: note.by };
}

async function actSnapshot<T>(
  checklist: ClusterChecklist,
  node: string,
  commands: readonly (readonly string[])[],
  run: (grant: Grant) => Promise<T>,
): Promise<T | undefined> {
  return checklist.session.act({
    id: actId(checklist, 'snapshot'),
    right: 'operate',
    request: `on ${node}: ${commands.map((argv) => argv.join(' ')).join(' && ')}`,
    target: targetOf(checklist),
    limitMs: snapshotLimitMs,
    run,
  });
}

async function keepSnapshot(
  { list }: ClusterChecklist,
  taken: {
    file: string;
    takenMs: number;
    summary: string;
    evidence: readonly string[];
    data?: Readonly<Record<string, string | number>>;
  },
): Promise<void> {
  const { file, takenMs, summary, evidence, data = {} } = taken;
  await list.keep('snapshot', { kind: 'done', summary: file, evidence, data: { ...data, file, takenMs } });
  await list.set('snapshot', { section: sections.safety, state: 'ok', summary, evidence });
}

/* etcd beside the control plane, as kubeadm configures it. */

export const etcdByHand = `ETCDCTL_API=3 ${etcdctl(kubeadmEtcd, 'snapshot', 'save', 'FILE').join(' ')}, then etcdutl snapshot status FILE; then skip this item and say where it is.`;

const snapshotText = ({ file, keys, sizeBytes }: Snapshot, { verifier }: EtcdTools) =>
  `${file} (${keys} keys, ${bytesText(sizeBytes)}), read by ${verifier}`;
const evidenceOf = (node: string, { file, hash, revision, keys, sizeBytes }: Snapshot, { version, verifier }: EtcdTools): string[] => [
  `on ${node}: ${file}`,
  `hash ${hash}, revision ${revision}, ${keys} keys, ${sizeBytes} bytes; etcd ${version}, verified with ${verifier}`,
  'It holds every secret of the cluster: copy it to where only you can read it.',
];

export async function observeEtcd(checklist: ClusterChecklist, source: SnapshotSource | undefined): Promise<CheckResult> {
  const { session } = checklist;
  const kept = keptSnapshot(
    checklist,
    source?.nodeExec ? 'Take one from here.' : `Take one on ${source?.name ?? 'a control-plane node'}: ${etcdByHand}`,
  );
  if (!('file' in kept)) return kept;
  const { file, ageMs, by } = kept;
  if (!source?.nodeExec) return warning(`${file} of ${agoText(ageMs)}, by ${by}; not looked at again`);
  const tools = await findEtcdTools(source.nodeExec, session.signal);
  if (!tools) return warning(`${file} of ${agoText(ageMs)}; its program is gone, so it was not looked at again`);
  const snapshot = await verifySnapshot(source.nodeExec, tools, file, session.signal);
  return ok(`${snapshotText(snapshot, tools)}, ${agoText(ageMs)}`, evidenceOf(source.name, snapshot, tools));
}

export async function takeEtcd(checklist: ClusterChecklist, { name, nodeExec }: Required<SnapshotSource>): Promise<void> {
  const tools = await findEtcdTools(nodeExec, checklist.session.signal);
  if (!tools)
    throw new Fault('failed.snapshot', `There is no etcdctl on ${name}, neither on the node nor in a running etcd container.`, etcdByHand);
  const takenMs = Date.now();
  const file = snapshotFile(tools.folder, takenMs);
  const snapshot = await actSnapshot(checklist, name, snapshotCommands(tools, kubeadmEtcd, file), (grant) =>
    takeSnapshot(grant, nodeExec, tools, kubeadmEtcd, file),
  );
  if (!snapshot) return;
  const { revision, keys, hash } = snapshot;
  await keepSnapshot(checklist, {
    file,
    takenMs,
    summary: `${snapshotText(snapshot, tools)}, just now`,
    evidence: evidenceOf(name, snapshot, tools),
    data: { revision, keys, hash },
  });
}

/* The state of k3s and RKE2, in an embedded etcd or in SQLite. */

const kindOf = ({ facts }: ClusterChecklist) => (facts.distribution.kind === 'rke2' ? 'rke2' : 'k3s');
const tokenOf = (kind: 'k3s' | 'rke2') => `/var/lib/rancher/${kind}/server/token`;

/** Checks for snapshots that the product's own program lists as complete. */
export async function observeBuiltIn(checklist: ClusterChecklist): Promise<CheckResult> {
  const kind = kindOf(checklist);
  const keepToken = `Keep ${tokenOf(kind)} with it: without it nothing is restored.`;
  const [newest] = await builtInSnapshots(checklist.api, kind, checklist.session.signal);
  const advice = `On a server node: ${kind} etcd-snapshot save --name before-upgrade. ${keepToken}`;
  if (!newest) return blocked('none that is ready', advice);
  const ageMs = Date.now() - newest.atMs;
  const reported = `${newest.name} on ${newest.node}${newest.sizeBytes === undefined ? '' : ` (${bytesText(newest.sizeBytes)})`}, ${agoText(ageMs)}`;
  if (ageMs > freshMs) return blocked(`${reported}: older than an hour`, advice);
  return ok(reported, [newest.location, keepToken].filter(Boolean));
}

export async function takeBuiltIn(checklist: ClusterChecklist, { name, nodeExec }: Required<SnapshotSource>): Promise<void> {
  const kind = kindOf(checklist);
  const argv = [kind, 'etcd-snapshot', 'save', '--name', 'before-upgrade'];
  const remedy = 'Look at its log on that node, and take the snapshot again.';
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

interface SqliteCopy {
  file: string;
  rows: number;
}

/** Returns false for a server whose state is in an external database. */
export async function hasSqlite(nodeExec: NodeExec, signal: AbortSignal): Promise<boolean> {
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

/** Throws `failed.snapshot`. */
async function copySqlite(grant: Grant, nodeExec: NodeExec, file: string): Promise<SqliteCopy> {
  const remedy =
    'Install sqlite3 there (apt-get install sqlite3), or stop k3s, copy /var/lib/rancher/k3s/server/db and its token, and start it again.';
  await runSnapshot(grant, nodeExec, copyCommands(file), remedy, ([program = ''], outcome) =>
    outcome.exitCode === 127 ? `There is no ${program} on that node.` : failureText(program, outcome),
  );
  return verifyCopy(nodeExec, file, grant.signal);
}

/** Reads the copy with SQLite. Throws `failed.snapshot`. */
async function verifyCopy(nodeExec: NodeExec, file: string, signal: AbortSignal): Promise<SqliteCopy> {
  // Without -readonly, sqlite3 creates an empty database if the file is missing.
  const outcome = await nodeExec.read(['sqlite3', '-readonly', file, 'pragma integrity_check; select count(*) from kine;'], signal);
  const [verdict = '', count = ''] = outcome.stdout.trim().split('\n');
  const rows = Number(count);
  if (outcome.exitCode !== 0 || verdict !== 'ok' || !(rows > 0))
    throw new Fault(
      'failed.snapshot',
      `The copy ${cleanLine(file)} is not whole: ${cleanLine(outcome.exitCode === 0 && verdict !== 'ok' ? verdict : lastWords(outcome)) || 'it holds nothing'}.`,
      'Take it again.',
    );
  return { file, rows };
}

const copyText = ({ file, rows }: SqliteCopy) => `${file} (${rows} rows), read by sqlite3`;
const copyEvidence = (node: string, { file }: SqliteCopy) => [
  `on ${node}: ${file}, and ${file}.token`,
  'Both hold every secret of the cluster: copy them to where only you can read them.',
];

/** SQLite can only be detected on the server itself. */
export async function observeState(checklist: ClusterChecklist, source: SnapshotSource | undefined): Promise<CheckResult> {
  const { session } = checklist;
  const byHand = `With k3s stopped on ${source?.name ?? 'the server'}, copy ${sqliteState.database.replace('/state.db', '')} and ${sqliteState.token}, or save the database elsewhere that it uses; then skip this item and say where it is.`;
  if (!source?.nodeExec) return blocked('not seen from here: its state is in SQLite, or in a database elsewhere', byHand);
  if (!(await hasSqlite(source.nodeExec, session.signal)))
    return blocked(
      `there is no ${sqliteState.database} on ${source.name}: its state is in a database elsewhere`,
      `Save that database, and ${sqliteState.token}; then skip this item and say where they are.`,
    );
  const kept = keptSnapshot(checklist, 'Take one from here.');
  if (!('file' in kept)) return kept;
  const copy = await verifyCopy(source.nodeExec, kept.file, session.signal);
  return ok(`${copyText(copy)}, ${agoText(kept.ageMs)}`, copyEvidence(source.name, copy));
}

export async function takeState(checklist: ClusterChecklist, { name, nodeExec }: Required<SnapshotSource>): Promise<void> {
  const takenMs = Date.now();
  const file = snapshotFile(sqliteState.folder, takenMs);
  const copy = await actSnapshot(checklist, name, copyCommands(file), (grant) => copySqlite(grant, nodeExec, file));
  if (!copy) return;
  await keepSnapshot(checklist, { file, takenMs, summary: `${copyText(copy)}, just now`, evidence: copyEvidence(name, copy) });
}

/* etcd of Talos: talosctl downloads the snapshot to the operated host and verifies it there. */

const wholeText = ({ file, keys, sizeBytes }: Snapshot) => `${file} (${keys} keys, ${bytesText(sizeBytes)}), read by talosctl`;

export async function observeTalos(checklist: ClusterChecklist, source: SnapshotSource | undefined): Promise<CheckResult> {
  const byHand = `Take one: talosctl -n ${planeAddress(checklist.facts) ?? 'NODE'} etcd snapshot etcd.db, then skip this item and say where it is.`;
  const kept = keptSnapshot(checklist, source?.nodeExec ? 'Take one from here.' : byHand);
  if (!('file' in kept)) return kept;
  const { file, ageMs, by } = kept;
  if (!source?.nodeExec) return warning(`${file} of ${agoText(ageMs)}, by ${by}; not looked at again`);
  const { exitCode } = await source.nodeExec.read(['test', '-s', file], checklist.session.signal);
  if (exitCode !== 0) return blocked(`${file} is not there any more`, 'Take one from here.');
  const { evidence = [] } = checklist.list.note('snapshot') ?? {};
  return ok(`${file}, ${agoText(ageMs)}, by ${by}`, evidence);
}

export async function takeTalos(checklist: ClusterChecklist, { nodeExec }: Required<SnapshotSource>): Promise<void> {
  const { session, flowContext, input, facts } = checklist;
  const takenMs = Date.now();
  const { home } = await flowContext.hostOf(input.engineName).facts(session.signal);
  const folder = `${home}/talos-snapshots`;
  const file = snapshotFile(folder, takenMs);
  const commands = [
    ['mkdir', '-p', '-m', '700', folder],
    ['talosctl', '-n', planeAddress(facts) ?? '', 'etcd', 'snapshot', file],
  ];
  const remedy = 'talosctl needs its own configuration (~/.talos/config), with an endpoint that answers.';
  const snapshot = await actSnapshot(checklist, input.engineName, commands, async (grant) =>
    talosSnapshot(file, await runSnapshot(grant, nodeExec, commands, remedy)),
  );
  if (!snapshot) return;
  await keepSnapshot(checklist, {
    file,
    takenMs,
    summary: `${wholeText(snapshot)}, just now`,
    evidence: [
      `on ${input.engineName}: ${wholeText(snapshot)}; hash ${snapshot.hash}, revision ${snapshot.revision}`,
      'It holds every secret of the cluster: keep it where only you can read it.',
    ],
  });
}

/** Parses talosctl's report about the snapshot that it wrote. Throws `failed.snapshot` if the report is empty. */
function talosSnapshot(file: string, reported: string): Snapshot {
  const found = /snapshot info: hash ([0-9a-f]+), revision (\d+), total keys (\d+), total size (\d+)/.exec(reported);
  const [, hash = '', revision = '0', keys = '0', size = '0'] = found ?? [];
  if (Number(keys) <= 0 || Number(size) <= 0)
    throw new Fault(
      'failed.snapshot',
      `talosctl says nothing about what is in the snapshot ${cleanLine(file)}, or that it is empty.`,
      'Look at its file, and take it again.',
    );
  return { file, hash, revision: Number(revision), keys: Number(keys), sizeBytes: Number(size) };
}
