import type { ComponentView, PlaceView } from '../fleet/model.ts';
import type { Flow } from '../flows/flow.ts';
import type { Deck } from '../terminal/deck.ts';
import { cleanLine } from '../text/clean.ts';
import type { KeyBinding, Keymap } from './keymap.ts';

/** Can this flow be started here and now? Read-only sessions let through what only reads. `host` is the one of a flow about a host. */
export function isOffered(deck: Deck, flow: Flow, component: ComponentView | undefined, host = component?.host): boolean {
  if (deck.options.readOnly && flow.right !== 'read') return false;
  if (flow.far && component && deck.fleet.snapshot().places.find(({ name }) => name === component.host)?.hostKind !== 'ssh') return false;
  if (flow.ours && component && !isOurs(deck, component)) return false;
  if (flow.about === 'host') return isOfferedOn(deck, flow, host);
  if (flow.about === 'catalog') return component?.known === true && (flow.offered?.(component) ?? true);
  return component !== undefined && (flow.offered?.(component) ?? true);
}

/** The one component here that a flow about its API can be about now, whatever is selected; undefined where there are several, or none. */
export function onlySpeaker(deck: Deck, flow: Flow): ComponentView | undefined {
  if (flow.speaks === undefined) return undefined;
  const speakers = deck.fleet.snapshot().components.filter(({ speaks }) => speaks === flow.speaks);
  const [only, ...others] = speakers.filter((component) => isOffered(deck, flow, component));
  return others.length === 0 ? only : undefined;
}

function isOfferedOn(deck: Deck, flow: Flow, host: string | undefined): boolean {
  const { places, components, ports } = deck.fleet.snapshot();
  const place = host ?? places[0]?.name;
  if (place === undefined || !flow.offeredOn) return places.length > 0;
  const here = ({ host }: { host: string }) => host === place;
  return flow.offeredOn(components.filter(here), ports.filter(here));
}

/** Was it deployed from here? In practice all is, and written down when it is first needed. */
export function isOurs(deck: Deck, { deployed, known }: ComponentView): boolean {
  return deployed || (known && deck.options.practice !== undefined);
}

/** ` on nas`, where there are several hosts that it could be about. */
export function onHost(deck: Deck, flow: Flow, host: string | undefined): string {
  return flow.offline || host === undefined || deck.fleet.snapshot().places.length < 2 ? '' : ` on ${cleanLine(host)}`;
}

/** Where something new goes: to the host that is looked at, or to the first one that answers. */
export function placeFor(deck: Deck, component: ComponentView | undefined): PlaceView | undefined {
  const reachable = deck.fleet.snapshot().places.filter(({ engine }) => engine.reachable);
  return reachable.find(({ name }) => name === component?.host) ?? reachable[0];
}

export function flowOf(deck: Deck, id: string): Flow | undefined {
  return deck.flows.find((flow) => flow.id === id);
}

/** Keys that act on this component as it is now, in the table's order. */
export function offeredActs(deck: Deck, keymap: Keymap, component: ComponentView | undefined): KeyBinding[] {
  return keymap.bindings.filter((binding) => {
    if (binding.context !== 'component' || component === undefined) return false;
    if (!binding.flow) return true;
    const flow = flowOf(deck, binding.flow);
    return flow !== undefined && isOffered(deck, flow, component);
  });
}
