import { afterAll, beforeAll, expect, test } from 'vitest';
import type { OperatorDouble } from '../../test/doubles/operator-double.ts';
import { PracticeStage } from '../../test/doubles/practice-stage.ts';
import { preventionOf } from '../flows/prevention-target.ts';
import { createFakeDeck, type FlowBody } from './rig/fake-deck.ts';
import { misfits, openRig, type Rig } from './rig/rig.tsx';
import { sampleSnapshot } from './rig/sample-fleet.ts';

const sizes = [
  { columns: 80, rows: 24 },
  { columns: 120, rows: 36 },
];
let stage: PracticeStage;
beforeAll(async () => {
  stage = await PracticeStage.open();
  // Loaded before a test waits for it.
  await stage.run('decisions', '');
  await stage.run('ban', '', { words: ['203.0.113.250'], options: { for: '1h', reason: 'first' } });
  await stage.run('unban', '', { words: ['203.0.113.250'] });
});
afterAll(() => stage.close());

const key = 'nas/intrusion-prevention/intrusion-prevention';

/** The real procedure on the CrowdSec of practice, with the console in front. */
const played =
  (flow: string): FlowBody =>
  async (operator, { words, options }, signal) =>
    (await stage.run(flow, '', { words, options }, { operator: operator as OperatorDouble, signal })).message;

async function open(size: { columns: number; rows: number }): Promise<Rig> {
  const sample = sampleSnapshot();
  const names = ['ban', 'unban', 'alerts', 'allowlists-create', 'allowlists-add', 'bouncers-add', 'bouncers-delete', 'hub-upgrade'];
  const deck = createFakeDeck({
    snapshot: { ...sample, components: sample.components.map((one) => (one.key === key ? { ...one, speaks: 'crowdsec' } : one)) },
    flows: Object.fromEntries(names.map((name) => [name, played(name)])),
  });
  const looking = { signal: AbortSignal.timeout(120_000), readOnly: false, hide: () => {} };
  return openRig({
    size,
    deck,
    now: Date.now,
    crowdsec: async () => (await preventionOf(stage.deck.world, { place: 'practice', options: {} }, looking)).crowdsec,
  });
}

const banned = async () => {
  const { data } = await stage.run('decisions', '');
  return (data as { decisions: { value: string; origin: string; reason: string }[] }).decisions.filter(({ origin }) => origin === 'cscli');
};

/** Presses what is given, and counts it. */
function counting(rig: Rig) {
  let keys = 0;
  return {
    press: async (...names: string[]) => {
      keys += names.length;
      await rig.press(...names);
    },
    keys: () => keys,
  };
}

async function start(screen: Rig, title: string): Promise<void> {
  await screen.press(':');
  await screen.type(title);
  await screen.sees(title);
  await screen.press('enter');
}

test.each(sizes)('a line of a log: b, Enter, Enter, and who it names is shut out (R63) at $columns x $rows', async (size) => {
  const who = `198.51.100.${size.columns}`;
  const rig = await open(size);
  rig.log(key, [`GET /wp-login.php from ${who}:51234`]);
  await rig.press('/');
  await rig.type('intrusion');
  await rig.press('enter', 'l');
  await rig.sees('wp-login');
  const { press, keys } = counting(rig);
  await press('b');
  await rig.sees(`For how long is ${who} banned?`, '4h', /cscli decisions add --ip\s/);
  expect(misfits(rig.frame(), size)).toEqual([]);
  await press('enter');
  await rig.sees('Why?', 'seen in the log of intrusion-prevention');
  await press('enter');
  await rig.sees(new RegExp(`${who.replaceAll('.', '\\.')} is banned for (?:4h|240m)`));
  expect(keys()).toBe(3);
  expect(misfits(rig.frame(), size)).toEqual([]);
  expect(await banned()).toContainEqual(expect.objectContaining({ value: who, reason: 'seen in the log of intrusion-prevention' }));
});

test('an alert: b, Enter, Enter; x and Enter lift it again from the list (R63)', async () => {
  const [size = { columns: 80, rows: 24 }] = sizes;
  for (const { value } of await banned()) await stage.run('unban', '', { words: [value] });
  const rig = await open(size);
  await rig.press('I', 'v');
  await rig.sees(/Alerts \d+/);
  await rig.until((frame) => /▸.*\d+\.\d+\.\d+\.\d+/.test(frame), 'an alert');
  const who = /▸.*?(\d+\.\d+\.\d+\.\d+)/.exec(rig.frame())?.[1] ?? '';
  const { press, keys } = counting(rig);
  await press('b');
  await rig.sees(`For how long is ${who} banned?`);
  await press('enter');
  await rig.sees('Why?');
  await press('enter');
  await rig.sees('is banned for');
  expect(keys()).toBe(3);
  expect((await banned()).map(({ value }) => value)).toEqual([who]);
  await rig.press('v', 'R');
  await rig.sees(/Decisions \d+/, who);
  await rig.press('/');
  await rig.type(who);
  await rig.press('enter');
  await rig.sees(new RegExp(`▸.*${who.replaceAll('.', '\\.')}`));
  await rig.press('x');
  await rig.sees(`${who} is free again.`);
  expect(await banned()).toEqual([]);
});

test('who would lock themselves out is told at the question, and types another one', async () => {
  const [size = { columns: 80, rows: 24 }] = sizes;
  const rig = await open(size);
  await start(rig, 'Ban an address, a range or a country');
  await rig.sees('Address, range or country', /What would[\s┃]+lock you out is refused\./);
  for (const [text, why] of [
    ['127.0.0.0/8', /127\.0\.0\.0\/8 shuts out 127\.0\.0\.1/],
    ['0.0.0.0/0', /shuts out/],
    ['::1', /::1 (?:is|belongs)/],
    ['::/0', /shuts out/],
    ['192.168.0.0/16', /192\.168\.0\.0\/16 (?:is|belongs|shuts)/],
    ['nonsense', /no address, range or country/],
  ] as const) {
    await rig.press('ctrl+u');
    await rig.type(text);
    await rig.press('enter');
    await rig.sees(why);
    expect(misfits(rig.frame(), size)).toEqual([]);
  }
  await rig.press('esc');
  await rig.sees('Nobody was banned.');
  expect(await banned()).toEqual([]);
});

test('an allowlist is made and filled, a bouncer gets its key once, and goes after a yes', async () => {
  const [size = { columns: 80, rows: 24 }] = sizes;
  const rig = await open(size);
  // Where there is none yet, the first one is made on the way.
  await start(rig, 'Put addresses on an allowlist');
  await rig.sees('There is no allowlist yet.', 'cscli allowlists create');
  await rig.type('crew');
  await rig.press('enter');
  await rig.sees('Addresses or ranges');
  await rig.type('FR');
  await rig.press('enter');
  await rig.sees('FR is a country');
  await rig.press('ctrl+u');
  await rig.type('198.51.100.77 2001:db8::/64');
  await rig.press('enter');
  await rig.sees('Whose are they?');
  await rig.press('enter');
  await rig.sees('198.51.100.77, 2001:db8::/64 are on crew.');
  await start(rig, 'Add a bouncer');
  await rig.sees('Name of the bouncer', /Its key is shown[\s┃]+once/);
  await rig.type('lighthouse');
  await rig.press('enter');
  await rig.sees('Key of lighthouse', 'y copy');
  expect(misfits(rig.frame(), size)).toEqual([]);
  await rig.press('enter');
  await rig.misses('Key of lighthouse');
  await start(rig, 'Delete a bouncer');
  await rig.sees('Which bouncer?', 'lighthouse');
  await rig.press('end', 'enter');
  await rig.sees('Delete the bouncer lighthouse', /opens\s+nothing/);
  await rig.press('y');
  await rig.sees('The bouncer lighthouse is gone.');
});

test('the hub: its plan, what is left alone, the reload that it needs', async () => {
  const [size = { columns: 80, rows: 24 }] = sizes;
  const rig = await open(size);
  await start(rig, 'Upgrade what came from the hub');
  await rig.sees('Upgrade 2 items?', 'cscli hub upgrade');
  expect(misfits(rig.frame(), size)).toEqual([]);
  await rig.press('enter');
  await rig.sees('It takes effect after a reload.', 'Reload now', '/restart');
  await rig.press('enter');
  await rig.sees('Upgraded crowdsecurity/sshd, crowdsecurity/sshd-logs.', 'reloaded.');
  expect(rig.frame()).not.toContain('📥');
  expect(misfits(rig.frame(), size)).toEqual([]);
});
