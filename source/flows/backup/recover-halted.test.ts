import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { flowOf } from '../../../test/contract/flows/registry.ts';
import { catalogEntry } from '../../../test/doubles/container-facts.ts';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import { openLocalHost } from '../../hosts/local-host.ts';

const recover = flowOf('recover');

let fixture: FlowFixture;
beforeEach(async () => {
  fixture = await FlowFixture.open();
  fixture.host = openLocalHost();
  const notes = catalogEntry('notes', { app: { image: 'notes', main: true } });
  fixture.catalog = { entries: [notes], get: (id) => (id === 'notes' ? notes : undefined), problems: [] };
});
afterEach(async () => {
  await fixture.host?.close();
  await fixture.close();
});

test('of an interrupted rotation, a secret whose value in the containers nobody recorded is not called settled', async () => {
  const folder = join(fixture.folder, 'stack', '.quarterdeck', 'halted');
  await mkdir(folder, { recursive: true });
  const record = {
    ...{ schema: 1, run: 'rotation-x', flow: 'rotation', component: 'notes', by: 'ada@nas', startedAt: '2026-01-01T00:00:00.000Z' },
    ...{ containers: [], secrets: [{ component: 'notes', variable: 'DB_PASSWORD' }] },
  };
  await writeFile(join(folder, 'rotation-x.json'), JSON.stringify(record));
  expect((await fixture.run(recover, undefined)).message).toBe('rotation-x: not resolved.');
  const texts = fixture.operator.shown.flatMap((shown) => (shown.kind === 'text' ? shown.text : []));
  expect(texts.slice(1)).toEqual([
    'Unresolved: notes/DB_PASSWORD. Quarterdeck cannot determine which value the containers use. Check the log: quarterdeck logs notes',
  ]);
  expect(await readdir(folder)).toEqual([]);
});

test('an interrupted backup is not finished: its containers are started', async () => {
  const folder = join(fixture.folder, 'stack', '.quarterdeck', 'halted');
  await mkdir(folder, { recursive: true });
  const { id } = fixture.engine.add('notes-app', { state: 'exited' });
  const record = {
    ...{ schema: 1, run: 'backup-x', flow: 'backup', component: 'notes', by: 'ada@nas', startedAt: '2026-01-01T00:00:00.000Z' },
    containers: [{ id, name: 'notes-app', how: 'stopped' }],
  };
  await writeFile(join(folder, 'backup-x.json'), JSON.stringify(record));
  expect((await fixture.run(recover, undefined)).message).toBe('backup-x: containers started.');
  expect(fixture.engine.requests).toEqual(['start notes-app']);
});

test('a restore whose data is already replaced is finished, also with --undo', async () => {
  const folder = join(fixture.folder, 'stack', '.quarterdeck', 'restores', 'x-notes');
  await mkdir(folder, { recursive: true });
  const record = {
    ...{ schema: 1, run: 'x-notes', component: 'notes', project: 'notes', backup: '20260101T000000Z', where: '/srv', by: 'ada@nas' },
    ...{ startedAt: '2026-01-01T00:00:00.000Z', state: 'replaced', volumes: [], dumps: [], halted: [] },
  };
  await writeFile(join(folder, 'restore.json'), JSON.stringify(record));
  expect((await fixture.run(recover, undefined, { options: { undo: true } })).message).toBe('x-notes: finished.');
});
