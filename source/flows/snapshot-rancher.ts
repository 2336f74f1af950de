import { builtInSnapshots } from '../cluster/built-in-etcd.ts';
import type { CheckResult } from '../cluster/check-result.ts';
import { lastWords } from '../cluster/node-way.ts';
import { copyCommands, copySqlite, hasSqlite, type SqliteCopy, sqliteState, verifyCopy } from '../cluster/sqlite-state.ts';
import { Fault } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import { agoText, bytesText } from '../text/quantities.ts';
import type { ClusterWalk } from './cluster-walk.ts';
import { actSnapshot, freshMs, keepSnapshot, keptSnapshot, type SnapshotPlace, snapshotStamp } from './snapshot-kept.ts';

/* The state of k3s and RKE2: in an etcd of their own, or in SQLite. */

const kindOf = ({ facts }: ClusterWalk): 'k3s' | 'rke2' => (facts.distribution.kind === 'rke2' ? 'rke2' : 'k3s');
const tokenOf = (kind: 'k3s' | 'rke2') => `/var/lib/rancher/${kind}/server/token`;

/** What their own program says is there, and whole. */
export async function observeBuiltIn(walk: ClusterWalk): Promise<CheckResult> {
  const kind = kindOf(walk);
  const keepToken = `Keep ${tokenOf(kind)} with it: without it nothing is restored.`;
  const [newest] = await builtInSnapshots(walk.api, kind, walk.session.signal);
  const advice = `On a server node: ${kind} etcd-snapshot save --name before-upgrade. ${keepToken}`;
  if (!newest) return { state: 'blocked', summary: 'none that is ready', advice };
  const ageMs = Date.now() - newest.atMs;
  const told = `${newest.name} on ${newest.node}${newest.sizeBytes === undefined ? '' : ` (${bytesText(newest.sizeBytes)})`}, ${agoText(ageMs)}`;
  if (ageMs > freshMs) return { state: 'blocked', summary: `${told}: older than an hour`, advice };
  return { state: 'ok', summary: told, evidence: [newest.location, keepToken].filter(Boolean) };
}

export async function takeBuiltIn(walk: ClusterWalk, { name, way }: Required<SnapshotPlace>): Promise<void> {
  const kind = kindOf(walk);
  const argv = [kind, 'etcd-snapshot', 'save', '--name', 'before-upgrade'];
  await actSnapshot(walk, name, [argv], async (grant) => {
    const outcome = await way.run(grant, argv);
    if (outcome.exitCode !== 0)
      throw new Fault({
        code: 'failed.snapshot',
        message: `${argv.join(' ')} on ${name} failed (${outcome.exitCode}): ${cleanLine(lastWords(outcome))}`,
        remedy: 'Look at its log on that node, and take the snapshot again.',
      });
  });
}

const copyText = ({ file, rows }: SqliteCopy) => `${file} (${rows} rows), read by sqlite3`;
const copyEvidence = (node: string, { file }: SqliteCopy) => [
  `on ${node}: ${file}, and ${file}.token`,
  'Both hold every secret of the cluster: copy them to where only you can read them.',
];

/** Whether it is SQLite can only be seen on the server itself. */
export async function observeState(walk: ClusterWalk, place: SnapshotPlace | undefined): Promise<CheckResult> {
  const { session } = walk;
  const byHand = `With k3s stopped on ${place?.name ?? 'the server'}, copy ${sqliteState.database.replace('/state.db', '')} and ${sqliteState.token}, or save the database elsewhere that it uses; then skip this item and say where it is.`;
  if (!place?.way)
    return { state: 'blocked', summary: 'not seen from here: its state is in SQLite, or in a database elsewhere', advice: byHand };
  if (!(await hasSqlite(place.way, session.signal)))
    return {
      state: 'blocked',
      summary: `there is no ${sqliteState.database} on ${place.name}: its state is in a database elsewhere`,
      advice: `Save that database, and ${sqliteState.token}; then skip this item and say where they are.`,
    };
  const kept = keptSnapshot(walk, 'Take one from here.');
  if (!('file' in kept)) return kept;
  const copy = await verifyCopy(place.way, kept.file, session.signal);
  return { state: 'ok', summary: `${copyText(copy)}, ${agoText(kept.ageMs)}`, evidence: copyEvidence(place.name, copy) };
}

export async function takeState(walk: ClusterWalk, { name, way }: Required<SnapshotPlace>): Promise<void> {
  const takenMs = Date.now();
  const file = `${sqliteState.folder}/quarterdeck-${snapshotStamp(takenMs)}.db`;
  const copy = await actSnapshot(walk, name, copyCommands(file), (grant) => copySqlite(grant, way, file));
  if (!copy) return;
  await keepSnapshot(walk, { file, takenMs, summary: `${copyText(copy)}, just now`, evidence: copyEvidence(name, copy) });
}
