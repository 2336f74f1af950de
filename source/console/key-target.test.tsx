import { describe, expect, test } from 'vitest';
import { createFakeApp, type FakeApp } from '../../test/doubles/console/fake-app.ts';
import { openHarness } from '../../test/doubles/console/harness.tsx';
import { sampleSnapshot } from '../../test/doubles/console/sample-fleet.ts';
import type { ComponentView, EngineView } from '../fleet/model.ts';
import type { InterfaceState } from './interface-store.ts';
import { createKeymap } from './keymap.ts';
import { hostItems } from './screens/hosts/lines.ts';

const keymap = createKeymap();
const vault = 'nas/password-vault/password-vault';
const sample = sampleSnapshot();
const mediaComponent = sample.components.find(({ id }) => id === 'media-server') as ComponentView;
const mediaKey = mediaComponent.key;
const ownPort = (owner: string) => {
  const port = sample.ports.find((one) => one.owner === owner);
  if (!port) throw new Error(`no port of ${owner}`);
  return `${port.host}/${port.address}/${port.port}/${port.protocol}/${port.owner}`;
};

/** The focus, and the one component that keys may act on there; password-vault is selected in the list. */
const engines: readonly { where: string; start: Partial<InterfaceState>; target: string | undefined; reason?: string }[] = [
  { where: 'components', start: { focus: 'components' }, target: 'password-vault' },
  { where: 'components, zoomed', start: { focus: 'components', zoomed: true }, target: 'password-vault' },
  ...(['overview', 'logs', 'ports', 'fields', 'inspect'] as const).map((tab) => ({
    where: `details, ${tab}`,
    start: { focus: 'detail' as const, tab, zoomed: true },
    target: 'password-vault',
  })),
  { where: 'ports of a component', start: { focus: 'ports', selectedPort: ownPort('media-server') }, target: 'media-server' },
  { where: 'ports of a program', start: { focus: 'ports', selectedPort: ownPort('sshd') }, target: undefined, reason: 'sshd' },
  {
    where: 'ports, none listed',
    start: { focus: 'ports', filters: filtersWith('nothing-like-this') },
    target: undefined,
    reason: 'No port',
  },
  { where: 'logs', start: { focus: 'logs' }, target: 'password-vault' },
  { where: 'logs, zoomed', start: { focus: 'logs', zoomed: true }, target: 'password-vault' },
  { where: 'logs of a marked one', start: { focus: 'logs', zoomed: true, marked: new Set([mediaKey]) }, target: 'media-server' },
  {
    where: 'details with the log of a marked one',
    start: { focus: 'detail', tab: 'logs', zoomed: true, marked: new Set([mediaKey]) },
    target: 'media-server',
  },
  {
    where: 'logs of two marked ones',
    start: { focus: 'logs', marked: new Set([vault, mediaKey]) },
    target: undefined,
    reason: 'The logs of 2 components',
  },
  { where: 'logs of the host', start: { focus: 'logs', logScope: 'host' }, target: undefined, reason: 'The logs of 20 components' },
];

function filtersWith(ports: string): InterfaceState['filters'] {
  return { components: '', ports, logs: '', fields: '', operations: '', inspect: '', prevention: '', triage: '', catalog: '' };
}

/** Returns an app in which every flow is available for a running component that was deployed from here. */
function offeringApp(): FakeApp {
  return createFakeApp({
    snapshot: { ...sample, components: sample.components.map((one) => ({ ...one, deployed: true })) },
  });
}

const flowKeys = [...new Set(keymap.bindings.filter(({ context, flow }) => context === 'component' && flow).flatMap(({ keys }) => keys))];

describe('a key acts on what the pane with the focus shows, or on nothing, and says why', () => {
  test.each(engines)('$where', async ({ start, target, reason }) => {
    const app = offeringApp();
    const screen = await openHarness({ app, size: { columns: 80, rows: 24 }, start: { selected: vault, ...start } });
    if (target) await screen.sees(target);
    const own = new Set(
      keymap.bindings
        .filter(({ context }) => context === start.focus || (start.tab === 'logs' && context === 'logs'))
        .flatMap(({ keys }) => keys),
    );
    for (const key of flowKeys.filter((one) => !own.has(one))) {
      app.started.length = 0;
      await screen.press(key);
      for (const { flow, input } of app.started) expect([flow, input.component?.id ?? input.entry?.id], key).toEqual([flow, target]);
      if (reason && key === 's') await screen.sees(reason);
      if (target && key === 's') expect(app.started.map(({ flow }) => flow)).toEqual(['stop']);
    }
    await screen.press('R');
    expect(app.refreshed).toEqual(target ? [app.fleet.snapshot().components.find(({ id }) => id === target)?.key] : []);
    await screen.press('i');
    if (target) await screen.sees(new RegExp(`┏ ${target} .*`));
    else await screen.misses('[Inspect]');
  });

  test('screens over the panes start nothing about what lies under them', async () => {
    for (const screenKey of ['?', 'H', 'C', 'F', 'X', ':']) {
      const app = offeringApp();
      const screen = await openHarness({ app, start: { selected: vault } });
      await screen.press(screenKey);
      for (const key of ['s', 'S', 'r', 'p', 'U', 'B', 'e', 'D', 'P']) await screen.press(key);
      expect(app.started, screenKey).toEqual([]);
    }
  });

  test('keys of the host act on the host of the highlighted row', async () => {
    const other: EngineView = { ...(sample.engines[0] as EngineView), name: 'attic' };
    const [port] = sample.ports;
    const app = createFakeApp({
      snapshot: { ...sample, engines: [...sample.engines, other], ports: port ? [{ ...port, host: 'attic', component: undefined }] : [] },
    });
    const screen = await openHarness({ app, start: { selected: vault } });
    await screen.press('D', '3', 'D');
    expect(app.started.map(({ flow, input }) => [flow, input.engineName])).toEqual([
      ['df', 'nas'],
      ['df', 'attic'],
    ]);
    await screen.press('/');
    await screen.type('zzz');
    await screen.press('enter', 'P');
    await screen.sees('No host is selected.');
    expect(app.started).toHaveLength(2);
    await screen.press('esc', 'H', 'j', ':');
    expect(hostItems(app.fleet.snapshot(), [])).toHaveLength(2);
    await screen.type('disk');
    await screen.sees(/on attic/);
    await screen.press('enter');
    expect(app.started.at(-1)?.input.engineName).toBe('attic');
  });

  test('[ and ] bring the details onto the screen that they turn', async () => {
    const screen = await openHarness({ size: { columns: 80, rows: 24 } });
    await screen.press(']');
    await screen.sees('[2 Details]', '[Logs]');
  });
});

describe('stop, restart and pause', () => {
  const cases = [
    ['s', 'stop', 'Stop password-vault on nas'],
    ['r', 'restart', 'Restart password-vault on nas'],
    ['p', 'pause', 'Pause password-vault on nas'],
  ] as const;

  test.each(cases)('%s asks once: Enter confirms, Esc cancels', async (key, flow, title) => {
    const app = createFakeApp({ confirms: true });
    const screen = await openHarness({ app, size: { columns: 60, rows: 20 } });
    await screen.press(key);
    await screen.sees(title, 'Enter yes');
    expect(app.started).toEqual([]);
    await screen.press('esc');
    await screen.misses('Enter yes');
    await screen.sees(`Cancelled: ${title}`);
    expect(app.started).toEqual([]);
    await screen.press(key, 'enter');
    expect(app.started.map((one) => [one.flow, one.input.component?.id])).toEqual([[flow, 'password-vault']]);
    await screen.misses('Enter yes');
  });

  test('keys that arrive together confirm nothing', async () => {
    const app = createFakeApp({ confirms: true });
    const screen = await openHarness({ app });
    await screen.send('s\r');
    await screen.sees('Stop password-vault on nas');
    expect(app.started).toEqual([]);
  });

  test('the service that was chosen is named', async () => {
    const two = sample.components.find(({ services }) => services.length > 1) as ComponentView;
    const app = createFakeApp({ confirms: true });
    const screen = await openHarness({ app, start: { selected: two.key } });
    await screen.press('v');
    await screen.sees(`${two.id}: service `);
    await screen.press('s');
    await screen.sees(/Stop service \S+ of /);
  });

  test('nothing is asked where the settings say so, and for what interrupts nothing', async () => {
    const quiet = createFakeApp();
    await (await openHarness({ app: quiet })).press('s');
    expect(quiet.started.map(({ flow }) => flow)).toEqual(['stop']);
    const app = createFakeApp({ confirms: true });
    await (await openHarness({ app })).press('B');
    expect(app.started.map(({ flow }) => flow)).toEqual(['backup']);
  });
});
