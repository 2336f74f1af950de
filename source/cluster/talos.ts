import { Fault } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import type { CheckResult } from './check-result.ts';
import type { ClusterFacts } from './cluster-facts.ts';
import type { Snapshot } from './etcd-snapshot.ts';

/** Each minor of Talos runs six minors of Kubernetes (its support matrix): 1.9 runs 1.27 to 1.32. */
const newestOf = (talosMinor: number) => talosMinor + 23;
const oldestOf = (talosMinor: number) => talosMinor + 18;

/** 9 of `Talos (v1.9.4)` */
export function talosMinor(osImage: string): number | undefined {
  const found = /^Talos \(v1\.(\d+)\./.exec(osImage)?.[1];
  return found === undefined ? undefined : Number(found);
}

/** Does Talos itself run that minor of Kubernetes? It is upgraded apart from it, and before. */
export function checkTalos({ nodes }: ClusterFacts, targetMinor: number): CheckResult {
  const told = nodes.map(({ name, osImage }) => ({ name, osImage, minor: talosMinor(osImage) }));
  const evidence = told.map(({ name, osImage }) => `${name}  ${osImage}`);
  const minors = told.flatMap(({ minor }) => minor ?? []);
  if (minors.length === 0) return { state: 'warning', summary: 'its nodes tell no release of Talos', evidence };
  const lowest = Math.min(...minors);
  const range = `Talos 1.${lowest} runs Kubernetes 1.${oldestOf(lowest)} to 1.${newestOf(lowest)}`;
  if (targetMinor > newestOf(lowest)) {
    const behind = told.filter(({ minor }) => minor !== undefined && targetMinor > newestOf(minor)).map(({ name }) => name);
    return {
      state: 'blocked',
      summary: `${range}: too old for 1.${targetMinor} on ${behind.join(', ')}`,
      evidence,
      advice: `Upgrade Talos first, a minor and a node at a time: talosctl -n NODE upgrade --image ghcr.io/siderolabs/installer:v1.${lowest + 1}.N`,
    };
  }
  if (targetMinor < oldestOf(lowest))
    return { state: 'warning', summary: `${range}: 1.${targetMinor} is older`, evidence, advice: 'Go on to one that it runs.' };
  return { state: 'ok', summary: range, evidence };
}

export const talosSnapshotCommand = (node: string, file: string): string[] => ['talosctl', '-n', node, 'etcd', 'snapshot', file];

/** What talosctl read in the snapshot that it wrote. Throws `failed.snapshot` where it read nothing. */
export function talosSnapshot(file: string, told: string): Snapshot {
  const found = /snapshot info: hash ([0-9a-f]+), revision (\d+), total keys (\d+), total size (\d+)/.exec(told);
  const [, hash = '', revision = '0', keys = '0', size = '0'] = found ?? [];
  if (Number(keys) <= 0 || Number(size) <= 0)
    throw new Fault({
      code: 'failed.snapshot',
      message: `talosctl says nothing about what is in the snapshot ${cleanLine(file)}, or that it is empty.`,
      remedy: 'Look at its file, and take it again.',
    });
  return { file, hash, revision: Number(revision), keys: Number(keys), sizeBytes: Number(size) };
}
