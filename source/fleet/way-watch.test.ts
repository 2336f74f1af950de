import { expect, test } from 'vitest';
import type { Host, HostLinkView } from '../hosts/host.ts';
import { WayWatch } from './way-watch.ts';

test('a round trip that was held up changes nothing; a way that has become slower is told', () => {
  const told = new Set<() => void>();
  let view: HostLinkView = { state: 'connecting', sinceMs: 0 };
  const link = {
    get view() {
      return view;
    },
    subscribe: (changed: () => void) => {
      told.add(changed);
      return () => told.delete(changed);
    },
  };
  const host = { name: 'nas', link } as unknown as Host;
  let changes = 0;
  const watch = new WayWatch(() => {
    changes++;
  });
  watch.follow(host);
  const say = (next: HostLinkView) => {
    view = next;
    for (const tell of told) tell();
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

  // Another connection is measured anew.
  say({ state: 'away', sinceMs: 2 });
  say({ state: 'connected', sinceMs: 3 });
  measured(5);
  expect(watch.of(host)?.roundTripMs).toBe(5);
});
