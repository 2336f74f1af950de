import { expect, test } from 'vitest';
import { type PullLine, PullSum } from './pull.ts';

const line = (id: string, status: string, current?: number, total?: number): PullLine => ({
  id,
  status,
  progressDetail: current === undefined ? {} : { current, total },
});

test('Docker: layers add up, a size that comes later does not send the bar back, and the end is the end', () => {
  const sum = new PullSum('docker');
  expect(sum.take({ id: '16-alpine', status: 'Pulling from library/postgres' })).toBeUndefined();
  expect(sum.take(line('a', 'Already exists'))).toEqual({ fraction: undefined, text: '1 of 1 layer' });
  sum.take(line('b', 'Pulling fs layer'));
  expect(sum.take(line('c', 'Pulling fs layer'))).toEqual({ fraction: undefined, text: '1 of 3 layers' });
  expect(sum.take(line('b', 'Downloading', 5_000_000, 10_000_000))).toEqual({ fraction: 0.2, text: '1 of 3 layers, 5.0 MB of 10 MB' });
  // Ninety more than was known.
  expect(sum.take(line('c', 'Downloading', 1_000_000, 90_000_000))).toEqual({ fraction: 0.2, text: '1 of 3 layers, 6.0 MB of 100 MB' });
  sum.take(line('b', 'Download complete'));
  sum.take(line('b', 'Extracting', 10_000_000, 10_000_000));
  sum.take(line('b', 'Pull complete'));
  expect(sum.take(line('c', 'Downloading', 90_000_000, 90_000_000))?.fraction).toBeCloseTo(0.82);
  // Docker with the containerd image store counts seconds during unpacking.
  expect(sum.take({ id: 'c', status: 'Extracting', progressDetail: { current: 3, units: 's' } })?.text).toBe(
    '2 of 3 layers, 100 MB of 100 MB',
  );
  expect(sum.end()).toEqual({ fraction: 1, text: '3 of 3 layers, 100 MB of 100 MB' });
});

test('a layer whose fetching broke off begins anew', () => {
  const sum = new PullSum('docker');
  sum.take(line('a', 'Downloading', 8, 10));
  expect(sum.take(line('a', 'Retrying in 5 seconds'))?.fraction).toBeCloseTo(0.64);
  expect(sum.take(line('a', 'Downloading', 2, 10))?.text).toBe('0 of 1 layer, 2 B of 10 B');
});

test('Podman: what is fetched is done, with or without sizes', () => {
  const sum = new PullSum('podman');
  sum.take(line('a', 'Pulling fs layer'));
  expect(sum.take(line('a', 'Download complete'))).toEqual({ fraction: undefined, text: '1 of 1 layer' });
  sum.take(line('b', 'Pulling fs layer'));
  expect(sum.take(line('b', 'Downloading', 3_000_000, -1))).toEqual({ fraction: undefined, text: '1 of 2 layers, 3.0 MB' });
  expect(sum.end()).toMatchObject({ fraction: 1, text: '2 of 2 layers, 3.0 MB' });
});

test('an image that is here already comes without layers', () => {
  const sum = new PullSum('docker');
  expect(sum.take({ status: 'Status: Image is up to date for caddy:latest' })).toBeUndefined();
  expect(sum.end()).toEqual({ fraction: 1, text: 'already present' });
});
