import { expect, test } from 'vitest';
import { Fault } from '../faults/fault.ts';
import type { Host, HostLinkView } from '../hosts/host.ts';
import { ConnectionWatch, connectionView } from './connection-watch.ts';

test('a round trip that was held up changes nothing; a way that has become slower is told', () => {
  const reported = new Set<() => void>();
  let view: HostLinkView = { state: 'connecting', sinceMs: 0 };
  const link = {
    get view() {
      return view;
    },
    subscribe: (changed: () => void) => {
      reported.add(changed);
      return () => reported.delete(changed);
    },
  };
  const host = { name: 'nas', link } as unknown as Host;
  let changes = 0;
  const watch = new ConnectionWatch(() => {
    changes++;
  });
  watch.follow(host);
  const say = (next: HostLinkView) => {
    view = next;
    for (const tell of reported) tell();
  };
  const measured = (ms: number) => say({ state: 'connected', sinceMs: 1, roundTripMs: ms });
  say({ state: 'connected', sinceMs: 1 });
  for (let count = 0; count < 4; count++) measured(4);
  expect(watch.of(host)?.roundTripMs).toBe(4);
  const before = changes;
  for (const ms of [90, 5, 40, 4, 3, 200, 4, 5, 4, 60, 3, 4, 35, 4]) measured(ms);
  expect(changes).toBe(before);

  for (let count = 0; count < 7; count++) measured(80);
  expect(watch.of(host)?.roundTripMs).toBe(80);
  expect(changes).toBeLessThanOrEqual(before + 2);

  // Another connection is measured again.
  say({ state: 'away', sinceMs: 2 });
  say({ state: 'connected', sinceMs: 3 });
  measured(5);
  expect(watch.of(host)?.roundTripMs).toBe(5);
});

const connected = (roundTripMs: number) => ({ state: 'connected' as const, sinceMs: 1, roundTripMs });

test('a round trip that trembles is told as it was, so that nothing is drawn anew', () => {
  const first = connectionView(connected(12.4), undefined);
  expect(first.roundTripMs).toBe(12);
  for (const ms of [11.2, 13.9, 9.8, 15.5]) expect(connectionView(connected(ms), first)).toBe(first);
  const slower = connectionView(connected(48.6), first);
  expect(slower.roundTripMs).toBe(49);
  expect(connectionView(connected(61), slower)).toBe(slower);
});

test('a machine that says nothing sleeps, one that says no is away', () => {
  const fault = (code: `unreachable.${string}`) => new Fault(code, 'Why.', 'What to do.');
  const away = (code: `unreachable.${string}`) =>
    connectionView({ state: 'away', sinceMs: 1, fault: fault(code), retryAtMs: 9 }, undefined);
  expect(away('unreachable.silent')).toMatchObject({ state: 'asleep', message: 'Why.', remedy: 'What to do.', retryAtMs: 9 });
  expect(away('unreachable.host').state).toBe('away');
});
