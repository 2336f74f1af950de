import { expect, test } from 'vitest';
import { Fault } from '../faults/fault.ts';
import type { Session } from '../session/session.ts';
import { unlessCancelled } from './prompt-cancelled.ts';

const session = (signal = new AbortController().signal) => ({ signal }) as Session;
const leave = (code: Fault['code'] = 'interrupted.cancelled') => Promise.reject(new Fault(code, 'Cancelled.', 'Run the command again.'));

test('a cancelled prompt says what it leaves, and how to start again', async () => {
  await expect(unlessCancelled(session(), 'Nothing was deleted.', leave)).rejects.toMatchObject({
    ...{ code: 'interrupted.cancelled', message: 'Nothing was deleted.', remedy: 'Run the command again to continue.' },
    cause: { message: 'Cancelled.' },
  });
  const left = { message: 'It is still open.', remedy: 'Close it.' };
  await expect(unlessCancelled(session(), () => left, leave)).rejects.toMatchObject(left);
});

test('what was not cancelled at a prompt stays what it is: a step may have been under way', async () => {
  const stopped = session(AbortSignal.abort());
  await expect(unlessCancelled(stopped, 'Nothing was deleted.', leave)).rejects.toThrow('Cancelled.');
  for (const code of ['interrupted.act', 'failed.crowdsec'] as const)
    await expect(unlessCancelled(session(), 'Nothing was deleted.', () => leave(code))).rejects.toMatchObject({ code });
  expect(await unlessCancelled(session(), 'Nothing was deleted.', async () => 'done')).toBe('done');
});
