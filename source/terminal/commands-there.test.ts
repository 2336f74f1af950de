import { describe, expect, test } from 'vitest';
import { OperatorDouble } from '../../test/doubles/operator-double.ts';
import { Fault } from '../faults/fault.ts';
import { commandsThere, operatorThere, outcomeThere, thrownThere } from './commands-there.ts';

describe('commands in texts about another host', () => {
  test.each([
    ['Start it: quarterdeck start vault', 'Start it: quarterdeck --host nas start vault'],
    [
      '"quarterdeck deploy vault" creates it; then quarterdeck init vault.',
      '"quarterdeck --host nas deploy vault" creates it; then quarterdeck --host nas init vault.',
    ],
    ['Its key changed: quarterdeck hosts trust nas', 'Its key changed: quarterdeck hosts trust nas'],
    ['quarterdeck catalog list names them', 'quarterdeck catalog list names them'],
    ['quarterdeck --host cam start vault', 'quarterdeck --host cam start vault'],
    ['It is in /opt/quarterdeck and stays there', 'It is in /opt/quarterdeck and stays there'],
  ])('%s', (text, there) => {
    expect(commandsThere('nas', text)).toBe(there);
    expect(commandsThere('local', text)).toBe(text);
    expect(commandsThere('practice', text)).toBe(text);
  });

  test('what a flow throws, shows, asks and ends with', async () => {
    const text = 'Start it: quarterdeck start vault';
    const there = 'Start it: quarterdeck --host nas start vault';
    const fault = new Fault({ code: 'unreachable.component', message: 'vault is not running.', remedy: text });
    expect(thrownThere('nas', fault)).toMatchObject({ code: fault.code, message: fault.message, remedy: there });
    expect(thrownThere('nas', 'else')).toBe('else');
    const item = { id: 'a', title: 'Start it', detail: text, byHand: false };
    expect(outcomeThere('nas', { message: text, todo: { component: 'vault', items: [item] } })).toMatchObject({
      message: there,
      todo: { items: [{ detail: there }] },
    });
    const operator = new OperatorDouble('unattended');
    const wrapped = operatorThere('nas', operator);
    wrapped.show({ kind: 'item', id: 'a', title: 'Start it', state: 'todo', evidence: text });
    wrapped.show({ kind: 'text', text });
    expect(operator.shown).toMatchObject([{ evidence: there }, { text: there }]);
  });
});
