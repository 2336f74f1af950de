import { describe, expect, test } from 'vitest';
import { engineEvent } from './events.ts';

const id = '4e375dc355d78c802415047249c83d47bc1a54cb5b5a11c6b4b9a93941afe4d3';
const old = (action: string, attributes: Record<string, string> = {}) => ({
  status: action,
  id,
  from: 'local/busybox:1',
  Type: 'container',
  Action: action,
  Actor: { ID: id, Attributes: { image: 'local/busybox:1', name: 'ev', ...attributes } },
  scope: 'local',
  time: 1795168067,
  timeNano: Number('1795168067339520746'),
});

test('the form before API 1.52 and the one since, which lacks status, id and from, say the same', () => {
  const { status: _, id: __, from: ___, ...recent } = old('start');
  expect(engineEvent(recent)).toEqual(engineEvent(old('start')));
  expect(engineEvent(recent)).toEqual({
    kind: 'container',
    action: 'start',
    id,
    timeMs: 1795168067339,
    attributes: { image: 'local/busybox:1', name: 'ev' },
  });
});

test('very old engines say only status, id and time', () => {
  expect(engineEvent({ status: 'die', id, from: 'x', time: 1795168067 })).toMatchObject({
    kind: 'container',
    action: 'die',
    id,
    timeMs: 1795168067000,
  });
});

test.each([
  ['die', { exitCode: '137' }],
  ['died', { containerExitCode: '137' }],
  ['die', { containerExitCode: '137', exitCode: '137' }],
])('%s with %o is an end with its exit code', (word, attributes) => {
  expect(engineEvent(old(word, attributes))).toMatchObject({ action: 'die', exitCode: 137 });
});

test.each(['destroy', 'remove'])('%s is a removal', (word) => expect(engineEvent(old(word))).toMatchObject({ action: 'remove' }));

test('kill carries its signal', () => expect(engineEvent(old('kill', { signal: '15' }))).toMatchObject({ action: 'kill', signal: '15' }));

describe('health', () => {
  test('Docker puts it into the action', () =>
    expect(engineEvent(old('health_status: unhealthy'))).toMatchObject({ action: 'health', health: 'unhealthy' }));
  test('Podman puts it beside', () =>
    expect(engineEvent({ ...old('health_status'), HealthStatus: 'starting' })).toMatchObject({ action: 'health', health: 'starting' }));
});

test.each(['exec_create: /bin/sh -c true', 'exec_start: /bin/sh -c true', 'exec_die', 'exec_died', 'exec', 'sync', 'top', 'init', 'mount'])(
  '%s is no news',
  (word) => {
    expect(engineEvent(old(word))).toBeUndefined();
  },
);

test('a prune of containers names none, each of them had its own event', () => {
  expect(engineEvent({ Type: 'container', Action: 'prune', Actor: { ID: '', Attributes: { reclaimed: '0' } } })).toBeUndefined();
});

test('networks, images and volumes; Podman names a volume without an id', () => {
  expect(engineEvent({ Type: 'network', Action: 'connect', Actor: { ID: 'n1', Attributes: { container: id } }, time: 1 })).toMatchObject({
    kind: 'network',
    action: 'network',
    id: 'n1',
  });
  expect(engineEvent({ Type: 'image', Action: 'tag', Actor: { ID: 'i1' }, time: 1 })).toMatchObject({ kind: 'image', action: 'image' });
  expect(engineEvent({ Type: 'volume', Action: 'create', Actor: { ID: '', Attributes: { name: 'v1' } }, time: 1 })).toMatchObject({
    kind: 'volume',
    id: 'v1',
  });
});

test('what is no event is none', () => {
  for (const raw of [null, 7, 'start', {}, [], { Action: 3 }]) expect(engineEvent(raw)).toBeUndefined();
});
