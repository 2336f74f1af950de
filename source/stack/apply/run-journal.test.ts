import { expect, test } from 'vitest';
import type { Plan } from '../model.ts';
import { doing } from './run-journal.ts';
import type { Transaction } from './transaction.ts';

const change = (kind: Plan['kind']) => ({ plans: [{ component: 'notes', kind }] }) as unknown as Transaction;

test.each([
  ['deploy', 'place:notes', 'writing the files of notes'],
  ['deploy', 'up:notes', 'creating the containers of notes'],
  ['deploy', 'record:notes', 'recording notes as deployed'],
  ['update', 'up:notes', 'starting the containers of notes'],
  // Its data is restored before it is started.
  ['restore', 'up:notes', 'creating the containers of notes'],
  ['remove', 'down:notes', 'removing the containers of notes'],
  ['remove', 'place:notes', 'deleting the files of notes'],
  ['remove', 'record:notes', 'recording notes as removed'],
  ['remove', 'undo:notes', 'restoring notes'],
] as const)('a %s at the step %s is %s', (kind, step, words) => {
  expect(doing(change(kind), step)).toBe(words);
});
