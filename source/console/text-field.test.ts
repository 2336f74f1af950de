import fc from 'fast-check';
import { expect, test } from 'vitest';
import { characters, editField, fieldOf, type TextField, typeInto } from './text-field.ts';

function edit(field: TextField, ...names: string[]): TextField {
  return names.reduce((current, name) => editField(current, { name, text: name.length === 1 ? name : '' }) ?? current, field);
}

test('edits lines as shells do', () => {
  expect(edit(fieldOf('docker compose'), 'ctrl+w').text).toBe('docker ');
  expect(edit(fieldOf('docker compose'), 'alt+b', 'ctrl+k').text).toBe('docker ');
  expect(edit(fieldOf('docker compose'), 'home', 'alt+f', 'ctrl+u').text).toBe(' compose');
  expect(edit(fieldOf('ab'), 'left', 'x').text).toBe('axb');
  expect(edit(fieldOf('ab'), 'home', 'delete', 'delete', 'delete').text).toBe('');
  expect(edit(fieldOf(), 'backspace', 'left', 'right').text).toBe('');
});

test('a character is what the eye sees as one', () => {
  expect(edit(fieldOf('a👩‍👩‍👧'), 'backspace').text).toBe('a');
  expect(edit(fieldOf('e\u0301e\u0301'), 'left', 'backspace').text).toBe('e\u0301');
});

test('keys that mean nothing leave it alone', () => {
  expect(editField(fieldOf('x'), { name: 'pagedown', text: '' })).toBeUndefined();
});

test('the cursor never leaves the text', () => {
  const key = fc.constantFrom(
    'left',
    'right',
    'home',
    'end',
    'backspace',
    'delete',
    'ctrl+w',
    'ctrl+u',
    'ctrl+k',
    'alt+b',
    'alt+f',
    'alt+d',
    'a',
    ' ',
    '世',
    '\u0301',
  );
  fc.assert(
    fc.property(fc.array(key, { maxLength: 60 }), (keys) => {
      let field = fieldOf();
      for (const name of keys) {
        field = edit(field, name);
        expect(field.cursor).toBeGreaterThanOrEqual(0);
        expect(field.cursor).toBeLessThanOrEqual(characters(field.text).length);
      }
    }),
  );
});

test('typing goes in at the cursor, a paste as a whole', () => {
  expect(typeInto({ text: 'ac', cursor: 1 }, 'bb')).toEqual({ text: 'abbc', cursor: 3 });
});
