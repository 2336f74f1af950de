import { expect, onTestFinished, test } from 'vitest';
import { createFakeApp, type FlowBody } from '../../test/doubles/console/fake-app.ts';
import { asciiTheme, misfits, openHarness } from '../../test/doubles/console/harness.tsx';
import { hour, sampleComponent, sampleEngine, sampleNowMs, sampleSnapshot } from '../../test/doubles/console/sample-fleet.ts';
import type { ConnectionView, EngineView } from '../fleet/model.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import { Tunnels } from '../hosts/tunnel.ts';
import { firstState } from './interface-store.ts';

const connection = (state: ConnectionView['state'], more: Partial<ConnectionView> = {}): ConnectionView => ({
  state,
  sinceMs: sampleNowMs - hour,
  roundTripMs: undefined,
  message: undefined,
  remedy: undefined,
  retryAtMs: undefined,
  ...more,
});
const remote = (name: string, view: ConnectionView, more: Partial<EngineView> = {}): EngineView => ({
  ...sampleEngine,
  name,
  machine: name,
  hostKind: 'ssh',
  connection: view,
  ...(view.state === 'connected'
    ? {}
    : { link: { ...sampleEngine.link, state: 'away' as const }, engine: { ...sampleEngine.engine, reachable: false } }),
  ...more,
});
const asleep = connection('asleep', { message: 'attic does not respond.', remedy: 'Check the cable.', retryAtMs: sampleNowMs + 7000 });

const reader = (host: string, state: 'healthy' | 'unknown' = 'healthy') =>
  sampleComponent({
    id: 'rss-reader',
    group: 'productivity',
    kind: 'Feed reader',
    product: 'Miniflux',
    image: 'miniflux/miniflux',
    state,
    agoMs: hour,
    host,
    url: 'http://127.0.0.1:8180',
  });

function severalHosts(options: { tunnels?: Tunnels; flows?: Readonly<Record<string, FlowBody>> } = {}) {
  const sample = sampleSnapshot();
  const engines = [sampleEngine, remote('vps', connection('connected', { roundTripMs: 12 })), remote('attic', asleep)];
  const snapshot = { ...sample, engines, components: [...sample.components, reader('vps'), reader('attic', 'unknown')] };
  const app = createFakeApp({ snapshot, ...(options.flows && { flows: options.flows }) });
  return options.tunnels ? Object.assign(app, { tunnels: options.tunnels }) : app;
}

test('one list of several hosts: each row names its host, the header says how each is reached, the banner what is wrong', async () => {
  for (const size of [
    { columns: 80, rows: 24 },
    { columns: 120, rows: 36 },
  ]) {
    const harness = await openHarness({ size, app: severalHosts(), start: { filters: { ...firstState().filters, components: 'rss' } } });
    // Where both do not fit, the problems of components are shown instead of the hosts; the unreachable host is in the banner.
    const header = size.columns === 80 ? / 2 failing {2}4 warnings / : /nas.*vps · ssh 12 ms.*attic · asleep.* 2 failing {2}4 warnings /;
    await harness.sees(header, 'attic does not respond. Check the cable.', 'Next try in 7 s.');
    expect(harness.frame()).toMatch(/[│┃].{2}.*rss-reader +attic +unknown/);
    expect(harness.frame()).toMatch(/rss-reader +vps +healthy/);
    expect(misfits(harness.frame(), size)).toEqual([]);
  }
});

test('the list is narrowed to one host by a word of the filter or by a key, and grouped by host', async () => {
  const harness = await openHarness({ app: severalHosts(), size: { columns: 120, rows: 36 } });
  await harness.press('/');
  await harness.type('host:vps');
  await harness.press('enter');
  await harness.sees('1 of 22 match', 'rss-reader');
  await harness.press('>');
  await harness.sees('/host:attic', '1 of 22 match');
  await harness.press('>');
  await harness.misses('/host:');
  await harness.press('<', '<', '<');
  await harness.sees('/host:nas', '20 of 22 match');
  await harness.press('esc', 'O');
  await harness.sees(/ attic +0\/1/);
});

test('the screen of hosts says how each is reached and why not, and goes there again on a key', async () => {
  for (const size of [
    { columns: 80, rows: 24 },
    { columns: 120, rows: 36 },
  ]) {
    const app = severalHosts();
    const harness = await openHarness({ app, size, theme: asciiTheme });
    await harness.press('H');
    await harness.sees('this machine', /vps +ssh 12 ms/, /attic +asleep, retry in 7 s/);
    await harness.press('G');
    await harness.sees(/problem +attic does not respond/, /remedy +Check the cable/, /next try +in 7 s/);
    expect(misfits(harness.frame(), size)).toEqual([]);
    await harness.press('R');
    expect(app.refreshed).toEqual(['place attic']);
    await harness.press('enter');
    await harness.sees('/host:attic');
  }
});

test('a host that was added while the console runs is not called this machine', async () => {
  const added = { ...remote('nas', connection('connected', { roundTripMs: 3 })), name: 'new' };
  const app = createFakeApp({ snapshot: { ...sampleSnapshot(), engines: [added] } });
  const harness = await openHarness({ app, size: { columns: 120, rows: 36 }, theme: asciiTheme });
  await harness.press('H');
  await harness.sees(/connection +ssh/);
  await harness.misses('this machine');
});

test('a key typed before the hosts are drawn moves among them', async () => {
  const harness = await openHarness({ app: severalHosts(), theme: asciiTheme });
  await harness.send('Hj');
  await harness.sees(/>. vps +ssh 12 ms/);
});

test('a clock that is off stands beside the host', async () => {
  const app = createFakeApp({
    snapshot: { ...sampleSnapshot(), engines: [remote('nas', connection('connected', { roundTripMs: 3 }), { clockAheadMs: -2 * hour })] },
  });
  const harness = await openHarness({ app });
  await harness.sees('nas · ssh 3 ms · clock 2h behind');
});

test('o opens a tunnel to a component of another host, copies its address, and the screen of hosts closes it', async () => {
  const tunnels = new Tunnels();
  onTestFinished(() => tunnels.close());
  const app = severalHosts({
    tunnels,
    flows: {
      async tunnel(_operator, input) {
        const opened = await tunnels.open({ signal: new AbortController().signal } as Grant, {
          host: { name: 'vps' } as Host,
          address: { host: '127.0.0.1', port: 8180 },
          engineName: 'vps',
          component: input.component?.key ?? '',
          name: input.component?.id ?? '',
          scheme: 'http',
        });
        return `${opened.url} leads to rss-reader on vps.`;
      },
    },
  });
  const harness = await openHarness({ app, start: { selected: 'vps/rss-reader/rss-reader' } });
  await harness.sees(/page +http:\/\/127\.0\.0\.1:8180 on vps/);
  await harness.press('o');
  await harness.sees('leads to rss-reader on vps.');
  expect(app.started).toMatchObject([{ flow: 'tunnel', input: { engineName: 'vps' } }]);
  const url = tunnels.all[0]?.url ?? '';
  expect(harness.copied).toEqual([url]);
  await harness.press('o');
  expect(app.started).toHaveLength(1);
  expect(harness.copied).toEqual([url, url]);
  await harness.press('H', 'G');
  await harness.sees(`${url}  to rss-reader on vps, port 8180`);
  await harness.press('x');
  await harness.misses('to rss-reader on vps');
  expect(tunnels.all).toEqual([]);
});

test('on this machine o copies the address and opens nothing', async () => {
  const app = severalHosts({ tunnels: new Tunnels() });
  const harness = await openHarness({ app, start: { selected: 'nas/password-vault/password-vault' } });
  await harness.press('o');
  expect(app.started).toEqual([]);
  expect(harness.copied).toHaveLength(1);
});

test('where something new goes is chosen by what is typed, the host that is looked at first', async () => {
  const app = severalHosts();
  Object.assign(app.catalog, { entries: [{ id: 'recipe-box', deploy: 'compose', kind: 'Recipes', product: { name: 'Recipes' } }] });
  const harness = await openHarness({ app });
  await harness.press(':');
  await harness.type('deploy recipe');
  await harness.sees(/▸ do .*recipe-box on nas/, 'recipe-box on vps');
  await harness.misses('recipe-box on attic');
  await harness.type(' vps');
  await harness.sees(/▸ do .*recipe-box on vps/);
  await harness.press('enter');
  await harness.misses('▸ do');
  expect(app.started).toMatchObject([{ flow: 'deploy', input: { engineName: 'vps', entry: { id: 'recipe-box' } } }]);
});

test('what a flow shows says on which host, where there are several', async () => {
  const stop: FlowBody = async (operator) => {
    operator.show({ kind: 'text', text: 'What came of it.' });
    return 'Stopped.';
  };
  const harness = await openHarness({ app: severalHosts({ flows: { stop } }), start: { selected: 'vps/rss-reader/rss-reader' } });
  await harness.press('s');
  await harness.sees(/Stop.*rss-reader on vps/);
});
