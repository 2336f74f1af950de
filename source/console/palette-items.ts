import fuzzysort from 'fuzzysort';
import type { ComponentView, FleetSnapshot, PlaceView } from '../fleet/model.ts';
import type { Deck } from '../terminal/deck.ts';
import type { Commands } from './commands.ts';
import { namesOf } from './component-rows.ts';
import { paneIds } from './interface-store.ts';
import { keyText } from './key-press.ts';
import { type CommandId, type Keymap, paneCommand } from './keymap.ts';
import { isOffered, onHost, onlySpeaker, placeFor } from './offers.ts';

export interface PaletteItem {
  /** `do`, `go`, `host`: what kind of thing it is, in one word. */
  kind: string;
  title: string;
  /** The verb of a flow: what people type on the command line finds it here too. */
  verb?: string;
  /** The same with what follows it there, and the product's own name. */
  words?: string;
  detail: string;
  key: string;
  /** Of the host that is looked at. */
  near?: boolean;
  choose(commands: Commands): void;
}

/** Commands of the console itself that are worth finding by name. */
const general: readonly CommandId[] = [
  ...paneIds.map(paneCommand),
  'inspect',
  'address',
  'refresh',
  'next-service',
  'hosts',
  'prevention',
  'vulnerabilities',
  'catalog',
  'chain',
  'next-host',
  'group-hosts',
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
/** Its title or verb as it stands in the help: nothing else was meant. */
const phraseWeight = 1;
/** Decides where nothing else does. */
const nearWeight = 0.02;

interface Options {
  deck: Deck;
  keymap: Keymap;
  component: ComponentView | undefined;
  /** Of flows about a host. */
  host?: string | undefined;
  query: string;
}

const found = new WeakMap<FleetSnapshot, Options & { items: PaletteItem[] }>();

/** What can be found with these letters, the best first; without letters everything, in a sensible order. */
export function paletteItems(options: Options): readonly PaletteItem[] {
  // A key asks for it, and the frame after it.
  const { deck, keymap, component, host, query } = options;
  const snapshot = deck.fleet.snapshot();
  const last = found.get(snapshot);
  if (last?.deck === deck && last.keymap === keymap && last.component === component && last.host === host && last.query === query)
    return last.items;
  const items = findItems(options);
  found.set(snapshot, { ...options, items });
  return items;
}

function findItems({ deck, keymap, component, host, query }: Options): PaletteItem[] {
  const snapshot = deck.fleet.snapshot();
  const items: PaletteItem[] = [];
  const names = namesOf(snapshot.components);
  const isAsked = query.trim() !== '';
  for (const flow of deck.flows) {
    const isHere = isOffered(deck, flow, component, host);
    const about = isHere ? component : isAsked ? onlySpeaker(deck, flow) : undefined;
    if (!isHere && !about) continue;
    if (flow.about === 'catalog' && !about) continue;
    const key = keymap.bindings.find((binding) => binding.flow === flow.id)?.keys[0];
    items.push({
      kind: 'do',
      title: flow.about !== 'host' && about ? `${flow.title}: ${names.get(about.key) ?? about.id}` : flow.title + onHost(deck, flow, host),
      verb: flow.verb,
      words: flow.about !== 'host' && about ? `${flow.verb} ${about.id} ${about.product}` : flow.verb,
      detail: flow.summary,
      key: key ? keyText(key) : '',
      choose(commands) {
        if (about && !isHere) commands.select(about.key);
        if (flow.about === 'host') commands.startOn(flow, host);
        else commands.startFlow(flow, about);
      },
    });
  }
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
  const words = query.trim().toLowerCase().split(/\s+/).filter(Boolean);
  items.push(...notNow({ deck, component, names, phrase: words.join(' ') }));
  // A verb and what it is for: with one word alone, every verb times every component would stand there.
  if (words.length > 1) items.push(...flowsOfOthers({ deck, component, names, words }));
  // Behind what can be done with what is there: people who look for these type a word of theirs.
  const place = placeFor(deck, component);
  items.push(...flowsOfCatalog(deck, place).map((item) => ({ ...item, near: true })));
  // Where else it can go stands there as soon as it is known what.
  if (words.length > 0)
    for (const other of snapshot.places) if (other !== place && other.engine.reachable) items.push(...flowsOfCatalog(deck, other));
  if (words.length === 0) return items;
  return fuzzysort
    .go(words.join(' '), items, {
      keys: [
        (item) => item.title,
        (item) => item.verb ?? '',
        (item) => item.words ?? '',
        ({ words, detail }) => (words?.endsWith(detail) ? '' : detail),
      ],
      // A component that happens to be restarting is not what `resta` is about.
      scoreFn: (result) => {
        const [title, verb, known, detail] = result;
        return (
          Math.max(title?.score ?? 0, verb?.score ?? 0, known?.score ?? 0, detailWeight * (detail?.score ?? 0)) +
          begunWeight * shareBegun(result.obj, words) +
          phraseWeight * sharePhrase(result.obj, words.join(' ')) +
          (result.obj.near ? nearWeight : 0)
        );
      },
      threshold: 0.45,
      limit: 100,
    })
    .map((result) => result.obj);
}

/** Flows about components that are there, other than the selected one: those of which both the flow and the component have to do with what was typed. */
function flowsOfOthers(options: {
  deck: Deck;
  component: ComponentView | undefined;
  names: ReadonlyMap<string, string>;
  words: readonly string[];
}): PaletteItem[] {
  const { deck, component, names, words } = options;
  const flows = touched(deck.flows, words, [({ verb }) => verb, ({ title }) => title]);
  const others = touched(deck.fleet.snapshot().components, words, [
    (other) => names.get(other.key) ?? other.id,
    (other) => other.product,
    (other) => other.kind,
  ]);
  return flows.flatMap((flow) =>
    others.flatMap((other) => {
      const name = names.get(other.key) ?? other.id;
      const item = { kind: 'do', detail: other.product, key: '' };
      const startWith = (about?: readonly string[]) => (commands: Commands) => {
        commands.select(other.key);
        commands.startFlow(flow, other, about);
      };
      if (flow.wordsFor) {
        const entry = deck.options.readOnly && flow.right !== 'read' ? undefined : deck.catalog.get(other.entry ?? other.id);
        const wordsFor = entry && other.known ? flow.wordsFor(entry) : [];
        return wordsFor.map((about) => ({
          ...item,
          title: `${flow.title}: ${[name, ...about.slice(1)].join(' ')}`,
          words: `${flow.verb} ${about.join(' ')} ${other.product}`,
          choose: startWith(about),
        }));
      }
      // That one stands there with fewer words already.
      if (flow.about === 'host' || other === component || !isOffered(deck, flow, other) || onlySpeaker(deck, flow)) return [];
      return {
        ...item,
        title: `${flow.title}: ${name}`,
        words: `${flow.verb} ${other.id} ${other.product}`,
        choose: startWith(),
      };
    }),
  );
}

/** What can be begun with what is not there yet, on the host that is looked at. */
function flowsOfCatalog(deck: Deck, place: PlaceView | undefined): PaletteItem[] {
  if (deck.options.readOnly || !place) return [];
  const { components, places } = deck.fleet.snapshot();
  const there = new Set(components.flatMap(({ known, host, id }) => (known && host === place.name ? [id] : [])));
  const entries = deck.catalog.entries.filter(({ id, deploy }) => deploy === 'compose' && !there.has(id));
  const where = places.length > 1 ? ` on ${place.name}` : '';
  return deck.flows
    .filter(({ about }) => about === 'catalog')
    .flatMap((flow) =>
      entries.map((entry) => ({
        kind: 'do',
        title: `${flow.title}: ${entry.id}${where}`,
        words: `${flow.verb} ${entry.id} ${entry.product.name}${where}`,
        detail: [entry.kind, entry.product.name].join(', '),
        key: '',
        choose: (commands: Commands) => commands.startWith(flow, entry, place),
      })),
    );
}

/** Letters of a word that begin many things are no name yet. */
const leastPhrase = 4;

/** 1 where it begins with what was typed, word for word; less where several words stand in it so. */
function sharePhrase(item: PaletteItem, phrase: string): number {
  if (isPhraseOf(item, phrase)) return 1;
  return phrase.includes(' ') && item.title.toLowerCase().includes(` ${phrase}`) ? 0.5 : 0;
}

/** Does it begin with what was typed, word for word? */
function isPhraseOf({ title, verb = '' }: Pick<PaletteItem, 'title' | 'verb'>, phrase: string): boolean {
  return phrase.length >= leastPhrase && (title.toLowerCase().startsWith(phrase) || verb.startsWith(phrase));
}

/**
 * What somebody asks for by its name and cannot have now: who types "seal" while it is sealed is to learn that, and not to be offered something else. Choosing it
 * says why.
 */
function notNow({
  deck,
  component,
  names,
  phrase,
}: {
  deck: Deck;
  component: ComponentView | undefined;
  names: ReadonlyMap<string, string>;
  phrase: string;
}): PaletteItem[] {
  return deck.flows.flatMap((flow): PaletteItem[] => {
    if (flow.about !== 'component' || !isPhraseOf(flow, phrase) || isOffered(deck, flow, component) || onlySpeaker(deck, flow)) return [];
    const speakers = deck.fleet.snapshot().components.filter(({ speaks }) => flow.speaks !== undefined && speaks === flow.speaks);
    const about =
      flow.speaks === undefined ? component : speakers.length === 1 ? speakers[0] : speakers.find(({ key }) => key === component?.key);
    if (!about) return [];
    return [
      {
        kind: 'no',
        title: `${flow.title}: ${names.get(about.key) ?? about.id}`,
        verb: flow.verb,
        detail: `not as it is now: ${about.word}`,
        key: '',
        choose: (commands) => commands.startFlow(flow, about),
      },
    ];
  });
}

/** Those that at least one of the words has to do with. */
function touched<T>(all: readonly T[], words: readonly string[], keys: readonly ((one: T) => string)[]): readonly T[] {
  const found = new Set(words.flatMap((word) => fuzzysort.go(word, all, { keys, threshold: 0.45, limit: 0 }).map(({ obj }) => obj)));
  return all.filter((one) => found.has(one));
}

/**
 * How many of the typed words begin a word of it: letters of `media` that are strewn over a long title are not what was meant.
 * A whole word counts a little more: `nas-1` is not `nas-10`.
 */
function shareBegun({ title, words = '' }: PaletteItem, typed: readonly string[]): number {
  const there = `${title} ${words}`.toLowerCase().split(/[^\p{L}\p{N}]+/u);
  const share = (part: string) => (there.includes(part) ? 1 : there.some((known) => known.startsWith(part)) ? 0.8 : 0);
  const shares = typed.map((word) => Math.min(...word.split(/[^\p{L}\p{N}]+/u).map((part) => (part === '' ? 1 : share(part)))));
  return shares.reduce((sum, one) => sum + one, 0) / shares.length;
}
