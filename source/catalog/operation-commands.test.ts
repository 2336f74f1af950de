import { expect, test } from 'vitest';
import { withOperationCommands } from './operation-commands.ts';
import type { Component } from './schema.ts';

const component = {
  id: 'notes',
  operations: [
    { id: 'migrate', call: 'migrate' },
    { id: 'list', call: 'list' },
  ],
  calls: {
    migrate: { exec: { service: 'web', argv: ['notes', 'migrate', '--to=<version>', "it's"] } },
    list: { http: { path: '/list' } },
  },
  errors: [{ remedy: 'Run {run migrate} twice: {run migrate}' }],
} as unknown as Component;

const remedyOf = ({ errors }: Component) => (errors as unknown as { remedy: string }[])[0]?.remedy;

test('a text names an operation as the command that runs it, with inputs in capitals and arguments quoted', () => {
  const command = "quarterdeck exec notes -- notes migrate --to=VERSION 'it'\\''s'";
  const { component: read, unknown } = withOperationCommands(component, false);
  expect(remedyOf(read)).toBe(`Run ${command} twice: ${command}`);
  expect(unknown).toEqual([]);
  expect(remedyOf(withOperationCommands(component, true).component)).toContain('quarterdeck exec notes --service web -- notes');
});

test('an operation that does not exist, or runs no program, is reported where it is named', () => {
  const wrong = { ...component, errors: [{ remedy: 'Run {run list} or {run mirgate}' }] } as unknown as Component;
  expect(withOperationCommands(wrong, false).unknown).toEqual([
    { path: ['errors', 0, 'remedy'], id: 'list', known: ['migrate'] },
    { path: ['errors', 0, 'remedy'], id: 'mirgate', known: ['migrate'] },
  ]);
});
