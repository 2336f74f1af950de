import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { flowOf } from '../../../test/contract/flows/registry.ts';
import { componentView } from '../../../test/doubles/fleet-double.ts';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import type { SetupTaskView } from '../../fleet/model.ts';
import { openLocalHost } from '../../hosts/local-host.ts';

const tasks = flowOf('tasks');

const taskView = (id: string, overrides: Partial<SetupTaskView> = {}): SetupTaskView => ({
  id,
  title: `Do ${id}`,
  detail: '',
  done: false,
  by: 'hand',
  urgent: false,
  ...overrides,
});

describe('confirming a setup task', () => {
  let fixture: FlowFixture;
  let stack: string;
  let record: string;
  const book = componentView('book-library', {
    project: 'book-library',
    deployed: true,
    setupTasks: [taskView('password', { title: 'Change the default password', urgent: true }), taskView('signups', { by: 'observed' })],
  });

  beforeEach(async () => {
    fixture = await FlowFixture.open();
    fixture.host = openLocalHost();
    fixture.fleet.current = { ...fixture.fleet.current, components: [book] };
    stack = join(fixture.folder, 'stack');
    record = join(stack, '.quarterdeck', 'components', 'book-library.json');
    await mkdir(join(stack, 'book-library'), { recursive: true });
    await mkdir(join(stack, '.quarterdeck', 'components'), { recursive: true });
    await writeFile(join(stack, 'book-library', 'compose.yaml'), 'services: {}\n');
    const facts = { schema: 1, component: 'book-library', run: 'r1', files: { 'book-library/.env': 'abc' }, secrets: {}, images: {} };
    await writeFile(record, JSON.stringify(facts));
  });
  afterEach(() => fixture.close());

  const written = async () => JSON.parse(await readFile(record, 'utf8'));

  test('is written down beside what else is known of it, and what is left is told (R47)', async () => {
    const { message, data } = await fixture.run(tasks, book, { words: ['password'] });
    expect(message).toBe('Confirmed "Change the default password" for book-library. Remaining: Do signups.');
    expect(data).toEqual({ task: 'password', left: ['signups'] });
    expect(await written()).toMatchObject({
      run: 'r1',
      files: { 'book-library/.env': 'abc' },
      setupTasks: { password: expect.any(String) },
    });
    expect((await stat(record)).mode & 0o777).toBe(0o600);
    expect((await fixture.audited()).map(({ request }) => request)).toContainEqual(expect.stringContaining('Change the default password'));
    expect(fixture.fleet.refreshed).toEqual([book.key]);
  });

  test('without an id it asks which, of those that only people can tell', async () => {
    fixture.operator.answers.task = ['password'];
    await fixture.run(tasks, book);
    expect(fixture.operator.asked).toMatchObject([{ choices: [{ value: 'password', label: 'Change the default password' }] }]);
    expect((await written()).setupTasks).toHaveProperty('password');
  });

  test('nobody to ask: says how to name one', async () => {
    fixture.operator = new OperatorDouble('unattended');
    await expect(fixture.run(tasks, book)).rejects.toMatchObject({
      code: 'usage.setupTask',
      remedy: 'Pass a task: quarterdeck tasks book-library password',
    });
  });

  test.each([
    ['signups', 'refused.observed'],
    ['paint', 'usage.setupTask'],
  ])('%s is refused', async (id, code) => {
    await expect(fixture.run(tasks, book, { words: [id] })).rejects.toMatchObject({ code });
    expect(await written()).not.toHaveProperty('setupTasks');
  });

  test('one that was observed to be done is reported as done, and not as left to do', async () => {
    const done = book.setupTasks.map((task) => (task.id === 'signups' ? { ...task, done: true } : task));
    fixture.fleet.current = { ...fixture.fleet.current, components: [{ ...book, setupTasks: done }] };
    expect((await fixture.run(tasks, book, { words: ['signups'] })).message).toMatch(/^book-library: ".*" is already done\.$/);
  });

  test('is refused while somebody changes the stack: their change writes the same record', async () => {
    const lock = join(stack, '.quarterdeck', 'lock');
    await mkdir(lock);
    const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
    const start = (await readFile('/proc/self/stat', 'utf8')).replace(/^.*\) /s, '').split(' ')[19];
    await writeFile(join(lock, 'owner-1'), `run=r2\nby=bob@nas\nsince=now\nboot=${boot}\npid=${process.pid}\nstart=${start}\n`);
    await expect(fixture.run(tasks, book, { words: ['password'] })).rejects.toMatchObject({ code: 'refused.locked' });
    expect(await written()).not.toHaveProperty('setupTasks');
  });

  test('a dry run and a read-only session write nothing', async () => {
    fixture.policy = { ...fixture.policy, dryRun: true };
    expect((await fixture.run(tasks, book, { words: ['password'] })).message).toBe('Dry run: nothing was recorded.');
    fixture.policy = { ...fixture.policy, dryRun: false, readOnly: true };
    await expect(fixture.run(tasks, book, { words: ['password'] })).rejects.toMatchObject({ code: 'refused.readOnly' });
    expect(await written()).not.toHaveProperty('setupTasks');
  });

  test('of what was not deployed from here nothing can be confirmed', async () => {
    fixture.fleet.current = { ...fixture.fleet.current, components: [] };
    await expect(fixture.run(tasks, { ...book, deployed: false }, { words: ['password'] })).rejects.toMatchObject({
      code: 'refused.notOurs',
    });
  });
});
