import type { Tunnel } from '../../../hosts/tunnel.ts';
import { cleanLine } from '../../../text/clean.ts';
import { useReported } from '../../hooks/use-stores.ts';
import { flowOf } from '../../offers.ts';
import { toggled } from '../../panes.ts';
import { createList, listWindow, type Screen } from '../../screen.ts';
import { hostFilter, withHost } from '../components/rows.ts';
import { engineFactsOf, type HostItem, hostItems, hostsLines, remoteOf } from './lines.ts';

const keys = [
  { id: 'show-host', keys: ['enter', 'right'], title: 'Show only components on this host', label: 'components' },
  { id: 'retry-host', keys: ['R'], title: 'Connect now, even if the last attempt was refused', label: 'try now' },
  { id: 'copy-tunnel', keys: ['y', 'o'], title: 'Copy the address of the tunnel' },
  { id: 'close-tunnel', keys: ['x', 'delete'], title: 'Close the tunnel' },
  { id: 'hosts', keys: ['H'], context: 'everywhere', title: 'Show hosts, their connections and open tunnels', find: true },
] as const;

export const hosts: Screen<'hosts', (typeof keys)[number]['id'], { cursor: number }> = {
  id: 'hosts',
  heading: 'Hosts',
  keys,
  state: { cursor: 0 },
  kind: 'body',
  open({ app, store, commands }) {
    const { tunnels } = app;
    const subscribe = (listener: () => void) => tunnels.subscribe(listener);
    let known: readonly Tunnel[] = [];
    // The operator wants the URL of a tunnel that was just opened.
    tunnels.subscribe(() => {
      const opened = tunnels.all.find((tunnel) => !known.includes(tunnel));
      known = tunnels.all;
      if (opened) commands.copy(opened.url);
    });
    const items = () => hostItems(app.fleet.snapshot(), tunnels.all);
    // A host or tunnel that disappears leaves the cursor in its position.
    const { at, chosen, move } = createList(
      items,
      () => '',
      () => store.get().hosts,
      ({ cursor }) => store.update(() => ({ hosts: { cursor } })),
    );

    /** Shows the components and ports of this host only; with an empty name, of all hosts. */
    function showHost(name: string): void {
      store.update(({ filters }) => ({
        screen: 'panes',
        filters: { ...filters, components: withHost(filters.components, name), ports: withHost(filters.ports, name) },
      }));
    }

    function turnHost(step: 1 | -1) {
      const names = ['', ...app.fleet.snapshot().engines.map(({ name }) => name)];
      if (names.length < 3) return commands.say('off', 'There is only one host.');
      const now = Math.max(0, names.indexOf(hostFilter(store.get().filters.components).host));
      const next = names[(now + step + names.length) % names.length] ?? '';
      showHost(next);
      commands.say('off', next === '' ? 'All hosts' : `Only ${cleanLine(next)}`);
    }

    /** Copies the URL of a component's page; for a component on another host, the URL of its tunnel. */
    function copyAddress(): void {
      const { component, reason = '' } = commands.target();
      const flow = flowOf(app, 'tunnel');
      if (!component) commands.say('warning', reason);
      else if (flow && remoteOf(app, component)) {
        const open = tunnels.find(component.key);
        if (open) commands.copyShown(open.url);
        else commands.startFlow(flow, component);
      } else if (!component.url) commands.say('warning', `${component.id} has no published web UI.`);
      else commands.copyShown(cleanLine(component.url));
    }

    const onEngine = (act: (name: string) => void) => () => {
      const item = chosen();
      if (item?.kind === 'engine') act(item.view.name);
    };

    return {
      useChanges: () => useReported(subscribe, 'fact'),
      draw({ theme, snapshot, nowMs, width, height, previousTop }) {
        const all = items();
        const shownRows = height - 2;
        const context = { theme, width: width - 2, nowMs, components: snapshot.components, destinations: app.settings.hosts };
        const { lines, at: selected } = hostsLines(all, at(all), context);
        const { top, visible } = listWindow(lines, { previous: previousTop, selected, height: shownRows });
        return { title: 'Hosts', rows: visible, top, page: { height: shownRows, total: all.length } };
      },
      speak({ nowMs }) {
        const { length } = items();
        return {
          lines: [`Hosts and tunnels. ${at() + 1} of ${length}.`, ...sentences(chosen(), nowMs)],
          page: { height: length, total: length },
        };
      },
      footer({ of }) {
        const items =
          chosen()?.kind === 'tunnel'
            ? [of('copy-tunnel', 'copy'), of('close-tunnel', 'close the tunnel')]
            : [of('show-host', 'components'), of('retry-host', 'try now')];
        return { items: [...items, of('down', 'down'), of('up', 'up')], always: [of('palette'), of('back', 'back')] };
      },
      target() {
        const item = chosen();
        const component = commands.selected();
        return { ...(component && { component }), ...(item?.kind === 'engine' && { host: item.view.name }) };
      },
      move,
      actions: {
        hosts: () => store.update((state) => toggled(state, 'hosts')),
        address: copyAddress,
        'next-host': () => turnHost(1),
        'previous-host': () => turnHost(-1),
        'show-host': onEngine((name) => showHost(app.fleet.snapshot().engines.length > 1 ? name : '')),
        'retry-host': onEngine((name) => {
          app.fleet.retry(name);
          commands.say('off', `Querying ${cleanLine(name)}`);
        }),
        'copy-tunnel': () => {
          const item = chosen();
          if (item?.kind === 'tunnel') commands.copyShown(item.tunnel.url);
        },
        'close-tunnel': () => {
          const item = chosen();
          if (item?.kind !== 'tunnel') return commands.say('off', 'No tunnel is selected.');
          item.tunnel.close();
          commands.say('off', `Closed ${item.tunnel.url}`);
        },
      },
    };

    function sentences(item: HostItem | undefined, nowMs: number): string[] {
      if (!item) return [];
      if (item.kind === 'tunnel') {
        const { url, wanted, trouble } = item.tunnel;
        return [
          `Tunnel ${url} to ${cleanLine(wanted.name)} on ${cleanLine(wanted.engineName)}.`,
          ...(trouble ? [cleanLine(trouble.message)] : []),
        ];
      }
      // A screen reader would repeat countdowns each second.
      const facts = engineFactsOf(item.view, { nowMs, destinations: app.settings.hosts }).filter(([name]) => name !== 'next try');
      return [`${cleanLine(item.view.name)}.`, ...facts.map(([name, text]) => `${name}: ${text}`)];
    }
  },
};
