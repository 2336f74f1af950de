import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { takeOneOf, takeTurn } from './turns.ts';

it('a turn alone is alone, those beside each other have theirs together, and nobody is overtaken', async () => {
  const name = `test ${randomBytes(6).toString('hex')}`;
  const have: string[] = [];
  const ask = async (who: string, turn: 'alone' | 'beside') => {
    const giveBack = await takeTurn(name, turn);
    have.push(who);
    return giveBack;
  };
  /** What was asked before has been answered when this one is. */
  const answered = async () => (await takeTurn(`${name} ${randomBytes(6).toString('hex')}`))();

  const first = await ask('first', 'alone');
  const [second, third, fourth, fifth] = [ask('second', 'beside'), ask('third', 'beside'), ask('fourth', 'alone'), ask('fifth', 'beside')];
  await answered();
  expect(have).toEqual(['first']);

  first();
  const together = [await second, await third];
  together[1]?.();
  await answered();
  expect(have).toEqual(['first', 'second', 'third']);

  together[0]?.();
  (await fourth)();
  (await fifth)();
  expect(have).toEqual(['first', 'second', 'third', 'fourth', 'fifth']);
});

it('of two, whoever asks gets the one that is free first, and nobody waits for the other any more', async () => {
  const own = randomBytes(6).toString('hex');
  const [one, two] = [`one ${own}`, `two ${own}`] as const;
  const first = await takeOneOf([one, two]);
  const second = await takeOneOf([one, two]);
  expect([first.name, second.name]).toEqual([one, two]);

  const third = takeOneOf([one, two]);
  const fourth = takeTurn(one);
  second.giveBack();
  expect((await third).name).toBe(two);
  first.giveBack();
  (await fourth)();
  (await third).giveBack();
  (await takeTurn(two))();
});
