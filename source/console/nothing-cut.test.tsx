import { expect, test } from 'vitest';
import { createFakeDeck } from './rig/fake-deck.ts';
import { openRig, type Rig } from './rig/rig.tsx';
import { sampleSnapshot } from './rig/sample-fleet.ts';

const size = { columns: 60, rows: 20 };

/** The text of all frames, with the words that a frame or an indentation tears apart put together. */
function words(rig: Rig): string {
  return rig
    .frame()
    .split('\n')
    .map((line) => line.replace(/[│┃╭╮╰╯┏┓┗┛━─]/g, ' '))
    .join(' ')
    .replace(/\s+/g, ' ');
}

async function seesWords(rig: Rig, text: string): Promise<void> {
  await rig.until(() => words(rig).includes(text), `the words "${text}"`);
}

test('a port: what has no column stands below the list for the highlighted row, and below the row in the details', async () => {
  const snapshot = sampleSnapshot();
  const [first, ...others] = snapshot.ports;
  if (!first) throw new Error('no port');
  const port = {
    ...first,
    address: '0.0.0.0',
    port: 18_080,
    owner: 'a-compose-project-whose-name-is-rather-long',
    component: snapshot.components[0]?.key ?? '',
    conflictWith: [],
    note: undefined,
    open: false,
    containerPort: 8080,
    role: 'metrics of the inner workings',
  };
  const rig = await openRig({ size, deck: createFakeDeck({ snapshot: { ...snapshot, ports: [port, ...others] } }) });
  await rig.press('3', 'g');
  const said = `${port.owner}, not listening now, to 8080 metrics of the inner workings.`;
  await seesWords(rig, said);
  await rig.press('1', 'g', '2', ']', ']');
  await seesWords(rig, said);
});

test('the help: every sentence to its end', async () => {
  const rig = await openRig({ size });
  await rig.press('?');
  expect(rig.frame()).not.toContain('…');
  await rig.press('pagedown');
  await seesWords(rig, 'How releases get into the library: the chain of media automation');
  expect(rig.frame()).not.toContain('…');
});

test('the palette: what the highlighted command does', async () => {
  const rig = await openRig({ size });
  await rig.press(':');
  await rig.type('walk upgrade');
  await seesWords(rig, 'so that somebody else goes on tomorrow.');
});

test('a choice: its explanation', async () => {
  const detail = 'an explanation of this choice that goes on for longer than the box is wide, and then some';
  const flows = {
    restart: async (operator: import('../session/session.ts').Operator, _: unknown, signal: AbortSignal) => {
      const choices = ['one', 'two'].map((value) => ({ value, label: value, detail: `${detail} ${value}` }));
      return String(await operator.ask({ id: 'which', kind: 'choice', label: 'Which?', choices }, signal));
    },
  };
  const rig = await openRig({ size, deck: createFakeDeck({ flows }) });
  await rig.press('r');
  await seesWords(rig, `${detail} one`);
  await rig.press('down');
  await seesWords(rig, `${detail} two`);
});

test('a table: cells go on below, and the request of a confirmation can be scrolled to', async () => {
  const request = `DELETE ${Array.from({ length: 30 }, (_, at) => `volume-number-${at}`).join(' ')} last-word`;
  const flows = {
    restart: async (operator: import('../session/session.ts').Operator, _: unknown, signal: AbortSignal) => {
      operator.show({
        kind: 'table',
        columns: ['what', 'note'],
        rows: [['a thing', 'a note that is much longer than the box is wide, to its very end']],
      });
      await operator.confirm({ id: 'x', title: 'Delete volumes', request, consequences: ['They are lost.'] }, signal);
      return 'done';
    },
  };
  const rig = await openRig({ size, deck: createFakeDeck({ flows }) });
  await rig.press('r');
  await rig.sees('Delete volumes', 'yes, do it');
  await rig.press('pageup', 'pageup', 'pageup', 'pageup', 'pageup', 'pageup');
  await seesWords(rig, 'a note that is much longer');
  await rig.press('pagedown', 'pagedown', 'pagedown', 'pagedown', 'pagedown', 'pagedown', 'pagedown', 'pagedown');
  await rig.sees('yes, do it');
  await seesWords(rig, 'last-word');
});

test('what was last said', async () => {
  const said = 'Saved 2 lines to /a/folder/with/a/rather/long/name/and/another/one/below/it/file.log, which only you can read';
  const rig = await openRig({ size, deck: createFakeDeck({ flows: { restart: async () => said } }) });
  await rig.press('r');
  await rig.until(() => rig.frame().replace(/\s+/g, '').includes(said.replaceAll(' ', '')), said);
});

test('zoomed where there is no room for all panes, nothing claims that z shows them', async () => {
  const rig = await openRig({ size: { columns: 80, rows: 24 } });
  await rig.press('z');
  expect(rig.frame()).not.toContain('z shows all panes');
  await rig.resize({ columns: 120, rows: 36 });
  await rig.sees('z shows all panes');
});
