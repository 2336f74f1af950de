import { expect, it } from 'vitest';
import { Fault } from '../faults/fault.ts';
import { type Message, testMessage } from './message.ts';
import { dueMessages, enqueue, settle } from './outbox.ts';
import { emptyState } from './state-file.ts';

const targets = { phone: { type: 'desktop' }, mail: { type: 'desktop' } } as const;
const numbered = (title: number): Message => ({ ...testMessage, title: String(title) });
const away = (afterMs?: number) =>
  ({ state: 'failed', fault: new Fault('unreachable.notification', 'Away.', 'Wait.'), retry: true, ...(afterMs && { afterMs }) }) as const;
const titles = (outbox: Parameters<typeof dueMessages>[0], nowMs: number) =>
  dueMessages(outbox, targets, nowMs).map(({ target, message }) => `${target} ${message.title}`);

it('sends to each target in order, and waits longer after each failure', () => {
  let outbox: Parameters<typeof enqueue>[0] = enqueue(emptyState, ['phone', 'mail'], numbered(1), 0);
  outbox = enqueue(outbox, ['phone'], numbered(2), 0);
  expect(titles(outbox, 0)).toEqual(['phone 1', 'mail 1']);
  const waits: number[] = [];
  for (let nowMs = 0, tries = 0; tries < 12; tries++) {
    const [tried] = dueMessages(outbox, targets, nowMs);
    if (!tried) throw new Error('nothing is due');
    outbox = settle(outbox, tried, away(), nowMs);
    const nextMs = outbox.queue[0]?.nextMs ?? 0;
    waits.push((nextMs - nowMs) / 1000);
    nowMs = nextMs;
  }
  expect(waits).toEqual([15, 30, 60, 120, 240, 480, 960, 1800, 1800, 1800, 1800, 1800]);
});

it('waits as long as the receiver said, and recovers', () => {
  const queued = enqueue(emptyState, ['phone'], numbered(1), 0);
  const failed = settle(queued, queued.queue[0] as never, away(120_000), 0);
  expect(failed.failures).toEqual({ phone: { atMs: 0, message: 'Away.', remedy: 'Wait.', dropped: 0 } });
  expect([titles(failed, 119_999), titles(failed, 120_000)]).toEqual([[], ['phone 1']]);
  expect(settle(failed, failed.queue[0] as never, { state: 'sent' }, 120_000)).toEqual({ queue: [], failures: {} });
});

it('gives up what was refused, and what is a day old', () => {
  const queued = enqueue(emptyState, ['phone'], numbered(1), 0);
  const refused = { ...away(), retry: false } as const;
  expect(settle(queued, queued.queue[0] as never, refused, 0)).toMatchObject({ queue: [], failures: { phone: { dropped: 1 } } });
  expect(settle(queued, queued.queue[0] as never, away(), 86_400_000)).toMatchObject({ queue: [], failures: { phone: { dropped: 1 } } });
});

it('keeps the newest fifty messages of a target, and counts the others', () => {
  let outbox: Parameters<typeof enqueue>[0] = emptyState;
  for (let title = 1; title <= 60; title++) outbox = enqueue(outbox, ['phone', 'mail'], numbered(title), 0);
  const ofPhone = outbox.queue.filter(({ target }) => target === 'phone').map(({ message }) => message.title);
  expect([ofPhone.length, ofPhone[0], ofPhone.at(-1)]).toEqual([50, '11', '60']);
  expect(outbox.failures['phone']?.dropped).toBe(10);
});
