import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { NotificationReceiver } from '../../../test/doubles/notification-receiver.ts';

const root = resolve(import.meta.dirname, '../../..');

let home: string;
let receiver: NotificationReceiver;
const running: ChildProcess[] = [];
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'qd-watch-'));
  receiver = await NotificationReceiver.open();
  await mkdir(join(home, 'own/config'), { recursive: true });
  const hook = `notifications: {hook: {type: webhook, url: "${receiver.url}"}}`;
  await writeFile(
    join(home, 'own/config/config.yaml'),
    `${hook}\nrules: {loop: {state: [restarting, failed], components: password-vault}}\n`,
  );
});
afterEach(async () => {
  for (const child of running.splice(0)) child.kill('SIGKILL');
  await receiver.close();
  await rm(home, { recursive: true, force: true });
});

function launch(...words: string[]) {
  const { PATH, LANG = 'C.UTF-8' } = process.env;
  const env = { PATH, LANG, HOME: home, QUARTERDECK_HOME: join(home, 'own'), QUARTERDECK_KEYCHAIN: 'off', NO_COLOR: '1' };
  const child = spawn(join(root, 'bin/quarterdeck'), words, { cwd: root, env });
  running.push(child);
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  return { child, out: () => out, code: new Promise<number | null>((fulfil) => child.on('close', fulfil)) };
}

async function run(...words: string[]) {
  const { code, out } = launch(...words);
  return { code: await code, out: out() };
}

const events = async () => {
  const { out } = await run('--practice', 'watch', '--once', '--json');
  return (JSON.parse(out) as { data: { events: { event: string; about: string }[] } }).data.events.map(
    ({ event, about }) => `${event} ${about}`,
  );
};

test('an incident of the practice stack is reported once, and its end', { timeout: 180_000 }, async () => {
  const { out, child } = launch('practice', 'serve', '--json');
  await expect.poll(() => out().includes('\n'), { timeout: 60_000 }).toBe(true);
  expect(await events()).toEqual([]);
  await run('--practice', 'practice', 'incident', 'restart-loop');
  await expect.poll(events, { timeout: 60_000 }).toEqual(['problem password-vault']);
  expect(await events()).toEqual([]);
  expect(receiver.received.map(({ body }) => JSON.parse(body) as object)).toMatchObject([
    { rule: 'loop', title: 'Problem: password-vault (loop)' },
  ]);

  const watch = launch('--practice', 'watch');
  await expect.poll(() => watch.out(), { timeout: 30_000 }).toContain('Watching: 1 rule, 1 target.');
  watch.child.kill('SIGTERM');
  expect(await watch.code).toBe(0);

  await run('--practice', 'practice', 'incident', 'calm');
  // Messages of one rule are a minute apart: it is over in the file.
  const file = join(home, `own/run/practice-${child.pid}/state/notifications.json`);
  const state = (await readFile(file, 'utf8')).replace(/"sentMs":\{[^}]*\}/, '"sentMs":{}');
  await writeFile(file, state);
  await expect.poll(events, { timeout: 60_000 }).toEqual(['resolved password-vault']);
});
