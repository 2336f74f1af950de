import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createFakeApp, type FlowBody } from '../../test/doubles/console/fake-app.ts';
import { type Harness, misfits, openHarness } from '../../test/doubles/console/harness.tsx';
import { sampleSnapshot } from '../../test/doubles/console/sample-fleet.ts';
import type { OperatorDouble } from '../../test/doubles/operator-double.ts';
import { PracticeFixture } from '../../test/doubles/practice-fixture.ts';
import { preventionOf } from '../products/crowdsec/prevention-target.ts';

const sizes = [
  { columns: 80, rows: 24 },
  { columns: 120, rows: 36 },
];
/** The flows run programs of the practice stack, which are slow on a busy machine. */
const patienceMs = 30_000;
vi.setConfig({ testTimeout: 4 * patienceMs });

let fixture: PracticeFixture;
beforeAll(async () => {
  fixture = await PracticeFixture.open();
  // Loads the modules before a test waits for them.
  await fixture.run('decisions', '');
  await fixture.run('ban', '', { words: ['203.0.113.250'], options: { for: '1h', reason: 'first' } });
  await fixture.run('unban', '', { words: ['203.0.113.250'] });
});
afterAll(() => fixture.close());

const key = 'nas/intrusion-prevention/intrusion-prevention';

/** Runs the real procedure on the CrowdSec of the practice stack, with the console in front. */
const played =
  (flow: string): FlowBody =>
  async (operator, { words, options }, signal) =>
    (await fixture.run(flow, '', { words, options }, { operator: operator as OperatorDouble, signal })).message;

async function open(size: { columns: number; rows: number }): Promise<Harness> {
  const sample = sampleSnapshot();
  const names = ['ban', 'unban', 'alerts', 'allowlists-create', 'allowlists-add', 'bouncers-add', 'bouncers-delete', 'hub-upgrade'];
  const app = createFakeApp({
    snapshot: { ...sample, components: sample.components.map((one) => (one.key === key ? { ...one, speaks: 'crowdsec' } : one)) },
    flows: Object.fromEntries(names.map((name) => [name, played(name)])),
  });
  const looking = { signal: AbortSignal.timeout(120_000), readOnly: false, hide: () => {} };
  return openHarness({
    size,
    app,
    now: Date.now,
    patienceMs,
    crowdsec: async () => (await preventionOf(fixture.app.context, { engineName: 'practice', options: {} }, looking)).crowdsec,
  });
}

const banned = async () => {
  const { data } = await fixture.run('decisions', '');
  return (data as { decisions: { value: string; origin: string; reason: string }[] }).decisions.filter(({ origin }) => origin === 'cscli');
};

/** Presses the given keys, and counts them. */
function counting(harness: Harness) {
  let keys = 0;
  return {
    press: async (...names: string[]) => {
      keys += names.length;
      await harness.press(...names);
    },
    keys: () => keys,
  };
}

async function start(screen: Harness, title: string): Promise<void> {
  await screen.press(':');
  await screen.type(title);
  await screen.sees(title);
  await screen.press('enter');
}

test.each(sizes)('a line of a log: b, Enter, Enter, and who it names is shut out (R63) at $columns x $rows', async (size) => {
  const who = `198.51.100.${size.columns}`;
  const harness = await open(size);
  harness.log(key, [`GET /wp-login.php from ${who}:51234`]);
  await harness.press('/');
  await harness.type('intrusion');
  await harness.press('enter', 'l');
  await harness.sees('wp-login');
  const { press, keys } = counting(harness);
  await press('b');
  await harness.sees(`Duration of the ban for ${who}`, '4h', /cscli decisions add --ip\s/);
  expect(misfits(harness.frame(), size)).toEqual([]);
  await press('enter');
  await harness.sees('Why?', 'seen in the log of intrusion-prevention');
  await press('enter');
  await harness.sees(new RegExp(`${who.replaceAll('.', '\\.')} is banned for (?:4h|240m)`));
  expect(keys()).toBe(3);
  expect(misfits(harness.frame(), size)).toEqual([]);
  expect(await banned()).toContainEqual(expect.objectContaining({ value: who, reason: 'seen in the log of intrusion-prevention' }));
});

test('an alert: b, Enter, Enter; x and Enter lift it again from the list (R63)', async () => {
  const [size = { columns: 80, rows: 24 }] = sizes;
  for (const { value } of await banned()) await fixture.run('unban', '', { words: [value] });
  const harness = await open(size);
  await harness.press('I', 'v');
  await harness.sees(/Alerts \d+/);
  await harness.until((frame) => /▸.*\d+\.\d+\.\d+\.\d+/.test(frame), 'an alert');
  const who = /▸.*?(\d+\.\d+\.\d+\.\d+)/.exec(harness.frame())?.[1] ?? '';
  const { press, keys } = counting(harness);
  await press('b');
  await harness.sees(`Duration of the ban for ${who}`);
  await press('enter');
  await harness.sees('Why?');
  await press('enter');
  await harness.sees('is banned for');
  expect(keys()).toBe(3);
  expect((await banned()).map(({ value }) => value)).toEqual([who]);
  // A bouncer that has not fetched decisions yet adds to the outcome, which then stays until it is closed.
  await harness.until((frame) => frame.includes('Enter close') || /Alerts \d+/.test(frame), 'the outcome, or the alerts again');
  if (harness.frame().includes('Enter close')) {
    await harness.press('enter');
    await harness.misses('Enter close');
  }
  await harness.press('v');
  await harness.sees(/Decisions \d+/);
  await harness.press('R');
  await harness.sees(/Decisions \d+/, who);
  await harness.press('/');
  await harness.type(who);
  await harness.press('enter');
  await harness.sees(new RegExp(`▸.*${who.replaceAll('.', '\\.')}`));
  await harness.press('x');
  await harness.sees(`${who} is no longer blocked.`);
  expect(await banned()).toEqual([]);
});

test('who would lock themselves out is told at the question, and types another one', async () => {
  const [size = { columns: 80, rows: 24 }] = sizes;
  const harness = await open(size);
  await start(harness, 'Ban an address, a range or a country');
  await harness.sees('Address, range or country', /would[\s┃]+lock[\s┃]+you[\s┃]+out[\s┃]+are[\s┃]+refused\./);
  for (const [text, why] of [
    ['127.0.0.0/8', /127\.0\.0\.0\/8 includes 127\.0\.0\.1/],
    ['0.0.0.0/0', /includes/],
    ['::1', /::1 (?:is|belongs)/],
    ['::/0', /includes/],
    ['192.168.0.0/16', /192\.168\.0\.0\/16 (?:is|belongs|includes)/],
    ['nonsense', /must be an address, a range or a country/],
  ] as const) {
    await harness.press('ctrl+u');
    await harness.type(text);
    await harness.press('enter');
    await harness.sees(why);
    expect(misfits(harness.frame(), size)).toEqual([]);
  }
  await harness.press('esc');
  await harness.sees('Nothing was banned.');
  expect(await banned()).toEqual([]);
});

test('an allowlist is made and filled, a bouncer gets its key once, and goes after a yes', async () => {
  const [size = { columns: 80, rows: 24 }] = sizes;
  const harness = await open(size);
  // Without an allowlist, the first one is created on the way.
  await start(harness, 'Add addresses to an allowlist');
  await harness.sees('Name of the first allowlist', 'cscli allowlists create');
  await harness.type('crew');
  await harness.press('enter');
  await harness.sees('Addresses or ranges');
  await harness.type('FR');
  await harness.press('enter');
  await harness.sees('FR is a country');
  await harness.press('ctrl+u');
  await harness.type('198.51.100.77 2001:db8::/64');
  await harness.press('enter');
  await harness.sees('Comment');
  await harness.press('enter');
  await harness.sees('198.51.100.77, 2001:db8::/64 are in the allowlist crew.');
  await start(harness, 'Add a bouncer');
  await harness.sees('Bouncer name', /The key is shown[\s┃]+once/);
  await harness.type('lighthouse');
  await harness.press('enter');
  await harness.sees('Key of lighthouse', 'y copy');
  expect(misfits(harness.frame(), size)).toEqual([]);
  await harness.press('enter');
  await harness.misses('Key of lighthouse');
  await start(harness, 'Delete a bouncer');
  await harness.sees('Which bouncer?', 'lighthouse');
  await harness.press('end', 'enter');
  await harness.sees('Delete bouncer lighthouse', 'The key of the bouncer stops working.');
  await harness.press('y');
  await harness.sees('Deleted bouncer lighthouse.');
});

test('the hub: its plan, what is left alone, the reload that it needs', async () => {
  const [size = { columns: 80, rows: 24 }] = sizes;
  const harness = await open(size);
  await start(harness, 'Upgrade hub items');
  await harness.sees('Upgrade 2 items', 'cscli hub upgrade');
  expect(misfits(harness.frame(), size)).toEqual([]);
  await harness.press('enter');
  await harness.sees('The change takes effect after a reload.', 'Reload now', '/restart');
  await harness.press('enter');
  await harness.sees('Upgraded crowdsecurity/sshd, crowdsecurity/sshd-logs.', 'reloaded.');
  expect(harness.frame()).not.toContain('📥');
  expect(misfits(harness.frame(), size)).toEqual([]);
});
