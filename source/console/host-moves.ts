import type { ComponentView } from '../fleet/model.ts';
import type { Flow } from '../flows/flow.ts';
import type { Tunnel } from '../hosts/tunnel.ts';
import type { Deck } from '../terminal/deck.ts';
import { cleanLine } from '../text/clean.ts';
import { hostFilter, withHost } from './component-rows.ts';
import { type HostItem, hostItems } from './hosts-lines.ts';
import type { InterfaceStore } from './interface-store.ts';
import type { CommandId } from './keymap.ts';
import { flowOf } from './offers.ts';
import type { KeyTarget } from './selection.ts';

interface Options {
  deck: Deck;
  store: InterfaceStore;
  target: () => KeyTarget;
  say: (tone: 'good' | 'idle' | 'warn', text: string) => void;
  copy: (text: string) => void;
  startFlow: (flow: Flow, component: ComponentView) => void;
}

/** What keys do about hosts and the ways to them. */
export function createHostMoves({ deck, store, target, say, copy, startFlow }: Options) {
  const { tunnels } = deck;
  let known: readonly Tunnel[] = [];
  // One that was just opened is what the operator wanted an address of.
  tunnels?.subscribe(() => {
    const opened = tunnels.all.find((tunnel) => !known.includes(tunnel));
    known = tunnels.all;
    if (opened) copy(opened.url);
  });

  const items = () => hostItems(deck.fleet.snapshot(), tunnels?.all ?? []);
  const chosen = (): HostItem | undefined => {
    const all = items();
    return all[Math.min(store.get().hostsCursor, all.length - 1)];
  };

  /** Components and ports of this host alone; of all with an empty name. */
  function showHost(name: string): void {
    store.update(({ filters }) => ({
      screen: 'panes',
      filters: { ...filters, components: withHost(filters.components, name), ports: withHost(filters.ports, name) },
    }));
  }

  function turnHost(step: 1 | -1): void {
    const names = ['', ...deck.fleet.snapshot().places.map(({ name }) => name)];
    if (names.length < 3) {
      say('idle', 'There is one host.');
      return;
    }
    const now = Math.max(0, names.indexOf(hostFilter(store.get().filters.components).host));
    const next = names[(now + step + names.length) % names.length] ?? '';
    showHost(next);
    say('idle', next === '' ? 'All hosts' : `${cleanLine(next)} alone`);
  }

  function address(): void {
    const { component, reason = '' } = target();
    const place = deck.fleet.snapshot().places.find(({ name }) => name === component?.host);
    const flow = flowOf(deck, 'tunnel');
    if (!component) say('warn', reason);
    else if (place?.hostKind === 'ssh' && flow) {
      const open = tunnels?.find(component.key);
      if (open) copyTunnel(open);
      else startFlow(flow, component);
    } else if (!component.url) say('warn', `${component.id} has no page that is published.`);
    else {
      const url = cleanLine(component.url);
      copy(url);
      say('good', `Copied ${url}`);
    }
  }

  function copyTunnel({ url }: Tunnel): void {
    copy(url);
    say('good', `Copied ${url}`);
  }

  const actions: Partial<Record<CommandId, () => void>> = {
    address,
    hosts: () => store.update(({ screen }) => ({ screen: screen === 'hosts' ? 'panes' : 'hosts' })),
    'next-host': () => turnHost(1),
    'previous-host': () => turnHost(-1),
    'group-hosts': () => store.update(({ grouping }) => ({ grouping: grouping === 'host' ? 'kind' : 'host' })),
    'show-host': () => {
      const item = chosen();
      if (item?.kind === 'place') showHost(deck.fleet.snapshot().places.length > 1 ? item.place.name : '');
    },
    'retry-host': () => {
      const item = chosen();
      if (item?.kind !== 'place') return;
      deck.fleet.retry(item.place.name);
      say('idle', `Asking ${cleanLine(item.place.name)}`);
    },
    'copy-tunnel': () => {
      const item = chosen();
      if (item?.kind === 'tunnel') copyTunnel(item.tunnel);
    },
    'close-tunnel': () => {
      const item = chosen();
      if (item?.kind !== 'tunnel') say('idle', 'No tunnel is selected.');
      else {
        item.tunnel.close();
        say('idle', `Closed ${item.tunnel.url}`);
      }
    },
  };
  return actions;
}
