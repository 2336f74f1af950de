import { describe, expect, test } from 'vitest';
import { distributionOf } from './distribution.ts';
import { compareReleases, newestMinorAt, releaseOf, typedRelease } from './release.ts';
import { pathText, skewProblems } from './skew.ts';

const release = (text: string) => {
  const found = releaseOf(text);
  if (!found) throw new Error(`${text} is no release`);
  return found;
};

describe('releases', () => {
  test.each([
    ['v1.33.4', 1, 33, 4, ''],
    ['v1.33.4+k3s1', 1, 33, 4, 'k3s1'],
    ['v1.31.2+rke2r1', 1, 31, 2, 'rke2r1'],
    ['v1.30.5-gke.1014001', 1, 30, 5, 'gke.1014001'],
    ['v1.29.1-eks-508b6b3', 1, 29, 1, 'eks-508b6b3'],
    ['v1.35.0-rc.1.12+0123abcd', 1, 35, 0, 'rc.1.12.0123abcd'],
  ])('%s is read whole', (text, major, minor, patch, vendor) => {
    expect(releaseOf(text)).toEqual({ major, minor, patch, vendor, text });
  });
  test.each(['', 'latest', '35+', 'v1', 'Kubernetes'])('%j is none', (text) => expect(releaseOf(text)).toBeUndefined());
  test.each([
    ['1.32', { minor: 32, patch: undefined }],
    ['v1.32', { minor: 32, patch: undefined }],
    ['1.32.4', { minor: 32, patch: 4 }],
    [' v1.32.4+k3s1 ', { minor: 32, patch: 4, vendor: 'k3s1' }],
  ])('%j is what an operator types', (text, expected) => expect(typedRelease(text)).toMatchObject(expected));
  test('are in order, builds of a vendor too', () => {
    const sorted = ['v1.32.0', 'v1.31.6+k3s2', 'v1.31.10', 'v1.31.6+k3s1', 'v1.31.6'].map(release).sort(compareReleases);
    expect(sorted.map(({ text }) => text)).toEqual(['v1.31.6', 'v1.31.6+k3s1', 'v1.31.6+k3s2', 'v1.31.10', 'v1.32.0']);
  });
  test('three minors come each year (R73)', () => {
    const now = newestMinorAt(Date.UTC(2026, 10, 22));
    expect(newestMinorAt(Date.UTC(2027, 10, 22)) - now).toBe(3);
    expect(newestMinorAt(Date.UTC(2020, 0, 1))).toBeLessThanOrEqual(now);
  });
});

describe('version skew (R73)', () => {
  const facts = (...apiServers: string[]) => ({
    ...{ apiServers: apiServers.map(release), nodes: [], controllers: [], planes: new Map() },
    distribution: distributionOf(release('v1.31.6'), []),
  });
  const node = (kubelet: string, proxy = kubelet) => ({ name: 'worker-1', kubelet: release(kubelet), proxy: release(proxy) });
  const problems = (apiServers: string[], kubelet: string, proxy?: string) =>
    skewProblems({ ...facts(...apiServers), nodes: [node(kubelet, proxy)] });

  test.each([
    [['v1.31.6'], 'v1.31.6'],
    [['v1.31.6'], 'v1.28.2'],
    [['v1.31.6', 'v1.32.0'], 'v1.31.9'],
    [['v1.26.0'], 'v1.24.0'],
  ])('%s with a kubelet of %s is allowed', (servers, kubelet) => expect(problems(servers, kubelet)).toEqual([]));
  test.each([
    [['v1.31.6'], 'v1.32.0', undefined, /newer than the API server/],
    [['v1.31.6'], 'v1.27.0', undefined, /4 minor versions behind.*the limit is 3/],
    [['v1.27.0'], 'v1.24.0', undefined, /3 minor versions behind.*the limit is 2/],
    [['v1.31.6', 'v1.32.0'], 'v1.32.0', undefined, /newer than the API server \(v1\.31\.6\)/],
    [['v1.31.6', 'v1.32.0'], 'v1.28.0', undefined, /4 minor versions behind the API server \(v1\.32\.0\)/],
    [['v1.31.6', 'v1.33.0'], 'v1.31.0', undefined, /at most one minor version/],
    [['v1.31.6'], 'v1.31.0', 'v1.32.0', /kube-proxy.*newer/],
  ])('%s with a kubelet of %s is told', (servers, kubelet, proxy, expected) => {
    expect(problems(servers, kubelet, proxy).join(' ')).toMatch(expected);
  });
  test('a controller manager is not newer, and one minor older at most', () => {
    const of = (text: string) =>
      skewProblems({ ...facts('v1.31.6'), controllers: [{ name: 'The scheduler', release: release(text), apiServer: undefined }] });
    expect(of('v1.30.9')).toEqual([]);
    expect(of('v1.29.9')).toHaveLength(1);
    expect(of('v1.32.0')).toHaveLength(1);
  });
});

test('the path to a minor names each one between (R73)', () => {
  expect(pathText(31, 33)).toBe('1.31 -> 1.32 -> 1.33');
});
