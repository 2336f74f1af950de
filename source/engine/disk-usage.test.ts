import { expect, test } from 'vitest';
import { dockerDiskUsage, isAnonymous, podmanDiskUsage } from './disk-usage.ts';

const hex = 'f'.repeat(64);
const image = {
  Containers: 5,
  Created: 1795167971,
  Id: 'sha256:a9',
  Labels: null,
  RepoTags: ['local/busybox:1'],
  SharedSize: 10,
  Size: 1982417,
  VirtualSize: 1982417,
};
const container = { Id: '94a4', Names: ['/fails'], State: 'exited', SizeRw: 12, SizeRootFs: 1982429 };
const volumes = [
  { Name: 'data', Labels: null, UsageData: { Size: 4096, RefCount: 1 } },
  { Name: hex, Labels: { 'com.docker.volume.anonymous': '' }, UsageData: { Size: -1, RefCount: 0 } },
];
const cache = { ID: 'c1', Size: 7, InUse: false };
const expected = {
  images: [
    {
      id: 'sha256:a9',
      tags: ['local/busybox:1'],
      sizeBytes: 1982417,
      labels: {},
      dangling: false,
      containers: 5,
      sharedBytes: 10,
    },
  ],
  containers: [{ id: '94a4', name: 'fails', state: 'exited', sizeBytes: 12 }],
  volumes: [
    { name: 'data', sizeBytes: 4096, usedBy: 1, anonymous: false },
    { name: hex, sizeBytes: undefined, usedBy: 0, anonymous: true },
  ],
  buildCache: [{ id: 'c1', sizeBytes: 7, inUse: false }],
};

test('Docker up to API 1.51', () => {
  expect(dockerDiskUsage({ Images: [image], Containers: [container], Volumes: volumes, BuildCache: [cache] })).toEqual(expected);
});

test('Docker from API 1.52 on: the same in other places', () => {
  const items = <T>(Items: T[]) => ({ ActiveCount: 1, TotalCount: 1, TotalSize: 1, Reclaimable: 0, Items });
  expect(
    dockerDiskUsage({
      ImagesUsage: items([image]),
      ContainersUsage: items([container]),
      VolumesUsage: items(volumes),
      BuildCacheUsage: items([cache]),
    }),
  ).toEqual(expected);
});

test('nothing there at all', () => {
  const none = { images: [], containers: [], volumes: [], buildCache: [] };
  expect(dockerDiskUsage({ Images: null, Containers: null, Volumes: null, BuildCache: null })).toEqual(none);
  expect(dockerDiskUsage({ ImagesUsage: {}, ContainersUsage: {}, VolumesUsage: {}, BuildCacheUsage: {} })).toEqual(none);
  expect(podmanDiskUsage({ Images: null, Containers: null, Volumes: null }, [], new Map())).toEqual(none);
});

test("Podman's own answer: an image once, however many tags, with the names that the list has", () => {
  const id = '6'.repeat(64);
  const listed = {
    id: `sha256:${id}`,
    tags: ['docker.io/local/busybox:latest', 'localhost/foo:1'],
    sizeBytes: 1997895,
    labels: { a: 'b' },
    dangling: false,
  };
  const row = (Repository: string, Tag: string) => ({ Repository, Tag, ImageID: id, Size: 1997895, SharedSize: 0, Containers: 6 });
  const usage = podmanDiskUsage(
    {
      Images: [row('docker.io/local/busybox', 'latest'), row('localhost/foo', '1')],
      Containers: [{ ContainerID: '72cf', Names: 'talk', Status: 'running', RWSize: 12 }],
      Volumes: [{ VolumeName: hex, Links: 0, Size: 3 }],
    },
    [listed],
    new Map(),
  );
  expect(usage).toEqual({
    images: [{ ...listed, containers: 6, sharedBytes: 0 }],
    containers: [{ id: '72cf', name: 'talk', state: 'running', sizeBytes: 12 }],
    volumes: [{ name: hex, sizeBytes: 3, usedBy: 0, anonymous: true }],
    buildCache: [],
  });
});

test('a volume without a name of its own is anonymous', () => {
  expect(isAnonymous(hex, null)).toBe(true);
  expect(isAnonymous('data', { 'com.docker.volume.anonymous': '' })).toBe(true);
  expect(isAnonymous('data', {})).toBe(false);
});
