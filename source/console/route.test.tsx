import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Harness, misfits } from '../../test/doubles/console/harness.tsx';
import { findFlow, openOnPractice } from '../../test/doubles/console/practice-harness.ts';
import { PracticeFixture } from '../../test/doubles/practice-fixture.ts';

const gateway = 'vpn-client-gateway';
const routed = 'file-sync';
const service = 'syncthing';
const narrow = { columns: 80, rows: 24 };
type Size = typeof narrow;

let fixture: PracticeFixture;
// The tests draw many screens each, possibly on a busy machine.
vi.setConfig({ testTimeout: 180_000 });
beforeAll(async () => {
  fixture = await PracticeFixture.open();
  // Writes the files and loads all modules, so that no test of the screen waits for that.
  await expect(fixture.run('route', routed)).rejects.toMatchObject({ code: 'refused.noGateway' });
}, 180_000);
afterAll(() => fixture.close());

const open = (size: Size, component = routed) => openOnPractice(fixture, { size, component, patienceMs: 60_000 });

const route = (screen: Harness) => findFlow(screen, 'route vpn', 'Route a component through the VPN gateway');

/** Reads from the engine the component's network and its published ports. */
async function seen(id: string, service: string): Promise<{ mode: string; ports: number[] }> {
  const found = (await fixture.containers(id))[service] ?? '';
  const detail = await fixture.app.context.engineOf('practice').inspect(found, AbortSignal.timeout(20_000));
  return {
    mode: detail?.networkMode ?? '',
    ports: (detail?.ports ?? []).flatMap(({ hostPort }) => (hostPort === undefined ? [] : [hostPort])).sort((a, b) => a - b),
  };
}

test('without a gateway it says which one to deploy; what finds its database by name is refused', async () => {
  const screen = await open(narrow);
  await route(screen);
  await screen.sees('No VPN gateway is deployed on practice.', `quarterdeck deploy ${gateway}`);
  expect(misfits(screen.frame(), narrow)).toEqual([]);
  await screen.press('esc');
  const other = await open(narrow, 'rss-reader');
  await route(other);
  await other.sees('uses db by name');
  expect(misfits(other.frame(), narrow)).toEqual([]);
});

describe('behind a gateway', () => {
  const own = [8384, 21027, 22000, 22000];
  beforeAll(async () => {
    await fixture.run('deploy', gateway, { options: { set: ['VPN_SERVICE_PROVIDER=mullvad'] } });
    await vi.waitUntil(() => ['running', 'healthy'].includes(fixture.component(gateway)?.serviceState ?? ''), { timeout: 60_000 });
  }, 180_000);

  test('planned, left, applied, proved, and taken back (R15)', async () => {
    const before = await seen(routed, service);
    expect(before.mode).not.toMatch(/^container:/);
    const screen = await open(narrow);
    await route(screen);
    await screen.sees(`Route ${routed} through ${gateway}`, `Writes 2 files, recreates ${gateway}, ${routed}.`);
    await screen.sees(`quarterdeck route ${routed} --practice`);
    expect(misfits(screen.frame(), narrow)).toEqual([]);
    await screen.press('pagedown');
    await screen.sees('The gateway publishes the ports');
    await screen.press('end');
    await screen.sees(`+     network_mode: container:${gateway}-gluetun-1`);
    expect(misfits(screen.frame(), narrow)).toEqual([]);
    await screen.press('esc');
    await screen.sees(`${routed} was not changed.`);
    expect(await seen(routed, service)).toEqual(before);
    await screen.press('esc');

    await route(screen);
    await screen.sees('Writes 2 files');
    await screen.press('enter');
    await screen.sees('Traffic leaves through the tunnel: ok', 'from 198.51.100.7 (Sweden)', `${routed} is routed through ${gateway}.`);
    expect(misfits(screen.frame(), narrow)).toEqual([]);
    await screen.press('enter');
    const gluetun = (await fixture.containers(gateway))['gluetun'];
    expect(await seen(routed, service)).toEqual({ mode: `container:${gluetun}`, ports: [] });
    expect((await seen(gateway, 'gluetun')).ports).toEqual([8000, ...own]);

    await route(screen);
    await screen.sees(
      `Routing of ${routed}`,
      `Currently routed through ${gateway}-gluetun-1.`,
      "Restore the component's own network and ports",
      'network again',
    );
    expect(misfits(screen.frame(), narrow)).toEqual([]);
    await screen.press('esc');
    await screen.sees(`${routed} was not changed.`);
    await screen.press('esc');
    await route(screen);
    await screen.sees(`Routing of ${routed}`);
    await screen.press('enter');
    // The missing HTTPS is stated beside it.
    await screen.sees(`Disconnect ${routed} from the network of ${gateway.slice(0, 'vpn-client-'.length)}…`, 'Writes 2 files');
    expect(misfits(screen.frame(), narrow)).toEqual([]);
    await screen.press('enter');
    await screen.sees(`${routed} uses its own network and ports again.`);
    expect(misfits(screen.frame(), narrow)).toEqual([]);
    expect((await seen(gateway, 'gluetun')).ports).toEqual([8000]);
    expect((await seen(routed, service)).ports).toEqual(own);
  });
});
