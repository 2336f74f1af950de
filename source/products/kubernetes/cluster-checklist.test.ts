import { expect, test } from 'vitest';
import type { ClusterNode } from './client/cluster-facts.ts';
import { type Release, releaseOf } from './client/release.ts';
import { isAt, roundsOf } from './cluster-checklist.ts';

const release = (text: string): Release => {
  const found = releaseOf(text);
  if (!found) throw new Error(`${text} is no release`);
  return found;
};

test.each([
  ['v1.32.4+k3s1', 'v1.32.5+k3s1', ['v1.32.5+k3s1']],
  ['v1.32.5+k3s1', 'v1.32.5+k3s2', ['v1.32.5+k3s2']],
  ['v1.32.5+k3s2', 'v1.32.5+k3s2', []],
  // A newer patch is not brought back to an older one, whatever the number of its build.
  ['v1.32.6+k3s1', 'v1.32.5+k3s2', []],
  ['v1.32.6-eks-0a0a0a', 'v1.32.5-eks-ffffff', []],
  ['v1.33.0+k3s1', 'v1.32.5+k3s2', []],
])('a node at %s goes for %s through %j (R73)', (now, to, rounds) => {
  const target = release(to);
  expect(roundsOf({ target, between: new Map() }, { kubelet: release(now) } as ClusterNode).map(({ text }) => text)).toEqual(rounds);
  expect(isAt(release(now), target)).toBe(rounds.length === 0);
});
