import { expect, test } from 'vitest';
import { withOperationCommands } from './operation-commands.ts';
import type { Component } from './schema.ts';

const component = {
  id: 'notes',
  operations: [
    { id: 'migrate', call: 'migrate' },
    { id: 'list', call: 'list' },
  ],
  errors: [{ remedy: 'Run {run migrate} twice: {run migrate}' }],
} as unknown as Component;

const remedyOf = ({ errors }: Component) => (errors as unknown as { remedy: string }[])[0]?.remedy;

test('a text names an operation as the command that runs it', () => {
  const { component: read, unknown } = withOperationCommands(component);
  expect(remedyOf(read)).toBe('Run quarterdeck op notes migrate twice: quarterdeck op notes migrate');
  expect(unknown).toEqual([]);
});

test('an operation that does not exist is reported where it is named', () => {
  const wrong = { ...component, errors: [{ remedy: 'Run {run list} or {run mirgate}' }] } as unknown as Component;
  expect(withOperationCommands(wrong).unknown).toEqual([{ path: ['errors', 0, 'remedy'], id: 'mirgate', known: ['migrate', 'list'] }]);
});
