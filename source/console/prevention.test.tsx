import { expect, onTestFinished, test } from 'vitest';
import { createFakeApp, type FlowBody } from '../../test/doubles/console/fake-app.ts';
import { asciiTheme, type HarnessOptions, misfits, openHarness } from '../../test/doubles/console/harness.tsx';
import { hour, minute, sampleComponent, sampleNowMs, sampleSnapshot } from '../../test/doubles/console/sample-fleet.ts';
import { Fault } from '../faults/fault.ts';
import type { Alert, Decision } from '../products/crowdsec/client/crowdsec-records.ts';
import type { Size } from './layout.ts';
import { type PreventionSource, watchPrevention } from './screens/prevention/watch.ts';

const decision = (id: number, value: string, more: Partial<Decision> = {}): Decision => ({
  id,
  scope: 'Ip',
  value,
  type: 'ban',
  origin: 'crowdsec',
  reason: 'crowdsecurity/ssh-bf',
  endsMs: sampleNowMs + 3 * hour,
  simulated: false,
  country: 'NL',
  network: '64500 Example Hosting',
  alert: id + 1000,
  ...more,
});
const alert = (id: number, value: string, more: Partial<Alert> = {}): Alert => ({
  id,
  scope: 'Ip',
  value,
  reason: 'crowdsecurity/http-probing',
  country: 'BR',
  network: '64501 Example Telecom',
  events: 11,
  createdMs: sampleNowMs - 5 * minute,
  machine: 'localhost',
  message: '',
  simulated: false,
  decisions: [],
  ...more,
});

const crowdsec = sampleComponent({
  id: 'intrusion-prevention',
  group: 'security',
  kind: 'Intrusion-prevention engine',
  product: 'CrowdSec',
  speaks: 'crowdsec',
  image: 'crowdsecurity/crowdsec',
  state: 'running',
  agoMs: hour,
});

class Played implements PreventionSource {
  own: Decision[] = [
    decision(1, '203.0.113.7'),
    decision(2, '198.51.100.0/24', { scope: 'Range', origin: 'cscli', reason: 'by hand', country: '', endsMs: sampleNowMs + hour }),
  ];
  shared: Decision[] = [];
  noticed: Alert[] = [alert(11, '192.0.2.44'), alert(12, '203.0.113.66')];
  trouble: Fault | undefined;
  asked = 0;
  async decisions({ shared }: { shared: boolean }) {
    this.asked++;
    if (this.trouble) throw this.trouble;
    return shared ? [...this.own, ...this.shared] : this.own;
  }
  async alerts() {
    return this.noticed;
  }
}

async function open(
  played: Played,
  options: { size?: Size; flows?: Readonly<Record<string, FlowBody>>; there?: boolean } & Partial<HarnessOptions> = {},
) {
  const sample = sampleSnapshot();
  const components = options.there === false ? sample.components : [...sample.components, crowdsec];
  const app = createFakeApp({
    snapshot: { ...sample, components },
    ...(options.flows && { flows: options.flows }),
    ...(options.readOnly && { app: { readOnly: true } }),
  });
  return openHarness({ size: { columns: 120, rows: 36 }, ...options, app, crowdsec: async () => played });
}

test('I shows who is shut out, with why, from where, and for how long; Esc goes back', async () => {
  for (const size of [
    { columns: 80, rows: 24 },
    { columns: 120, rows: 36 },
  ]) {
    const harness = await open(new Played(), { size });
    await harness.press('I');
    await harness.sees(
      'Decisions 2, without shared lists',
      '203.0.113.7',
      'ssh-bf',
      '198.51.100.0/24',
      'by hand',
      '1 of 2',
      'newest first',
      'ban',
    );
    expect(harness.row('203.0.113.7')).toMatch(/NL.*crowdsec.*3h/);
    expect(harness.row('198.51.100.0/24')).toMatch(/cscli.*60m|cscli.*1h/);
    expect(misfits(harness.raw(), size)).toEqual([]);
    await harness.press('v');
    await harness.sees('Alerts 2', '192.0.2.44', size.columns < 100 ? /[^/]http-probing/ : 'crowdsecurity/http-probing');
    await harness.press('esc');
    await harness.sees('Components');
  }
});

test.each([
  { columns: 60, rows: 15 },
  { columns: 80, rows: 24 },
  { columns: 200, rows: 60 },
])('both views fit into $columns x $rows', async (size) => {
  const harness = await open(new Played(), { size });
  await harness.press('I');
  await harness.sees('203.0.113.7');
  expect(misfits(harness.raw(), size)).toEqual([]);
  await harness.press('v');
  await harness.sees('192.0.2.44');
  expect(misfits(harness.raw(), size)).toEqual([]);
});

test('ASCII is ASCII there', async () => {
  const harness = await open(new Played(), { theme: asciiTheme, size: { columns: 80, rows: 24 } });
  await harness.press('I');
  await harness.sees('203.0.113.7');
  expect(harness.raw()).toMatch(/^[\x20-\x7e\n]*$/);
});

test('from an alert to a ban in three keys: b, and twice Enter on what stands there (R63)', async () => {
  let banned = '';
  const harness = await open(new Played(), {
    flows: {
      ban: async (operator, input, signal) => {
        const duration = await operator.ask({ id: 'duration', kind: 'duration', label: 'For how long?', initial: '4h' }, signal);
        const reason = await operator.ask({ id: 'reason', kind: 'text', label: 'Why?', initial: String(input.options['because']) }, signal);
        banned = `${input.words.join(' ')} ${duration} ${reason}`;
        return 'Banned.';
      },
    },
  });
  await harness.press('I', 'v');
  await harness.sees('192.0.2.44');
  await harness.press('j');
  await harness.press('b');
  await harness.sees('For how long?', '4h', 'quarterdeck ban 192.0.2.44');
  await harness.press('enter');
  await harness.sees('Why?');
  await harness.press('enter');
  await harness.sees('Banned.');
  expect(banned).toBe('192.0.2.44 4h crowdsecurity/http-probing');
});

test('from a log line to a ban: the address in it, or all of them where there are several', async () => {
  const harness = await open(new Played());
  const { key } = crowdsec;
  harness.log(key, ['GET / from 203.0.113.9:51234', 'from 203.0.113.9 over 192.168.1.254', 'no address at 09:01:02']);
  await harness.press('/');
  await harness.type('intrusion');
  await harness.press('enter', 'l');
  await harness.sees('no address at 09:01:02');
  await harness.press('b');
  await harness.sees('This line contains no address.');
  await harness.press('k', 'b');
  await harness.until(() => harness.app.started.length === 1, 'the flow');
  await harness.press('k', 'b');
  await harness.until(() => harness.app.started.length === 2, 'the flow');
  const because = 'seen in the log of intrusion-prevention';
  expect(harness.app.started).toMatchObject([
    { flow: 'ban', input: { engineName: 'nas', words: [], options: { among: '203.0.113.9 192.168.1.254', because } } },
    { flow: 'ban', input: { engineName: 'nas', words: ['203.0.113.9'], options: { because } } },
  ]);
});

test('x lifts the ban of the row, Enter opens its alert, y copies its address', async () => {
  const harness = await open(new Played());
  await harness.press('I');
  await harness.sees('203.0.113.7');
  await harness.press('G', 'y');
  await harness.sees('Copied 203.0.113.7');
  expect(harness.copied).toEqual(['203.0.113.7']);
  await harness.press('x');
  await harness.press('enter');
  await harness.until(() => harness.app.started.length === 2, 'both flows');
  expect(harness.app.started).toMatchObject([
    { flow: 'unban', input: { engineName: 'nas', words: ['203.0.113.7'] } },
    { flow: 'alerts', input: { words: ['1001'] } },
  ]);
});

test('a filter hides the others and says how many are left; s turns the order', async () => {
  const harness = await open(new Played());
  await harness.press('I');
  await harness.sees('203.0.113.7');
  await harness.press('/');
  await harness.type('hand');
  await harness.press('enter');
  await harness.sees('1 of 1', '198.51.100.0/24');
  await harness.misses('203.0.113.7');
  await harness.press('esc');
  await harness.sees('203.0.113.7', '1 of 2');
  await harness.press('s');
  await harness.sees('ending soonest first');
  const frame = harness.frame();
  expect(frame.indexOf('198.51.100.0/24')).toBeLessThan(frame.indexOf('203.0.113.7'));
});

test.each([
  [80, 'imported'],
  [120, 'cscli-import'],
])('imported decisions stand among the others, named and counted apart, in %i columns', async (columns, origin) => {
  const played = new Played();
  played.own = [...played.own, decision(9, '203.0.113.60', { origin: 'cscli-import', reason: 'blocklist' })];
  const harness = await open(played, { size: { columns, rows: 24 } });
  await harness.press('I');
  await harness.sees('Decisions 2 and 1 imported, without shared lists', '203.0.113.60', ` ${origin} `);
});

test('fifty thousand decisions of shared lists: what is drawn is what is seen, and the cursor reaches them all (R63)', async () => {
  const played = new Played();
  played.shared = Array.from({ length: 50_000 }, (_, at) =>
    decision(100 + at, `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`, { origin: 'lists', reason: at === 31_337 ? 'needle' : 'firehol' }),
  );
  const harness = await open(played, { size: { columns: 80, rows: 24 } });
  await harness.press('I');
  await harness.sees('203.0.113.7');
  await harness.press('S');
  await harness.sees('2 and 50,000 from shared lists', '1 of 50,002');
  expect(harness.frame().match(/firehol/g)?.length ?? 0).toBeLessThan(24);
  await harness.press('G');
  await harness.sees('50,002 of 50,002', '203.0.113.7');
  await harness.press('/');
  await harness.type('needle');
  await harness.press('enter');
  await harness.sees('1 of 1', '10.0.122.105');
});

test('what comes in is shown as it comes, and the cursor stays on its row', async () => {
  const played = new Played();
  const waiting: (() => void)[] = [];
  const watch = watchPrevention(async () => played);
  onTestFinished(watch.look('nas'));
  await new Promise<void>((resolve) => {
    waiting.push(watch.subscribe(() => resolve()));
  });
  expect(watch.view()?.decisions).toHaveLength(2);
  played.own = [...played.own, decision(3, '192.0.2.1')];
  const came = new Promise<void>((resolve) => {
    waiting.push(watch.subscribe(() => watch.view()?.decisions.length === 3 && resolve()));
  });
  watch.refresh();
  await came;
  for (const stop of waiting) stop();
});

test('the row that a key is about stays the one that was looked at, whatever comes in above it', async () => {
  const played = new Played();
  const harness = await open(played);
  await harness.press('I');
  await harness.sees('1 of 2', '198.51.100.0/24');
  played.own = [...played.own, decision(3, '192.0.2.1')];
  await harness.press('R');
  await harness.sees('192.0.2.1', /▸ 198\.51\.100/);
  await harness.press('x');
  await harness.until(() => harness.app.started.length === 1, 'the flow');
  expect(harness.app.started).toMatchObject([{ flow: 'unban', input: { words: ['198.51.100.0/24'] } }]);
});

test('nothing is asked while nobody looks', async () => {
  const played = new Played();
  const harness = await open(played);
  await harness.press('j');
  expect(played.asked).toBe(0);
});

test('a CrowdSec that does not respond says so, and what to do', async () => {
  const played = new Played();
  played.trouble = new Fault('unreachable.component', 'intrusion-prevention is not running.', 'Start it.');
  const harness = await open(played);
  await harness.press('I');
  await harness.sees('intrusion-prevention is not running. Start it.');
});

test('one that runs on the machine itself is known by its socket', async () => {
  const sample = sampleSnapshot();
  const [port] = sample.ports;
  if (!port) throw new Error('the sample has ports');
  const ports = [...sample.ports, { ...port, port: 8080, owner: 'crowdsec', component: undefined }];
  const harness = await openHarness({ app: createFakeApp({ snapshot: { ...sample, ports } }), crowdsec: async () => new Played() });
  await harness.press('I');
  await harness.sees('203.0.113.7');
});

test('where there is none the key says so; read-only shows, and bans nobody', async () => {
  const none = await open(new Played(), { there: false });
  await none.press('I');
  await none.sees('No CrowdSec on these hosts');
  const harness = await open(new Played(), { readOnly: true });
  await harness.press('I');
  await harness.sees('203.0.113.7');
  await harness.press('b');
  await harness.sees('read-only');
  expect(harness.app.started).toEqual([]);
});

test('text from outside cannot leave its row', async () => {
  const played = new Played();
  played.own = [decision(1, '203.0.113.7', { reason: 'evil\u001b[2J\u001b]0;x\u0007\nsecond', network: '\u202eabc' })];
  const size = { columns: 120, rows: 36 };
  const harness = await open(played, { size });
  await harness.press('I');
  await harness.sees('evil');
  expect(harness.frame()).not.toMatch(/\u001b|\u0007|\u202e/);
  expect(misfits(harness.raw(), size)).toEqual([]);
});
