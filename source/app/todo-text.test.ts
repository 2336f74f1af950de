import { expect, test } from 'vitest';
import { todoLines } from './todo-text.ts';

const style = { columns: 40, paint: (_: string, text: string) => text, confirm: 'quarterdeck tasks vault' };

test('what is left to do is a list, with how under each, and how to confirm what nobody can see (R20)', () => {
  const items = [
    { id: 'account', title: 'Create the first account, then close signups', detail: '', byHand: false },
    { id: 'https', title: 'Give it https', detail: 'Browsers refuse plain http here.', byHand: true },
  ];
  expect(todoLines({ component: 'vault', items }, style)).toEqual([
    'To do:',
    '  - Create the first account, then close',
    '    signups',
    '  - Give it https',
    '    Browsers refuse plain http here.',
    'Confirm completed tasks: quarterdeck tasks vault',
  ]);
  expect(todoLines({ component: 'vault', items: items.slice(0, 1) }, style).join()).not.toContain('confirm');
});
