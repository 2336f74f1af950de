import { afterEach, beforeEach, expect, test } from 'vitest';
import { FlowFixture } from '../../test/doubles/flow-fixture.ts';
import { readRunJournals } from '../session/journal.ts';
import { chooseOne, deleteOne } from './delete-one.ts';
import type { Flow } from './flow.ts';

let fixture: FlowFixture;
let items: { id: string; name: string }[];
let isStuck: boolean;
let isCut: boolean;

beforeEach(async () => {
  fixture = await FlowFixture.open();
  items = [
    { id: '1', name: 'fore' },
    { id: '2', name: 'aft' },
    { id: '3', name: 'aft' },
  ];
  isStuck = false;
  isCut = false;
});
afterEach(() => fixture.close());

const flow: Flow = {
  ...{ id: 'lamps-delete', verb: 'lamps delete', title: 'Delete a lamp', summary: '', right: 'destroy', about: 'host' },
  run: (session, { words: [word] }) =>
    deleteOne(session, {
      noun: 'lamp',
      list: async () => items,
      idOf: ({ id }) => id,
      nameOf: ({ name }) => name,
      choose: (all) =>
        chooseOne(session, all, {
          ...{ noun: 'lamp', idOf: ({ id }) => id, nameOf: ({ name }) => name },
          ...{ word, step: 'lamp', code: 'usage.lamp', whenNone: 'Light one.' },
        }),
      action: ({ id }) => ({
        request: `DELETE /lamps/${id}`,
        target: { host: 'local' },
        consequences: ['Its light.'],
        run: async () => {
          if (!isStuck) items = items.filter((one) => one.id !== id);
          if (isCut) throw new Error('the connection was lost');
        },
      }),
      stillThere: { code: 'failed.lamp', remedy: 'Blow.' },
    }),
};
const run = (...words: string[]) => fixture.run(flow, undefined, { words });

test('deletes the item that is named by name or id, or chosen, and no other', async () => {
  expect(await run('fore')).toEqual({ message: 'Deleted lamp fore.', data: { name: 'fore' } });
  await run('3');
  expect(items).toEqual([{ id: '2', name: 'aft' }]);
  fixture.operator.answers = { lamp: ['2'] };
  await run();
  expect(items).toEqual([]);
});

test('an unknown name, an ambiguous one, and a list without items are usage errors', async () => {
  await expect(run('for')).rejects.toMatchObject({ code: 'usage.lamp', remedy: 'Did you mean "fore"?' });
  await expect(run('aft')).rejects.toMatchObject({ code: 'usage.lamp', remedy: 'Use an ID: 2, 3.' });
  items = [];
  await expect(run()).rejects.toMatchObject({ code: 'usage.lamp', message: 'No lamp exists.', remedy: 'Light one.' });
});

test('a dry run, a cancelled prompt and a missing confirmation delete nothing', async () => {
  fixture.policy = { ...fixture.policy, dryRun: true };
  expect(await run('fore')).toMatchObject({ message: 'Dry run: no lamp was deleted.' });
  fixture.policy = { ...fixture.policy, dryRun: false };
  fixture.operator.confirms = false;
  await expect(run('fore')).rejects.toMatchObject({ code: 'refused.notConfirmed' });
  expect(items).toHaveLength(3);
});

test('an item that is still listed afterwards is a failure', async () => {
  isStuck = true;
  await expect(run('fore')).rejects.toMatchObject({ code: 'failed.lamp', message: 'The lamp fore still exists.' });
});

test('a run that was interrupted after the deletion is resumed and reports success', async () => {
  isCut = true;
  await expect(run('fore')).rejects.toThrow('the connection was lost');
  const [left] = (await readRunJournals(fixture.journal)).open;
  fixture.resume = left?.run;
  expect(await run('fore')).toEqual({ message: 'Deleted lamp fore.', data: { name: 'fore' } });
});
