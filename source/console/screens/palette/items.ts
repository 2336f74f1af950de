import fuzzysort from 'fuzzysort';
import type { QuarterdeckApp } from '../../../app/app.ts';
import type { ComponentView, EngineView, FleetSnapshot } from '../../../fleet/model.ts';
import type { Flow } from '../../../flows/flow.ts';
import { listedOperations, readOnlyProblem } from '../../../flows/operations/listed-operations.ts';
import type { Commands } from '../../commands.ts';
import { keyText } from '../../key-press.ts';
import type { CommandId, KeyBinding, Keymap } from '../../keymap.ts';
import { engineFor, entryOf, flowOf, isOffered, isOurs, onHost, onlyOneWithApi } from '../../offers.ts';
import { rememberedFor } from '../../remembered.ts';
import { namesOf } from '../components/rows.ts';

export interface PaletteItem {
  kind: string;
  title: string;
  /** The verb of a flow, so that the names of the command line are found here too. */
  verb?: string;
  /** The verb followed by its subject, and the product's own name. */
  words?: string;
  detail: string;
  key: string;
  local?: boolean;
  choose(commands: Commands): void;
}

type NameOf = (component: ComponentView) => string;

const detailWeight = 0.6;
const begunWeight = 0.5;
/** Weight of a title or verb that begins with the typed phrase: then nothing else was meant. */
const phraseWeight = 1;
/** Breaks ties only. */
const localWeight = 0.02;

interface Options {
  app: QuarterdeckApp;
  keymap: Keymap;
  component: ComponentView | undefined;
  host?: string | undefined;
  query: string;
}

export function paletteItems({ app, keymap, component, host, query }: Options): readonly PaletteItem[] {
  return findItems(app.fleet.snapshot(), app, keymap, component, host, query);
}

/** Cached, because the key and the next frame both request it. */
const findItems = rememberedFor(
  (
    snapshot: FleetSnapshot,
    app: QuarterdeckApp,
    keymap: Keymap,
    component: ComponentView | undefined,
    host: string | undefined,
    query: string,
  ): PaletteItem[] => {
    const names = namesOf(snapshot.components);
    const nameOf: NameOf = ({ key, id }) => names.get(key) ?? id;
    const words = query.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const engineView = engineFor(app, component);
    // Other engines are listed only once the query narrows the entries.
    const others = words.length > 0 ? snapshot.engines.filter((other) => other !== engineView && other.engine.reachable) : [];
    const items = [
      ...app.flows.flatMap((flow) => flowItem(flow, { app, keymap, component, host, query }, nameOf)),
      ...(words.length > 0 ? operationItems(app, component, nameOf) : []),
      ...keymap.bindings.flatMap((binding) => (binding.find ? [keyItem(binding)] : [])),
      ...snapshot.components.map((other) => componentItem(other, nameOf)),
      ...snapshot.engines.map((engine) => engineItem(engine, snapshot)),
      ...notNow(app, component, nameOf, words.join(' ')),
      // Combines verbs and components. With one word alone, every verb times every component would be listed.
      ...(words.length > 1 ? flowsOfOthers(app, component, nameOf, words) : []),
      // Listed after the actions on deployed components: operators who look for a new component type its name.
      ...flowsOfCatalog(app, engineView).map((item) => ({ ...item, local: true })),
      ...others.flatMap((other) => flowsOfCatalog(app, other)),
    ];
    return words.length === 0 ? items : bestOf(items, words);
  },
);

function flowItem(flow: Flow, { app, keymap, component, host, query }: Options, nameOf: NameOf): PaletteItem[] {
  const isHere = isOffered(app, flow, component, host);
  const about = isHere ? component : query.trim() !== '' ? onlyOneWithApi(app, flow) : undefined;
  if ((!about && (!isHere || flow.about === 'catalog')) || lacksOperations(app, flow, about)) return [];
  const named = flow.about === 'host' ? undefined : about;
  const key = keymap.bindings.find((binding) => binding.flow === flow.id)?.keys[0];
  return [
    {
      kind: 'do',
      title: named ? `${flow.title}: ${nameOf(named)}` : flow.title + onHost(app, flow, host),
      verb: flow.verb,
      words: named ? `${flow.verb} ${named.id} ${named.product}` : flow.verb,
      detail: flow.summary,
      key: key ? keyText(key) : '',
      choose(commands) {
        if (about && !isHere) commands.select(about.key);
        if (flow.about === 'host') commands.startOnHost(flow, host);
        else commands.startFlow(flow, about);
      },
    },
  ];
}

/** The operations that the catalog declares for the selected component, as if each were a flow. */
function operationItems(app: QuarterdeckApp, component: ComponentView | undefined, nameOf: NameOf): PaletteItem[] {
  const flow = flowOf(app, 'op');
  const entry = component && entryOf(app, component);
  if (!flow || !component || !entry) return [];
  return listedOperations(entry)
    .filter(({ call: name }) => {
      const call = entry.calls[name];
      return call && (!app.options.readOnly || readOnlyProblem(call) === undefined);
    })
    .map(({ id, title, consequences }) => ({
      kind: 'do',
      title: `${title}: ${nameOf(component)}`,
      words: `op ${component.id} ${id} ${component.product}`,
      detail: consequences[0] ?? `Operation ${id} of ${component.product}`,
      key: '',
      choose: (commands) => commands.startFlow(flow, component, [id]),
    }));
}

function lacksOperations(app: QuarterdeckApp, flow: Flow, component: ComponentView | undefined): boolean {
  const entry = flow.id === 'op' && component ? entryOf(app, component) : undefined;
  return entry !== undefined && listedOperations(entry).length === 0;
}

function keyItem({ id, title, keys }: KeyBinding): PaletteItem {
  const kind = id.startsWith('pane-') ? 'pane' : 'key';
  return { kind, title, detail: '', key: keyText(keys[0] ?? ''), choose: (commands) => commands.run(id as CommandId) };
}

function showComponent(commands: Commands, component: ComponentView | undefined): void {
  if (component) commands.select(component.key);
  commands.focus('components');
}

function componentItem(component: ComponentView, nameOf: NameOf): PaletteItem {
  const { state, product, project } = component;
  const detail = [state.label, product, project].filter(Boolean).join(', ');
  return { kind: 'go', title: nameOf(component), detail, key: '', choose: (commands) => showComponent(commands, component) };
}

function engineItem({ name, engine, link }: EngineView, { components }: FleetSnapshot): PaletteItem {
  const detail = engine.reachable ? `${engine.kind ?? 'engine'} ${engine.version}` : (link.message ?? link.state);
  const first = components.find(({ host }) => host === name);
  return { kind: 'host', title: name, detail, key: '', choose: (commands) => showComponent(commands, first) };
}

function bestOf(items: readonly PaletteItem[], words: readonly string[]): PaletteItem[] {
  return fuzzysort
    .go(words.join(' '), items, {
      keys: [
        (item) => item.title,
        (item) => item.verb ?? '',
        (item) => item.words ?? '',
        ({ words, detail }) => (words?.endsWith(detail) ? '' : detail),
      ],
      // `resta` does not mean a component that is restarting at the moment.
      scoreFn: (result) => {
        const [title, verb, known, detail] = result;
        return (
          Math.max(title?.score ?? 0, verb?.score ?? 0, known?.score ?? 0, detailWeight * (detail?.score ?? 0)) +
          begunWeight * shareBegun(result.obj, words) +
          phraseWeight * sharePhrase(result.obj, words.join(' ')) +
          (result.obj.local ? localWeight : 0)
        );
      },
      threshold: 0.45,
      limit: 100,
    })
    .map((result) => result.obj);
}

function flowsOfOthers(app: QuarterdeckApp, component: ComponentView | undefined, nameOf: NameOf, words: readonly string[]): PaletteItem[] {
  const flows = touched(app.flows, words, [({ verb }) => verb, ({ title }) => title]);
  const others = touched(app.fleet.snapshot().components, words, [nameOf, (other) => other.product, (other) => other.kind]);
  return flows.flatMap((flow) =>
    others.flatMap((other) => {
      const name = nameOf(other);
      const item = { kind: 'do', detail: other.product, key: '' };
      const startWith = (about?: readonly string[]) => (commands: Commands) => {
        commands.select(other.key);
        commands.startFlow(flow, other, about);
      };
      if (flow.wordsFor) {
        const entry = app.options.readOnly && flow.right !== 'read' ? undefined : entryOf(app, other);
        const wordsFor = entry ? flow.wordsFor(entry) : [];
        return wordsFor.map((about) => ({
          ...item,
          title: `${flow.title}: ${[name, ...about.slice(1)].join(' ')}`,
          words: `${flow.verb} ${about.join(' ')} ${other.product}`,
          choose: startWith(about),
        }));
      }
      // That flow is already listed with fewer words.
      if (flow.about === 'host' || other === component || !isOffered(app, flow, other) || onlyOneWithApi(app, flow)) return [];
      if (lacksOperations(app, flow, other)) return [];
      return {
        ...item,
        title: `${flow.title}: ${name}`,
        words: `${flow.verb} ${other.id} ${other.product}`,
        choose: startWith(),
      };
    }),
  );
}

function flowsOfCatalog(app: QuarterdeckApp, engineView: EngineView | undefined): PaletteItem[] {
  if (app.options.readOnly || !engineView) return [];
  const { components, engines } = app.fleet.snapshot();
  const there = new Set(components.flatMap(({ known, host, id }) => (known && host === engineView.name ? [id] : [])));
  const entries = app.catalog.entries.filter(({ id, deploy }) => deploy === 'compose' && !there.has(id));
  const where = engines.length > 1 ? ` on ${engineView.name}` : '';
  return app.flows
    .filter(({ about }) => about === 'catalog')
    .flatMap((flow) =>
      entries.map((entry) => ({
        kind: 'do',
        title: `${flow.title}: ${entry.id}${where}`,
        words: `${flow.verb} ${entry.id} ${entry.product.name}${where}`,
        detail: [entry.kind, entry.product.name].join(', '),
        key: '',
        choose: (commands: Commands) => commands.startWith(flow, entry, engineView),
      })),
    );
}

/** Fewer letters begin too many words to be a name. */
const leastPhrase = 4;

/** Returns 1 when the item begins with the typed phrase, word for word; less when the phrase of several words occurs later in the title. */
function sharePhrase(item: PaletteItem, phrase: string): number {
  if (isPhraseOf(item, phrase)) return 1;
  return phrase.includes(' ') && item.title.toLowerCase().includes(` ${phrase}`) ? 0.5 : 0;
}

function isPhraseOf({ title, verb = '' }: Pick<PaletteItem, 'title' | 'verb'>, phrase: string): boolean {
  return phrase.length >= leastPhrase && (title.toLowerCase().startsWith(phrase) || verb.startsWith(phrase));
}

/** An operator who types "seal" while the vault is sealed learns the reason by choosing the item. */
function notNow(app: QuarterdeckApp, component: ComponentView | undefined, nameOf: NameOf, phrase: string): PaletteItem[] {
  return app.flows.flatMap((flow): PaletteItem[] => {
    if (flow.about !== 'component' || !isPhraseOf(flow, phrase) || isOffered(app, flow, component) || onlyOneWithApi(app, flow)) return [];
    const speakers = app.fleet.snapshot().components.filter(({ speaks }) => flow.speaks !== undefined && speaks === flow.speaks);
    const about =
      flow.speaks === undefined ? component : speakers.length === 1 ? speakers[0] : speakers.find(({ key }) => key === component?.key);
    if (!about) return [];
    const why = (flow.ours && !isOurs(app, about) && ': not deployed by Quarterdeck') || (flow.remote ? ' here' : `: ${about.state.label}`);
    return [
      {
        kind: 'no',
        title: `${flow.title}: ${nameOf(about)}`,
        verb: flow.verb,
        detail: `not available${app.options.readOnly && flow.right !== 'read' ? ': read-only' : why}`,
        key: '',
        choose: (commands) => commands.startFlow(flow, about),
      },
    ];
  });
}

function touched<T>(all: readonly T[], words: readonly string[], keys: readonly ((one: T) => string)[]): readonly T[] {
  const found = new Set(words.flatMap((word) => fuzzysort.go(word, all, { keys, threshold: 0.45, limit: 0 }).map(({ obj }) => obj)));
  return all.filter((one) => found.has(one));
}

/** The letters of `media` scattered over a long title are no match. A whole word counts more: `nas-1` is not `nas-10`. */
function shareBegun({ title, words = '' }: PaletteItem, typed: readonly string[]): number {
  const there = `${title} ${words}`.toLowerCase().split(/[^\p{L}\p{N}]+/u);
  const share = (part: string) => (there.includes(part) ? 1 : there.some((known) => known.startsWith(part)) ? 0.8 : 0);
  const shares = typed.map((word) => Math.min(...word.split(/[^\p{L}\p{N}]+/u).map((part) => (part === '' ? 1 : share(part)))));
  return shares.reduce((sum, one) => sum + one, 0) / shares.length;
}
