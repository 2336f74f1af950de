import { expect, test } from 'vitest';
import { haltedSentence, type StillContainer } from './stopped-containers.ts';

const record = {
  schema: 1,
  run: 'backup-x',
  flow: 'backup',
  component: 'notes',
  by: 'ada@nas',
  startedAt: '2026-01-01T00:00:00.000Z',
} as const;

test.each<[string, Record<string, StillContainer['how']>]>([
  ['app was stopped', { app: 'stopped' }],
  ['app and db were paused', { app: 'paused', db: 'paused' }],
  ['app and web were stopped and db was paused', { app: 'stopped', db: 'paused', web: 'stopped' }],
])('an interrupted backup says how its containers were halted: %s', (halted, containers) => {
  const all = Object.entries(containers).map(([name, how]) => ({ id: name, name, how }));
  expect(haltedSentence({ ...record, containers: all })).toBe(`The backup was interrupted while ${halted}.`);
});
