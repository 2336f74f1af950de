import { expect, it } from 'vitest';
import { inTurn } from './terminal-turns.ts';

const signal = new AbortController().signal;

it('gives the terminal to one after the other, in the order in which they asked', async () => {
  const terminal = {};
  const reported: string[] = [];
  const first = Promise.withResolvers<void>();
  const use = (name: string, until: Promise<void>) => async () => {
    reported.push(`${name} begins`);
    await until;
    reported.push(`${name} ends`);
  };
  const all = [
    inTurn(terminal, signal, use('flow', first.promise)),
    inTurn(terminal, signal, use('host', Promise.resolve())),
    inTurn(terminal, signal, use('flow again', Promise.resolve())),
  ];
  // The queue of another terminal is independent.
  await inTurn({}, signal, use('elsewhere', Promise.resolve()));
  expect(reported).toEqual(['flow begins', 'elsewhere begins', 'elsewhere ends']);
  first.resolve();
  await Promise.all(all);
  expect(reported.slice(3)).toEqual(['flow ends', 'host begins', 'host ends', 'flow again begins', 'flow again ends']);
});

it('lets go of a turn that failed, and of one that is no longer waited for', async () => {
  const terminal = {};
  const leaving = new AbortController();
  const held = Promise.withResolvers<void>();
  const failing = inTurn(terminal, signal, async () => {
    await held.promise;
    throw new Error('broken');
  });
  const withdrawn = inTurn(terminal, leaving.signal, async () => 'never');
  const next = inTurn(terminal, signal, async () => 'asked');
  leaving.abort(new Error('no longer asked'));
  await expect(withdrawn).rejects.toThrow('no longer asked');
  held.resolve();
  await expect(failing).rejects.toThrow('broken');
  expect(await next).toBe('asked');
});
