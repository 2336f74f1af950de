import { expect, test } from 'vitest';
import { createFakeApp } from '../../test/doubles/console/fake-app.ts';
import { type Harness, openHarness } from '../../test/doubles/console/harness.tsx';
import { sampleSnapshot } from '../../test/doubles/console/sample-fleet.ts';

const size = { columns: 60, rows: 20 };

/** Returns the text of all frames, with words rejoined that a frame or an indentation has split. */
function words(harness: Harness): string {
  return harness
    .frame()
    .split('\n')
    .map((line) => line.replace(/[│┃╭╮╰╯┏┓┗┛━─]/g, ' '))
    .join(' ')
    .replace(/\s+/g, ' ');
}

async function seesWords(harness: Harness, text: string): Promise<void> {
  await harness.until(() => words(harness).includes(text), `the words "${text}"`);
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
  const harness = await openHarness({ size, app: createFakeApp({ snapshot: { ...snapshot, ports: [port, ...others] } }) });
  await harness.press('3', 'g');
  const said = `${port.owner}, not listening now, to 8080 metrics of the inner workings.`;
  await seesWords(harness, said);
  await harness.press('1', 'g', '2', ']', ']');
  await seesWords(harness, said);
});

test('the help: every sentence to its end', async () => {
  const harness = await openHarness({ size });
  await harness.press('?');
  expect(harness.frame()).not.toContain('…');
  await harness.press('pagedown');
  await seesWords(harness, 'Show the media automation chain from request to library');
  expect(harness.frame()).not.toContain('…');
});

test('the palette: what the highlighted command does', async () => {
  const harness = await openHarness({ size });
  await harness.press(':');
  await harness.type('walk upgrade');
  await seesWords(harness, 'Progress is saved and can be resumed.');
});

test('a choice: its explanation', async () => {
  const detail = 'an explanation of this choice that goes on for longer than the box is wide, and then some';
  const flows = {
    restart: async (operator: import('../session/session.ts').Operator, _: unknown, signal: AbortSignal) => {
      const choices = ['one', 'two'].map((value) => ({ value, label: value, detail: `${detail} ${value}` }));
      return String(await operator.ask({ id: 'which', kind: 'choice', label: 'Which?', choices }, signal));
    },
  };
  const harness = await openHarness({ size, app: createFakeApp({ flows }) });
  await harness.press('r');
  await seesWords(harness, `${detail} one`);
  await harness.press('down');
  await seesWords(harness, `${detail} two`);
});

test('a table: cells go on below, and the request of a confirmation can be scrolled to', async () => {
  const request = `DELETE ${Array.from({ length: 30 }, (_, at) => `volume-number-${at}`).join(' ')} last-word`;
  const flows = {
    restart: async (operator: import('../session/session.ts').Operator, _: unknown, signal: AbortSignal) => {
      operator.show({
        kind: 'table',
        columns: ['WHAT', 'NOTE'],
        rows: [['a thing', 'a note that is much longer than the box is wide, to its very end']],
      });
      await operator.confirm({ id: 'x', title: 'Delete volumes', request, consequences: ['They are lost.'] }, signal);
      return 'done';
    },
  };
  const harness = await openHarness({ size, app: createFakeApp({ flows }) });
  await harness.press('r');
  await harness.sees('Delete volumes', 'y yes');
  await harness.press('pageup', 'pageup', 'pageup', 'pageup', 'pageup', 'pageup');
  await seesWords(harness, 'a note that is much longer');
  await harness.press('pagedown', 'pagedown', 'pagedown', 'pagedown', 'pagedown', 'pagedown', 'pagedown', 'pagedown');
  await harness.sees('y yes');
  await seesWords(harness, 'last-word');
});

test('what was last said', async () => {
  const said = 'Saved 2 lines to /a/folder/with/a/rather/long/name/and/another/one/below/it/file.log, which only you can read';
  const harness = await openHarness({ size, app: createFakeApp({ flows: { restart: async () => said } }) });
  await harness.press('r');
  await harness.until(() => harness.frame().replace(/\s+/g, '').includes(said.replaceAll(' ', '')), said);
});

test('zoomed where there is no room for all panes, nothing claims that z shows them', async () => {
  const harness = await openHarness({ size: { columns: 80, rows: 24 } });
  await harness.press('z');
  expect(harness.frame()).not.toContain('z shows all panes');
  await harness.resize({ columns: 120, rows: 36 });
  await harness.sees('z shows all panes');
});
