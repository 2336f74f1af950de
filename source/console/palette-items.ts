import fuzzysort from 'fuzzysort';
import type { ComponentView } from '../fleet/model.ts';
import type { Deck } from '../terminal/deck.ts';
import type { Commands } from './commands.ts';
import { namesOf } from './component-rows.ts';
import { paneIds } from './interface-store.ts';
import { keyText } from './key-press.ts';
import { type CommandId, type Keymap, paneCommand } from './keymap.ts';
import { isOffered } from './offers.ts';

export interface PaletteItem {
  /** `do`, `go`, `host`: what kind of thing it is, in one word. */
  kind: string;
  title: string;
  /** The verb of a flow: what people type on the command line finds it here too. */
  verb?: string;
  detail: string;
  key: string;
  choose(commands: Commands): void;
}

/** Commands of the console itself that are worth finding by name. */
const general: readonly CommandId[] = [
  ...paneIds.map(paneCommand),
  'inspect',
  'address',
  'refresh',
  'next-service',
  'zoom',
  'wrap',
  'timestamps',
  'follow',
  'jump',
  'raw',
  'hiding',
  'log-scope',
  'save-logs',
  'help',
  'quit',
];

const detailWeight = 0.6;
const begunWeight = 0.5;

/** What can be found with these letters, the best first; without letters everything, in a sensible order. */
export function paletteItems(options: { deck: Deck; keymap: Keymap; component: ComponentView | undefined; query: string }): PaletteItem[] {
  const { deck, keymap, component, query } = options;
  const snapshot = deck.fleet.snapshot();
  const items: PaletteItem[] = [];
  const names = namesOf(snapshot.components);
  for (const flow of deck.flows) {
    if (!isOffered(deck, flow, component)) continue;
    if (flow.about === 'catalog' && !component) continue;
    const key = keymap.bindings.find((binding) => binding.flow === flow.id)?.keys[0];
    items.push({
      kind: 'do',
      title: flow.about !== 'host' && component ? `${flow.title}: ${names.get(component.key) ?? component.id}` : flow.title,
      verb: flow.verb,
      detail: flow.summary,
      key: key ? keyText(key) : '',
      choose: (commands) => commands.startFlow(flow),
    });
  }
  const deploys = deck.options.readOnly ? [] : deck.flows.filter(({ about }) => about === 'catalog');
  // Behind what can be done with what is there: people who look for these type a word of theirs.
  const fromCatalog: PaletteItem[] = deploys.flatMap((flow) =>
    deck.catalog.entries
      .filter((entry) => entry.deploy === 'compose' && entry.id !== component?.id)
      .map((entry) => ({
        kind: 'do',
        title: `${flow.title}: ${entry.id}`,
        verb: `${flow.verb} ${entry.id}`,
        detail: [entry.kind, entry.product.name].join(', '),
        key: '',
        choose: (commands: Commands) => commands.startWith(flow, entry),
      })),
  );
  for (const id of general) {
    const binding = keymap.binding(id);
    items.push({
      kind: id.startsWith('pane-') ? 'pane' : 'key',
      title: binding.title,
      detail: '',
      key: keymap.keyOf(id),
      choose: (commands) => commands.run(id),
    });
  }
  for (const other of snapshot.components) {
    items.push({
      kind: 'go',
      title: names.get(other.key) ?? other.id,
      detail: [other.word, other.product, other.project].filter(Boolean).join(', '),
      key: '',
      choose(commands) {
        commands.select(other.key);
        commands.focus('components');
      },
    });
  }
  for (const place of snapshot.places) {
    items.push({
      kind: 'host',
      title: place.name,
      detail: place.engine.reachable
        ? `${place.engine.kind ?? 'engine'} ${place.engine.version}`
        : (place.link.message ?? place.link.state),
      key: '',
      choose(commands) {
        const first = snapshot.components.find((candidate) => candidate.host === place.name);
        if (first) commands.select(first.key);
        commands.focus('components');
      },
    });
  }
  items.push(...fromCatalog);
  if (query.trim() === '') return items;
  const words = query.trim().toLowerCase().split(/\s+/);
  return fuzzysort
    .go(query.trim(), items, {
      keys: [(item) => item.title, (item) => item.verb ?? '', (item) => item.detail],
      // A component that happens to be restarting is not what `resta` is about.
      scoreFn: (found) => {
        const [title, verb, detail] = found;
        return (
          Math.max(title?.score ?? 0, verb?.score ?? 0, detailWeight * (detail?.score ?? 0)) + begunWeight * shareBegun(found.obj, words)
        );
      },
      threshold: 0.45,
      limit: 100,
    })
    .map((result) => result.obj);
}

/** How many of the typed words begin a word of it: letters of `media` that are strewn over a long title are not what was meant. */
function shareBegun({ title, verb = '' }: PaletteItem, typed: readonly string[]): number {
  const there = `${title} ${verb}`.toLowerCase().split(/[^\p{L}\p{N}]+/u);
  return (
    typed.filter((word) => word.split(/[^\p{L}\p{N}]+/u).every((part) => there.some((known) => known.startsWith(part)))).length /
    typed.length
  );
}
