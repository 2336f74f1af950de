import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { componentView } from '../../test/doubles/fleet-double.ts';
import { FlowStage } from '../../test/doubles/flow-stage.ts';
import { OperatorDouble } from '../../test/doubles/operator-double.ts';
import type { DutyView } from '../fleet/model.ts';
import { openLocalHost } from '../hosts/local-host.ts';
import { duty } from './duty.ts';

const dutyView = (id: string, overrides: Partial<DutyView> = {}): DutyView => ({
  id,
  title: `Do ${id}`,
  detail: '',
  done: false,
  by: 'hand',
  urgent: false,
  ...overrides,
});

describe('confirming a first-run duty', () => {
  let stage: FlowStage;
  let stack: string;
  let record: string;
  const book = componentView('book-library', {
    project: 'book-library',
    deployed: true,
    duties: [dutyView('password', { title: 'Change the default password', urgent: true }), dutyView('signups', { by: 'observed' })],
  });

  beforeEach(async () => {
    stage = await FlowStage.open();
    stage.host = openLocalHost();
    stage.fleet.current = { ...stage.fleet.current, components: [book] };
    stack = join(stage.folder, 'stack');
    record = join(stack, '.quarterdeck', 'components', 'book-library.json');
    await mkdir(join(stack, 'book-library'), { recursive: true });
    await mkdir(join(stack, '.quarterdeck', 'components'), { recursive: true });
    await writeFile(join(stack, 'book-library', 'compose.yaml'), 'services: {}\n');
    const facts = { schema: 1, component: 'book-library', run: 'r1', files: { 'book-library/.env': 'abc' }, secrets: {}, images: {} };
    await writeFile(record, JSON.stringify(facts));
  });
  afterEach(() => stage.close());

  const written = async () => JSON.parse(await readFile(record, 'utf8'));

  test('is written down beside what else is known of it, and what is left is told (R47)', async () => {
    const { message, data } = await stage.run(duty, book, { words: ['password'] });
    expect(message).toBe('book-library: "Change the default password" is confirmed. Left to do: Do signups.');
    expect(data).toEqual({ duty: 'password', left: ['signups'] });
    expect(await written()).toMatchObject({ run: 'r1', files: { 'book-library/.env': 'abc' }, duties: { password: expect.any(String) } });
    expect((await stat(record)).mode & 0o777).toBe(0o600);
    expect((await stage.audited()).map(({ request }) => request)).toContainEqual(expect.stringContaining('Change the default password'));
    expect(stage.fleet.refreshed).toEqual([book.key]);
  });

  test('without an id it asks which, of those that only people can tell', async () => {
    stage.operator.answers.duty = ['password'];
    await stage.run(duty, book);
    expect(stage.operator.asked).toMatchObject([{ choices: [{ value: 'password', label: 'Change the default password' }] }]);
    expect((await written()).duties).toHaveProperty('password');
  });

  test('nobody to ask: says how to name one', async () => {
    stage.operator = new OperatorDouble('unattended');
    await expect(stage.run(duty, book)).rejects.toMatchObject({
      code: 'usage.duty',
      remedy: 'Say which: quarterdeck duty book-library password',
    });
  });

  test.each([
    ['signups', 'refused.observed'],
    ['paint', 'usage.duty'],
  ])('%s is refused', async (id, code) => {
    await expect(stage.run(duty, book, { words: [id] })).rejects.toMatchObject({ code });
    expect(await written()).not.toHaveProperty('duties');
  });

  test('is refused while somebody changes the stack: their change writes the same record', async () => {
    const lock = join(stack, '.quarterdeck', 'lock');
    await mkdir(lock);
    const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
    const start = (await readFile('/proc/self/stat', 'utf8')).replace(/^.*\) /s, '').split(' ')[19];
    await writeFile(join(lock, 'owner-1'), `run=r2\nby=bob@nas\nsince=now\nboot=${boot}\npid=${process.pid}\nstart=${start}\n`);
    await expect(stage.run(duty, book, { words: ['password'] })).rejects.toMatchObject({ code: 'refused.locked' });
    expect(await written()).not.toHaveProperty('duties');
  });

  test('a rehearsal and a read-only session write nothing', async () => {
    stage.policy = { ...stage.policy, rehearsing: true };
    expect((await stage.run(duty, book, { words: ['password'] })).message).toBe('Rehearsed: nothing was written down.');
    stage.policy = { ...stage.policy, rehearsing: false, readOnly: true };
    await expect(stage.run(duty, book, { words: ['password'] })).rejects.toMatchObject({ code: 'refused.readOnly' });
    expect(await written()).not.toHaveProperty('duties');
  });

  test('of what was not deployed from here nothing can be confirmed', async () => {
    stage.fleet.current = { ...stage.fleet.current, components: [] };
    await expect(stage.run(duty, { ...book, deployed: false }, { words: ['password'] })).rejects.toMatchObject({ code: 'refused.notOurs' });
  });
});
