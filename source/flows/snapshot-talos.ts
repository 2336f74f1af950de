import type { CheckResult } from '../cluster/check-result.ts';
import type { Snapshot } from '../cluster/etcd-snapshot.ts';
import { lastWords } from '../cluster/node-way.ts';
import { talosSnapshot, talosSnapshotCommand } from '../cluster/talos.ts';
import { Fault } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import { agoText, bytesText } from '../text/quantities.ts';
import { type ClusterWalk, planeAddress } from './cluster-walk.ts';
import { actSnapshot, keepSnapshot, keptSnapshot, type SnapshotPlace, snapshotStamp } from './snapshot-kept.ts';

/* etcd of Talos: its program fetches the snapshot to the host that is operated, and reads it there. */

const wholeText = ({ file, keys, sizeBytes }: Snapshot) => `${file} (${keys} keys, ${bytesText(sizeBytes)}), read by talosctl`;

export async function observeTalos(walk: ClusterWalk, place: SnapshotPlace | undefined): Promise<CheckResult> {
  const byHand = `Take one: talosctl -n ${planeAddress(walk.facts) ?? 'NODE'} etcd snapshot etcd.db, then skip this item and say where it is.`;
  const kept = keptSnapshot(walk, place?.way ? 'Take one from here.' : byHand);
  if (!('file' in kept)) return kept;
  const { file, ageMs, by } = kept;
  if (!place?.way) return { state: 'warning', summary: `${file} of ${agoText(ageMs)}, by ${by}; not looked at again` };
  const { exitCode } = await place.way.read(['test', '-s', file], walk.session.signal);
  if (exitCode !== 0) return { state: 'blocked', summary: `${file} is not there any more`, advice: 'Take one from here.' };
  const { evidence = [] } = walk.list.note('snapshot') ?? {};
  return { state: 'ok', summary: `${file}, ${agoText(ageMs)}, by ${by}`, evidence };
}

export async function takeTalos(walk: ClusterWalk, { way }: Required<SnapshotPlace>): Promise<void> {
  const { session, world, input, facts } = walk;
  const takenMs = Date.now();
  const { home } = await world.hostOf(input.place).facts(session.signal);
  const folder = `${home}/talos-snapshots`;
  const file = `${folder}/quarterdeck-${snapshotStamp(takenMs)}.db`;
  const commands = [['mkdir', '-p', '-m', '700', folder], talosSnapshotCommand(planeAddress(facts) ?? '', file)];
  const snapshot = await actSnapshot(walk, input.place, commands, async (grant) => {
    let told = '';
    for (const argv of commands) {
      const outcome = await way.run(grant, argv);
      if (outcome.exitCode !== 0)
        throw new Fault({
          code: 'failed.snapshot',
          message: `${argv[0]} failed (${outcome.exitCode}): ${cleanLine(lastWords(outcome))}`,
          remedy: 'talosctl needs its own configuration (~/.talos/config), with an endpoint that answers.',
        });
      told = `${outcome.stdout}\n${outcome.stderr}`;
    }
    return talosSnapshot(file, told);
  });
  if (!snapshot) return;
  await keepSnapshot(walk, {
    file,
    takenMs,
    summary: `${wholeText(snapshot)}, just now`,
    evidence: [
      `on ${input.place}: ${wholeText(snapshot)}; hash ${snapshot.hash}, revision ${snapshot.revision}`,
      'It holds every secret of the cluster: keep it where only you can read it.',
    ],
  });
}
