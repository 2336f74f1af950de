import { describe, expect, test } from 'vitest';
import { OperatorDouble } from '../../test/doubles/operator-double.ts';
import { Fault } from '../faults/fault.ts';
import { commandsFor, operatorFor, outcomeFor, subjectIn, thrownFor } from './commands-for.ts';

const engines = (...names: string[]) => names.map((name) => ({ name }));
const nas = subjectIn(engines('local', 'nas'), 'nas');

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
    expect(commandsFor(nas, text)).toBe(there);
    expect(commandsFor(subjectIn(engines('local', 'nas'), 'local'), text)).toBe(text);
    expect(commandsFor(subjectIn(engines('practice'), 'practice'), text)).toBe(text);
  });

  test('name this machine too where it has several engines, one of which a command has to name', () => {
    const text = 'Deploy it beside: quarterdeck deploy vault --second-instance';
    const both = engines('local', 'local/podman', 'nas');
    expect(commandsFor(subjectIn(both, 'local'), text)).toBe('Deploy it beside: quarterdeck --host local deploy vault --second-instance');
    expect(commandsFor(subjectIn(both, 'local/podman'), text)).toContain('quarterdeck --host local/podman deploy vault');
  });

  test('what a flow throws, shows, asks and ends with', async () => {
    const text = 'Start it: quarterdeck start vault';
    const there = 'Start it: quarterdeck --host nas start vault';
    const fault = new Fault('unreachable.component', 'vault is not running.', text);
    expect(thrownFor(nas, fault)).toMatchObject({ code: fault.code, message: fault.message, remedy: there });
    expect(thrownFor(nas, 'else')).toBe('else');
    const item = { id: 'a', title: 'Start it', detail: text, byHand: false };
    expect(outcomeFor(nas, { message: text, todo: { component: 'vault', items: [item] } })).toMatchObject({
      message: there,
      todo: { items: [{ detail: there }] },
    });
    const operator = new OperatorDouble('unattended');
    const wrapped = operatorFor(nas, operator);
    wrapped.show({ kind: 'item', id: 'a', title: 'Start it', state: 'todo', evidence: text });
    wrapped.show({ kind: 'text', text });
    expect(operator.shown).toMatchObject([{ evidence: there }, { text: there }]);
  });
});

describe('commands about the component that a flow is about', () => {
  const second = subjectIn(engines('local'), 'local', 'vault@lab');

  test.each([
    ['List them: quarterdeck mesh keys COMPONENT', 'List them: quarterdeck mesh keys vault@lab'],
    ['"quarterdeck objects list COMPONENT BUCKET" lists them.', '"quarterdeck objects list vault@lab BUCKET" lists them.'],
    ['quarterdeck start COMPONENT. Then wait.', 'quarterdeck start vault@lab. Then wait.'],
    ['quarterdeck exec COMPONENT -- true', 'quarterdeck exec vault@lab -- true'],
    ['Write COMPONENT:/path: quarterdeck cp COMPONENT:/path here', 'Write COMPONENT:/path: quarterdeck cp COMPONENT:/path here'],
    ['The heading COMPONENT', 'The heading COMPONENT'],
  ])('%s', (text, named) => {
    expect(commandsFor(second, text)).toBe(named);
    expect(commandsFor(subjectIn(engines('local'), 'local'), text)).toBe(text);
  });

  test('on another host, in what a flow throws', () => {
    const remedy = 'List them: quarterdeck mesh keys COMPONENT';
    const fault = new Fault('failed.mesh', 'There is no such key.', remedy);
    expect(thrownFor(subjectIn(engines('nas'), 'nas', 'vault@lab'), fault)).toMatchObject({
      remedy: 'List them: quarterdeck --host nas mesh keys vault@lab',
    });
  });

  test('a name that a shell would not read as one word is quoted', () => {
    expect(commandsFor(subjectIn(engines('local'), 'local', 'my app'), 'quarterdeck start COMPONENT')).toBe("quarterdeck start 'my app'");
  });
});
