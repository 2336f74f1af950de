import { expect, onTestFinished, test } from 'vitest';
import type { PlaceView, WayView } from '../fleet/model.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import { Tunnels } from '../hosts/tunnel.ts';
import { firstState } from './interface-store.ts';
import { createFakeDeck, type FlowBody } from './rig/fake-deck.ts';
import { asciiTheme, misfits, openRig } from './rig/rig.tsx';
import { hour, sampleComponent, sampleNowMs, samplePlace, sampleSnapshot } from './rig/sample-fleet.ts';

const way = (state: WayView['state'], more: Partial<WayView> = {}): WayView => ({
  state,
  sinceMs: sampleNowMs - hour,
  roundTripMs: undefined,
  message: undefined,
  remedy: undefined,
  retryAtMs: undefined,
  ...more,
});
const far = (name: string, view: WayView, more: Partial<PlaceView> = {}): PlaceView => ({
  ...samplePlace,
  name,
  machine: name,
  hostKind: 'ssh',
  way: view,
  ...(view.state === 'connected'
    ? {}
    : { link: { ...samplePlace.link, state: 'away' as const }, engine: { ...samplePlace.engine, reachable: false } }),
  ...more,
});
const asleep = way('asleep', { message: 'attic does not answer.', remedy: 'Check the cable.', retryAtMs: sampleNowMs + 7000 });

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
  const places = [samplePlace, far('vps', way('connected', { roundTripMs: 12 })), far('attic', asleep)];
  const snapshot = { ...sample, places, components: [...sample.components, reader('vps'), reader('attic', 'unknown')] };
  const deck = createFakeDeck({ snapshot, ...(options.flows && { flows: options.flows }) });
  return options.tunnels ? Object.assign(deck, { tunnels: options.tunnels }) : deck;
}

test('one list of several hosts: each row names its host, the header says how each is reached, the banner what is wrong', async () => {
  for (const size of [
    { columns: 80, rows: 24 },
    { columns: 120, rows: 36 },
  ]) {
    const rig = await openRig({ size, deck: severalHosts(), start: { filters: { ...firstState.filters, components: 'rss' } } });
    // Where there is no room for both, what is wrong with components goes before the hosts; that one is away is in the banner.
    const header = size.columns === 80 ? / 2 failing {2}4 warnings / : /nas.*vps · ssh 12 ms.*attic · asleep.* 2 failing {2}4 warnings /;
    await rig.sees(header, 'attic does not answer. Check the cable.', 'Next try in 7 s.');
    expect(rig.frame()).toMatch(/[│┃].{2}.*rss-reader +attic +unknown/);
    expect(rig.frame()).toMatch(/rss-reader +vps +healthy/);
    expect(misfits(rig.frame(), size)).toEqual([]);
  }
});

test('the list is narrowed to one host by a word of the filter or by a key, and grouped by host', async () => {
  const rig = await openRig({ deck: severalHosts(), size: { columns: 120, rows: 36 } });
  await rig.press('/');
  await rig.type('host:vps');
  await rig.press('enter');
  await rig.sees('1 of 22 match', 'rss-reader');
  await rig.press('>');
  await rig.sees('/host:attic', '1 of 22 match');
  await rig.press('>');
  await rig.misses('/host:');
  await rig.press('<', '<', '<');
  await rig.sees('/host:nas', '20 of 22 match');
  await rig.press('esc', 'O');
  await rig.sees(/ attic +0\/1/);
});

test('the screen of hosts says how each is reached and why not, and goes there again on a key', async () => {
  for (const size of [
    { columns: 80, rows: 24 },
    { columns: 120, rows: 36 },
  ]) {
    const deck = severalHosts();
    const rig = await openRig({ deck, size, theme: asciiTheme });
    await rig.press('H');
    await rig.sees('this machine', /vps +ssh 12 ms/, /attic +asleep, retry in 7 s/);
    await rig.press('G');
    await rig.sees(/trouble +attic does not answer/, /what to do +Check the cable/, /next try +in 7 s/);
    expect(misfits(rig.frame(), size)).toEqual([]);
    await rig.press('R');
    expect(deck.refreshed).toEqual(['place attic']);
    await rig.press('enter');
    await rig.sees('/host:attic');
  }
});

test('a clock that is off stands beside the host', async () => {
  const deck = createFakeDeck({
    snapshot: { ...sampleSnapshot(), places: [far('nas', way('connected', { roundTripMs: 3 }), { clockAheadMs: -2 * hour })] },
  });
  const rig = await openRig({ deck });
  await rig.sees('nas · ssh 3 ms · clock 2h behind');
});

test('o opens a tunnel to a component of another host, copies its address, and the screen of hosts closes it', async () => {
  const tunnels = new Tunnels();
  onTestFinished(() => tunnels.close());
  const deck = severalHosts({
    tunnels,
    flows: {
      async tunnel(_operator, input) {
        const opened = await tunnels.open({ signal: new AbortController().signal } as Grant, {
          host: { name: 'vps' } as Host,
          address: { host: '127.0.0.1', port: 8180 },
          place: 'vps',
          component: input.component?.key ?? '',
          name: input.component?.id ?? '',
          scheme: 'http',
        });
        return `${opened.url} leads to rss-reader on vps.`;
      },
    },
  });
  const rig = await openRig({ deck, start: { selected: 'vps/rss-reader/rss-reader' } });
  await rig.sees(/page +http:\/\/127\.0\.0\.1:8180 on vps/);
  await rig.press('o');
  await rig.sees('leads to rss-reader on vps.');
  expect(deck.started).toMatchObject([{ flow: 'tunnel', input: { place: 'vps' } }]);
  const url = tunnels.all[0]?.url ?? '';
  expect(rig.copied).toEqual([url]);
  await rig.press('o');
  expect(deck.started).toHaveLength(1);
  expect(rig.copied).toEqual([url, url]);
  await rig.press('H', 'G');
  await rig.sees(`${url}  to rss-reader on vps, port 8180`);
  await rig.press('x');
  await rig.misses('to rss-reader on vps');
  expect(tunnels.all).toEqual([]);
});

test('on this machine o copies the address and opens nothing', async () => {
  const deck = severalHosts({ tunnels: new Tunnels() });
  const rig = await openRig({ deck, start: { selected: 'nas/password-vault/password-vault' } });
  await rig.press('o');
  expect(deck.started).toEqual([]);
  expect(rig.copied).toHaveLength(1);
});

test('where something new goes is chosen by what is typed, the host that is looked at first', async () => {
  const deck = severalHosts();
  Object.assign(deck.catalog, { entries: [{ id: 'recipe-box', deploy: 'compose', kind: 'Recipes', product: { name: 'Recipes' } }] });
  const rig = await openRig({ deck });
  await rig.press(':');
  await rig.type('deploy recipe');
  await rig.sees(/▸ do .*recipe-box on nas/, 'recipe-box on vps');
  await rig.misses('recipe-box on attic');
  await rig.type(' vps');
  await rig.sees(/▸ do .*recipe-box on vps/);
  await rig.press('enter');
  await rig.misses('▸ do');
  expect(deck.started).toMatchObject([{ flow: 'deploy', input: { place: 'vps', entry: { id: 'recipe-box' } } }]);
});

test('what a flow shows says on which host, where there are several', async () => {
  const stop: FlowBody = async (operator) => {
    operator.show({ kind: 'text', text: 'What came of it.' });
    return 'Stopped.';
  };
  const rig = await openRig({ deck: severalHosts({ flows: { stop } }), start: { selected: 'vps/rss-reader/rss-reader' } });
  await rig.press('s');
  await rig.sees(/Stop.*rss-reader on vps/);
});
