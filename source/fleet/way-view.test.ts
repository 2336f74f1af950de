import { expect, test } from 'vitest';
import { Fault } from '../faults/fault.ts';
import { wayView } from './way-view.ts';

const connected = (roundTripMs: number) => ({ state: 'connected' as const, sinceMs: 1, roundTripMs });

test('a round trip that trembles is told as it was, so that nothing is drawn anew', () => {
  const first = wayView(connected(12.4), undefined);
  expect(first.roundTripMs).toBe(12);
  for (const ms of [11.2, 13.9, 9.8, 15.5]) expect(wayView(connected(ms), first)).toBe(first);
  const slower = wayView(connected(48.6), first);
  expect(slower.roundTripMs).toBe(49);
  expect(wayView(connected(61), slower)).toBe(slower);
});

test('a machine that says nothing sleeps, one that says no is away', () => {
  const fault = (code: `unreachable.${string}`) => new Fault({ code, message: 'Why.', remedy: 'What to do.' });
  const away = (code: `unreachable.${string}`) => wayView({ state: 'away', sinceMs: 1, fault: fault(code), retryAtMs: 9 }, undefined);
  expect(away('unreachable.silent')).toMatchObject({ state: 'asleep', message: 'Why.', remedy: 'What to do.', retryAtMs: 9 });
  expect(away('unreachable.host').state).toBe('away');
});
