import type { ComponentView, ServiceView } from '../fleet/model.ts';
import type { Flow } from '../flows/flow.ts';
import type { Deck } from '../terminal/deck.ts';
import { cleanLine } from '../text/clean.ts';
import { matchingPorts, portKey, rowsFor, selectedIn } from './component-rows.ts';
import type { FlowRuns } from './flow-runs.ts';
import { type DetailTab, detailTabs, type FilterTarget, type InterfaceState, type InterfaceStore, type PaneId, paneIds } from './interface-store.ts';
import type { KeyPress } from './key-press.ts';
import type { CommandId, KeyBinding, KeyContext, Keymap } from './keymap.ts';
import type { LogHub } from './log-hub.ts';
import { flowOf, isOffered } from './offers.ts';
import { paletteItems } from './palette-items.ts';
import { editField, fieldOf, typeInto } from './text-field.ts';

const noticeMs = 4000;

/** What the last frame showed of each scrolling part, for keys that move by pages. Written while drawing, read by keys. */
export interface Measured {
  /** The terminal is too small: what nobody can see is not done. */
  small: boolean;
  list: number;
  ports: number;
  logs: number;
  detail: { height: number; total: number; matches: readonly number[] };
  help: { height: number; total: number };
  run: { height: number; total: number };
}

export function firstMeasures(): Measured {
  const none = { height: 1, total: 0 };
  return { small: false, list: 1, ports: 1, logs: 1, detail: { ...none, matches: [] }, help: none, run: none };
}

export interface Commands {
  readonly measured: Measured;
  readonly runs: FlowRuns;
  /** The selected component, as the screen shows it. */
  selected(): ComponentView | undefined;
  /** The service that is looked at: the chosen one, or the main one. */
  serviceOf(component: ComponentView): ServiceView | undefined;
  press(press: KeyPress): boolean;
  paste(text: string): void;
  select(componentKey: string): void;
  focus(pane: PaneId): void;
  startFlow(flow: Flow): void;
  run(id: CommandId): void;
}

interface Options {
  deck: Deck;
  store: InterfaceStore;
  keymap: Keymap;
  logs: LogHub;
  runs: FlowRuns;
  now: () => number;
  quit: () => void;
  /** Draws the whole screen again. */
  redraw: () => void;
  /** Stops the process until the shell continues it. */
  suspend: () => void;
  /** To the clipboard of the operator's terminal (OSC 52). */
  copy: (text: string) => void;
}

/** Which service of the component is looked at. */
export function serviceShown(state: InterfaceState, component: ComponentView): ServiceView | undefined {
  const chosen = state.services[component.key];
  return component.services.find((service) => service.name === chosen) ?? component.services.find((service) => service.main) ?? component.services[0];
}

export function selectedComponent(deck: Deck, state: InterfaceState): ComponentView | undefined {
  return selectedIn(rowsFor(deck.fleet.snapshot().components, state.filters.components), state.selected, state.selectedPlace);
}

/** What `/` is about in the pane with the focus; undefined where there is nothing to filter. */
export function filterTarget(state: InterfaceState): FilterTarget | undefined {
  if (state.focus !== 'detail') return state.focus;
  return state.tab === 'overview' ? undefined : state.tab;
}

/** The context whose keys count first. */
export function contextsOf(state: InterfaceState): KeyContext[] {
  const own: KeyContext = state.focus === 'detail' && state.tab === 'logs' ? 'logs' : state.focus;
  // In the ports no component stands under the cursor: a key must not act on one that is elsewhere.
  const acts: KeyContext[] = state.focus === 'ports' ? [] : ['component'];
  return [...new Set<KeyContext>([own, state.focus, 'list', ...acts, 'host', 'everywhere'])];
}

export function createCommands(options: Options): Commands {
  const { deck, store, keymap, logs, runs, now } = options;
  const measured = firstMeasures();

  const say = (tone: 'good' | 'idle' | 'warn', text: string) => store.update(() => ({ notice: { tone, text: cleanLine(text), untilMs: now() + noticeMs } }));
  const selected = () => selectedComponent(deck, store.get());

  const listed = (filter: string) => rowsFor(deck.fleet.snapshot().components, filter).flatMap((row) => (row.kind === 'component' ? [row.component] : []));

  function select(componentKey: string): void {
    store.update((state) => {
      if (state.selected === componentKey) return {};
      const hidden = !listed(state.filters.components).some((component) => component.key === componentKey);
      const filters = hidden ? { ...state.filters, components: '' } : state.filters;
      return {
        filters,
        selected: componentKey,
        selectedPlace: Math.max(0, listed(filters.components).findIndex((component) => component.key === componentKey)),
        scroll: { overview: 0, logs: 0, ports: 0, fields: 0, inspect: 0 },
        logs: { ...state.logs, bottom: undefined },
      };
    });
  }

  function focus(pane: PaneId): void {
    store.update(() => ({ focus: pane, screen: 'panes' }));
  }

  function moveComponent(target: (index: number, last: number) => number): void {
    const components = listed(store.get().filters.components);
    const current = selected();
    const index = components.findIndex((component) => component.key === current?.key);
    const last = components.length - 1;
    const next = components[Math.min(last, Math.max(0, target(index, last)))];
    if (next) select(next.key);
  }

  function movePort(target: (index: number, last: number) => number): void {
    store.update((state) => {
      const ports = matchingPorts(deck.fleet.snapshot().ports, state.filters.ports);
      const index = Math.max(0, ports.findIndex((port) => portKey(port) === state.selectedPort));
      const next = ports[Math.min(ports.length - 1, Math.max(0, target(index, ports.length - 1)))];
      return next ? { selectedPort: portKey(next) } : {};
    });
  }

  function moveLogs(target: (position: number, last: number) => number): void {
    store.update((state) => {
      const window = logs.window(state.filters.logs);
      const last = window.length - 1;
      const position = state.logs.bottom === undefined ? last : window.positionOf(state.logs.bottom);
      const first = state.logs.wrap ? 0 : Math.min(measured.logs - 1, last);
      const next = Math.max(first, target(Math.max(position, first), last));
      const entry = window.at(next);
      return { logs: { ...state.logs, bottom: next >= last || !entry ? undefined : entry.index } };
    });
  }

  function moveDetail(target: (top: number, last: number) => number): void {
    store.update((state) => {
      const last = Math.max(0, measured.detail.total - measured.detail.height);
      const top = Math.min(last, state.scroll[state.tab]);
      return { scroll: { ...state.scroll, [state.tab]: Math.min(last, Math.max(0, target(top, last))) } };
    });
  }

  function move(by: (page: number) => number | 'top' | 'bottom'): void {
    const state = store.get();
    if (state.screen === 'help') {
      const amount = by(measured.help.height);
      const last = Math.max(0, measured.help.total - measured.help.height);
      const next = amount === 'top' ? 0 : amount === 'bottom' ? last : state.helpScroll + amount;
      store.update(() => ({ helpScroll: Math.min(last, Math.max(0, next)) }));
      return;
    }
    const apply = (page: number) => (index: number, last: number) => {
      const amount = by(page);
      return amount === 'top' ? 0 : amount === 'bottom' ? last : index + amount;
    };
    if (state.focus === 'components') moveComponent(apply(measured.list));
    else if (state.focus === 'ports') movePort(apply(measured.ports));
    else if (state.focus === 'logs' || state.tab === 'logs') moveLogs(apply(measured.logs));
    else moveDetail(apply(measured.detail.height));
  }

  function turnPane(step: number): void {
    store.update((state) => ({ focus: paneIds[(paneIds.indexOf(state.focus) + step + paneIds.length) % paneIds.length] ?? 'components' }));
  }

  function showTab(tab: DetailTab): void {
    store.update(() => ({ tab, focus: 'detail' }));
  }

  function turnTab(step: number): void {
    store.update((state) => ({ tab: detailTabs[(detailTabs.indexOf(state.tab) + step + detailTabs.length) % detailTabs.length] ?? 'overview' }));
  }

  function toMatch(step: 1 | -1): void {
    const { matches } = measured.detail;
    if (matches.length === 0) return;
    moveDetail((top) => (step > 0 ? (matches.find((row) => row > top) ?? matches[0]) : (matches.findLast((row) => row < top) ?? matches.at(-1))) ?? top);
  }

  function back(): void {
    const state = store.get();
    if (state.screen !== 'panes') return store.update(() => ({ screen: 'panes' }));
    const target = filterTarget(state);
    if (target && state.filters[target] !== '') return store.update(() => ({ filters: { ...state.filters, [target]: '' } }));
    if (runs.cancel()) return;
    if (state.notice) return store.update(() => ({ notice: undefined }));
    if (state.zoomed) return store.update(() => ({ zoomed: false }));
    focus('components');
  }

  function startFlow(flow: Flow): void {
    const component = selected();
    if (deck.options.readOnly && flow.right !== 'read') {
      say('warn', `This session is read-only: "${flow.title}" is not available.`);
      return;
    }
    if (flow.about === 'component' && !component) return say('warn', 'No component is selected.');
    if (flow.about === 'component' && component && !isOffered(deck, flow, component)) {
      return say('warn', `"${flow.title}" makes no sense now: ${component.id} is ${component.word}.`);
    }
    const place = component?.host ?? deck.fleet.snapshot().places[0]?.name;
    if (place === undefined) return say('warn', 'No engine has answered yet.');
    const service = component && store.get().services[component.key];
    runs.start(flow, {
      place,
      ...(flow.about === 'component' && component ? { component } : {}),
      ...(service ? { service } : {}),
      words: [],
      options: {},
    });
  }

  function startBound(found: readonly KeyBinding[]): void {
    const flows = found.flatMap((binding) => flowOf(deck, binding.flow ?? '') ?? []);
    const flow = flows.find((candidate) => isOffered(deck, candidate, selected())) ?? flows[0];
    if (flow) startFlow(flow);
    else say('warn', `"${found[0]?.title}" is not available here.`);
  }

  function nextService(): void {
    const component = selected();
    if (!component || component.services.length < 2) return;
    store.update((state) => {
      const shown = serviceShown(state, component);
      const index = component.services.findIndex((service) => service === shown);
      const next = component.services[(index + 1) % component.services.length];
      return next ? { services: { ...state.services, [component.key]: next.name } } : {};
    });
  }

  function copyAddress(): void {
    const component = selected();
    if (!component?.url) return say('warn', component ? `${component.id} has no page that is published.` : 'No component is selected.');
    const url = cleanLine(component.url);
    options.copy(url);
    say('good', `Copied ${url}`);
  }

  function showOwner(): void {
    const state = store.get();
    const ports = matchingPorts(deck.fleet.snapshot().ports, state.filters.ports);
    const port = ports.find((candidate) => portKey(candidate) === state.selectedPort) ?? ports[0];
    if (!port?.component) return say('idle', port ? `${cleanLine(port.owner)} is no component.` : 'No port is selected.');
    const key = port.component;
    select(key);
    focus('components');
  }

  const actions: Partial<Record<CommandId, () => void>> = {
    inspect: () => showTab('inspect'),
    address: copyAddress,
    'next-service': nextService,
    refresh: () => {
      const component = selected();
      deck.fleet.refresh(component?.key);
      say('idle', component ? `Asking ${component.id} again` : 'Asking all again');
    },
    open: () => focus('detail'),
    'open-logs': () => focus('logs'),
    'next-tab': () => turnTab(1),
    'previous-tab': () => turnTab(-1),
    'tab-right': () => turnTab(1),
    'tab-left': () => turnTab(-1),
    'next-match': () => toMatch(1),
    'previous-match': () => toMatch(-1),
    'show-owner': showOwner,
    follow: () =>
      store.update((state) => {
        const window = logs.window(state.filters.logs);
        return { logs: { ...state.logs, bottom: state.logs.bottom === undefined ? (window.at(window.length - 1)?.index ?? -1) : undefined } };
      }),
    wrap: () => store.update((state) => ({ logs: { ...state.logs, wrap: !state.logs.wrap } })),
    timestamps: () => store.update((state) => ({ logs: { ...state.logs, timestamps: !state.logs.timestamps } })),
    down: () => move(() => 1),
    up: () => move(() => -1),
    top: () => move(() => 'top'),
    bottom: () => move(() => 'bottom'),
    'page-down': () => move((page) => Math.max(1, page - 1)),
    'page-up': () => move((page) => -Math.max(1, page - 1)),
    'half-down': () => move((page) => Math.max(1, page >> 1)),
    'half-up': () => move((page) => -Math.max(1, page >> 1)),
    'next-pane': () => turnPane(1),
    'previous-pane': () => turnPane(-1),
    'pane-1': () => focus('components'),
    'pane-2': () => focus('detail'),
    'pane-3': () => focus('ports'),
    'pane-4': () => focus('logs'),
    zoom: () => store.update((state) => ({ zoomed: !state.zoomed })),
    filter: () => {
      const target = filterTarget(store.get());
      if (!target) return say('idle', 'Nothing to filter here.');
      store.update((state) => ({ editing: { target, field: fieldOf(state.filters[target]), before: state.filters[target] } }));
    },
    back,
    palette: () => store.update(() => ({ screen: 'palette', palette: { field: fieldOf(), cursor: 0 } })),
    help: () => store.update((state) => ({ screen: state.screen === 'help' ? 'panes' : 'help', helpScroll: 0 })),
    redraw: options.redraw,
    suspend: options.suspend,
    quit: options.quit,
  };

  function run(id: CommandId): void {
    const binding = keymap.binding(id);
    if (binding.flow) startBound([binding]);
    else actions[id]?.();
  }

  function pressFilter(press: KeyPress): void {
    store.update((state) => {
      const { editing } = state;
      if (!editing) return {};
      const { target } = editing;
      if (keymap.binding('accept').keys.includes(press.name)) return { editing: undefined };
      if (keymap.binding('cancel').keys.includes(press.name)) return { editing: undefined, filters: { ...state.filters, [target]: editing.before } };
      const field = editField(editing.field, press);
      return field ? { editing: { ...editing, field }, filters: { ...state.filters, [target]: field.text } } : {};
    });
    if (store.get().editing?.target === 'inspect') moveDetail((top) => measured.detail.matches.find((row) => row >= top) ?? top);
  }

  function pressPalette(press: KeyPress): void {
    const state = store.get();
    const items = paletteItems({ deck, keymap, component: selected(), query: state.palette.field.text });
    const { cursor, field } = state.palette;
    if (keymap.binding('cancel').keys.includes(press.name)) return store.update(() => ({ screen: 'panes' }));
    if (keymap.binding('accept').keys.includes(press.name)) {
      store.update(() => ({ screen: 'panes' }));
      items[Math.min(cursor, items.length - 1)]?.choose(commands);
      return;
    }
    const step = keymap.binding('choice-down').keys.includes(press.name) ? 1 : keymap.binding('choice-up').keys.includes(press.name) ? -1 : 0;
    if (step !== 0) return store.update(() => ({ palette: { field, cursor: Math.max(0, Math.min(items.length - 1, cursor + step)) } }));
    const edited = editField(field, press);
    if (edited) store.update(() => ({ palette: { field: edited, cursor: edited.text === field.text ? cursor : 0 } }));
  }

  /** On the help screen only these keys mean anything. */
  const helpKeys: ReadonlySet<string> = new Set<CommandId>(['help', 'back', 'quit', 'redraw', 'suspend', 'palette']);

  function press(value: KeyPress): boolean {
    if (measured.small) {
      const id = keymap.resolve(value.name, ['everywhere'])[0]?.id;
      if (id === 'quit' || id === 'redraw' || id === 'suspend') run(id);
      return true;
    }
    if (runs.front()) return value.name.startsWith('alt+') && !isWordKey(value) ? false : runs.press(value);
    const state = store.get();
    if (value.name.startsWith('alt+') && (state.editing || state.screen === 'palette') && !isWordKey(value)) return false;
    if (state.editing) {
      pressFilter(value);
      return true;
    }
    if (state.screen === 'palette') {
      pressPalette(value);
      return true;
    }
    const contexts: KeyContext[] = state.screen === 'help' ? ['list', 'everywhere'] : contextsOf(state);
    const found = keymap.resolve(value.name, contexts);
    const [first] = found;
    if (!first) return false;
    if (state.screen === 'help' && first.context === 'everywhere' && !helpKeys.has(first.id)) return true;
    if (state.screen === 'help' && first.id === 'quit' && value.name !== 'ctrl+c') back();
    else if (first.flow) startBound(found);
    else run(first.id as CommandId);
    return true;
  }

  const isWordKey = (value: KeyPress) => ['alt+b', 'alt+f', 'alt+d'].includes(value.name);

  function paste(text: string): void {
    if (runs.paste(text)) return;
    const state = store.get();
    const line = cleanLine(text.trim());
    if (!runs.front() && state.editing) {
      const { target } = state.editing;
      const field = typeInto(state.editing.field, line);
      store.update(({ editing, filters }) => (editing ? { editing: { ...editing, field }, filters: { ...filters, [target]: field.text } } : {}));
      return;
    }
    if (!runs.front() && state.screen === 'palette') {
      store.update(({ palette }) => ({ palette: { field: typeInto(palette.field, line), cursor: 0 } }));
      return;
    }
    say('idle', 'Pasted text is not run as keys.');
  }

  const commands: Commands = {
    measured,
    runs,
    selected,
    serviceOf: (component) => serviceShown(store.get(), component),
    press,
    paste,
    select,
    focus,
    startFlow,
    run,
  };
  return commands;
}
