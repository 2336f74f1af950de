import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { engineEvent } from './events.ts';
import { JsonLines } from './json-lines.ts';

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

test.each(['die', 'died'])('%s is an end', (word) => expect(engineEvent(old(word))).toMatchObject({ action: 'die' }));

test.each(['destroy', 'remove'])('%s is a removal', (word) => expect(engineEvent(old(word))).toMatchObject({ action: 'remove' }));

test('kill carries its signal', () => expect(engineEvent(old('kill', { signal: '15' }))).toMatchObject({ action: 'kill', signal: '15' }));

test.each(['health_status: unhealthy', 'health_status'])('%s is a change of health', (word) =>
  expect(engineEvent(old(word))).toMatchObject({ action: 'health' }),
);

test.each(['exec_create: /bin/sh -c true', 'exec_start: /bin/sh -c true', 'exec_die', 'exec_died', 'exec', 'sync', 'top', 'init', 'mount'])(
  '%s is no news',
  (word) => {
    expect(engineEvent(old(word))).toBeUndefined();
  },
);

test('the exec that ends a health check which Podman reports as it begins is a change of health', () => {
  const checked = new Set<string | undefined>();
  const words = ['exec_died', 'health_status', 'exec_died', 'exec_died', 'remove', 'exec_died'];
  expect(words.map((word) => engineEvent(old(word), checked)?.action)).toEqual([
    ...[undefined, 'health', 'health', 'health', 'remove', undefined],
  ]);
});

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

describe('what no engine has said yet', () => {
  it.each([{ time: -1.8e305 }, { time: 8.64e12 + 1 }, { timeNano: 1e300 }])('has no time that no clock can show: %o (R58)', (when) => {
    expect(engineEvent({ Type: 'container', Action: 'die', ...when })?.timeMs).toBe(0);
  });

  it('is an event of another kind, with its time, or no news; never thrown (R58)', () => {
    const anything = fc.anything({ withNullPrototype: true, maxDepth: 4 });
    const event = fc.record(
      {
        Type: anything,
        Action: fc.oneof(anything, fc.constantFrom('die', 'kill', 'health_status: ?', 'x'.repeat(100_000), '\u001b]0;t\u0007')),
        status: anything,
        id: anything,
        Actor: fc.oneof(anything, fc.record({ ID: anything, Attributes: anything }, { requiredKeys: [] })),
        time: anything,
        timeNano: anything,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(anything, event), (raw) => {
        const reported = engineEvent(raw);
        if (!reported) return;
        expect(reported.id).toBeTypeOf('string');
        expect(() => new Date(reported.timeMs).toISOString()).not.toThrow();
        expect(reported.attributes).toBeTypeOf('object');
      }),
      { numRuns: 500 },
    );
    expect(engineEvent({ Type: 'volcano', Action: 'erupt', Actor: { ID: 'v1' }, time: 5 })).toMatchObject({
      kind: 'other',
      action: 'other',
      id: 'v1',
      timeMs: 5000,
    });
  });

  it('cut, huge or nested without end keeps nothing from the events behind it (R58)', () => {
    const lines = new JsonLines();
    const deep = `${'{"a":['.repeat(30_000)}1${']}'.repeat(30_000)}`;
    const read = [
      ...lines.push(Buffer.from(`\u0000\u0001\u00ff{"Action":\n${deep}\n`)),
      ...lines.push(Buffer.from(`{"Type":"container","Action":"${'x'.repeat(5_000_000)}"}\n`)),
      ...lines.push(Buffer.from('{"Type":"container","Action":"start","Actor":{"ID":"c1"},"time":7}\n')),
    ];
    expect(read.map((raw) => engineEvent(raw)).filter((event) => event?.action === 'start')).toEqual([
      expect.objectContaining({ kind: 'container', id: 'c1', timeMs: 7000 }),
    ]);
  });
});
