import { expect, it } from 'vitest';
import { examineConfig } from './config-check.ts';

const schema = JSON.stringify({
  type: 'object',
  properties: { apiVersion: { const: 'v1' }, kind: { const: 'Quota' }, spec: { type: 'object' }, items: false },
  required: ['kind', 'spec'],
});
const check = (text: string) => {
  const { problems, unjudged } = examineConfig(text, { format: 'yaml', documents: 'each' }, schema);
  return {
    problems: problems.map(({ line, field }) => [line, field]),
    unjudged: unjudged.map(({ line, message }) => `${line}: ${message}`),
  };
};

it('several documents are checked each, with the line of the file', () => {
  expect(check('---\nkind: Quota\nspec: {}\n---\n# two\nkind: Quota\nspec: 3\n---\n').problems).toEqual([[7, 'spec']]);
  expect(check('kind: Quota\nspec: {}\n...\n---\n---\n# nothing\n').problems).toEqual([]);
  expect(check('kind: Quota\nspec: {a: |\n  --- x\n}\n').problems).not.toEqual([]);
  expect(check('kind: Quota\nspec: {}\n---\nkind: [\n').problems).toEqual([[4, '']]);
});

it('objects of another kind are named, and a file with nothing of this kind is a mistake', () => {
  expect(check('kind: Namespace\nmetadata: {name: a}\n---\nkind: Quota\nspec: {}\n')).toEqual({
    problems: [],
    unjudged: ['1: An object of kind Namespace was not checked.'],
  });
  expect(check('kind: Namespace\n---\nkind: Secret\n').problems).toEqual(expect.arrayContaining([[1, 'kind']]));
  expect(check('kind: Qouta\nspec: {}\n---\nkind: Quota\nspec: {}\n').problems).toEqual([[1, 'kind']]);
});

it('a List is looked into', () => {
  const text = 'apiVersion: v1\nkind: List\nitems:\n  - kind: Quota\n    spec: {}\n  - kind: Quota\n    spec: 3\n  - kind: Other\n';
  expect(check(text)).toEqual({ problems: [[7, 'spec']], unjudged: ['8: An object of kind Other was not checked.'] });
});

it('where only the first document is read, the next one is a warning', () => {
  const first = (text: string) =>
    examineConfig(text, { format: 'yaml', documents: 'first' }, schema).problems.map(({ level, line }) => [level, line]);
  expect(first('---\nkind: Quota\nspec: {}\n---\nkind: [\n')).toEqual([['warning', 4]]);
  expect(first('---\nkind: Quota\nspec: {}\n---\n# nothing\n')).toEqual([]);
});
