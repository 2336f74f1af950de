import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareReleases, newestMinorAt, releaseOf, typedRelease } from './release.ts';
import { type ClusterMinors, kubeletLag, pathText, pathTo, skewProblems } from './skew.ts';

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
  const node = (kubelet: string, proxy = kubelet) => ({ name: 'worker-1', kubelet: release(kubelet), proxy: release(proxy) });
  const problems = (apiServers: string[], kubelet: string, proxy?: string) =>
    skewProblems({ apiServers: apiServers.map(release), nodes: [node(kubelet, proxy)] });

  test.each([
    [['v1.31.6'], 'v1.31.6'],
    [['v1.31.6'], 'v1.28.2'],
    [['v1.31.6', 'v1.32.0'], 'v1.31.9'],
    [['v1.26.0'], 'v1.24.0'],
  ])('%s with a kubelet of %s is allowed', (servers, kubelet) => expect(problems(servers, kubelet)).toEqual([]));
  test.each([
    [['v1.31.6'], 'v1.32.0', undefined, /newer than the API server/],
    [['v1.31.6'], 'v1.27.0', undefined, /4 minors behind.*3 are allowed/],
    [['v1.27.0'], 'v1.24.0', undefined, /3 minors behind.*2 are allowed/],
    [['v1.31.6', 'v1.32.0'], 'v1.32.0', undefined, /newer than the API server \(v1\.31\.6\)/],
    [['v1.31.6', 'v1.32.0'], 'v1.28.0', undefined, /4 minors behind the API server \(v1\.32\.0\)/],
    [['v1.31.6', 'v1.33.0'], 'v1.31.0', undefined, /one minor apart/],
    [['v1.31.6'], 'v1.31.0', 'v1.32.0', /kube-proxy.*newer/],
  ])('%s with a kubelet of %s is told', (servers, kubelet, proxy, expected) => {
    expect(problems(servers, kubelet, proxy).join(' ')).toMatch(expected);
  });
  test('a controller manager is not newer, and one minor older at most', () => {
    const of = (text: string) =>
      skewProblems({ apiServers: [release('v1.31.6')], nodes: [], controllers: [{ name: 'The scheduler', release: release(text) }] });
    expect(of('v1.30.9')).toEqual([]);
    expect(of('v1.29.9')).toHaveLength(1);
    expect(of('v1.32.0')).toHaveLength(1);
  });
});

describe('the path (R73)', () => {
  /** Generates any cluster that the policy allows. */
  const clusters = fc.integer({ min: 20, max: 60 }).chain((apiServer) =>
    fc.record({
      apiServer: fc.constant(apiServer),
      target: fc.integer({ min: apiServer, max: apiServer + 6 }),
      nodes: fc.array(fc.tuple(fc.integer({ min: 0, max: 3 }), fc.boolean()), { maxLength: 6 }).map((each) =>
        each.map(([lag, controlPlane], index) => {
          const minor = apiServer - lag;
          return { name: `node-${index}`, minor: apiServer - minor > kubeletLag(minor) ? apiServer : minor, controlPlane };
        }),
      ),
    }),
  );

  test('never skips a minor, never breaks the skew, ends with everything at the target, and moves nothing twice', () => {
    fc.assert(
      fc.property(clusters, ({ target, ...cluster }) => {
        const steps = pathTo(cluster, target);
        if (!steps) throw new Error('there is a path');
        let api = cluster.apiServer;
        const now = new Map(cluster.nodes.map(({ name, minor }) => [name, minor]));
        for (const step of steps) {
          expect(step.to).toBe(step.from + 1);
          if (step.kind === 'control-plane') {
            expect(step.from).toBe(api);
            api = step.to;
          } else {
            expect(now.get(step.node)).toBe(step.from);
            now.set(step.node, step.to);
          }
          for (const minor of now.values()) {
            expect(minor).toBeLessThanOrEqual(api);
            expect(api - minor).toBeLessThanOrEqual(kubeletLag(minor));
          }
        }
        expect(api).toBe(target);
        for (const minor of now.values()) expect(minor).toBe(target);
        const climbs = target - cluster.apiServer + cluster.nodes.reduce((sum, { minor }) => sum + target - minor, 0);
        expect(steps).toHaveLength(climbs);
      }),
    );
  });

  const cluster: ClusterMinors = {
    apiServer: 31,
    nodes: [
      { name: 'worker-3', minor: 28, controlPlane: false },
      { name: 'cp-1', minor: 31, controlPlane: true },
    ],
  };
  test('a node that would be left too far behind comes first', () => {
    const reported = pathTo(cluster, 32)?.map((step) => `${step.kind === 'node' ? step.node : 'control plane'} ${step.to}`);
    expect(reported).toEqual(['worker-3 29', 'worker-3 30', 'worker-3 31', 'control plane 32', 'cp-1 32', 'worker-3 32']);
  });
  test('there is none back, and none for a kubelet that is newer than its API server', () => {
    expect(pathTo(cluster, 30)).toBeUndefined();
    expect(pathTo({ apiServer: 31, nodes: [{ name: 'w', minor: 32, controlPlane: false }] }, 32)).toBeUndefined();
    expect(pathText(31, 33)).toBe('1.31 -> 1.32 -> 1.33');
  });
});
