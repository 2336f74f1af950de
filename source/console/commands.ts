import type { CatalogEntry } from '../catalog/catalog.ts';
import type { ComponentView, PlaceView, ServiceView } from '../fleet/model.ts';
import type { Flow, FlowInput } from '../flows/flow.ts';
import type { Deck } from '../terminal/deck.ts';
import { cleanLine } from '../text/clean.ts';
import { createCatalogMoves } from './catalog-moves.ts';
import type { FilterKeeper } from './filter-keeper.ts';
import type { FlowRuns } from './flow-runs.ts';
import type { HostAsker } from './host-asking.ts';
import { createHostMoves } from './host-moves.ts';
import { type InterfaceStore, laidOver, type PaneId, paneIds } from './interface-store.ts';
import type { KeyPress } from './key-press.ts';
import { type CommandId, type KeyBinding, type KeyContext, type Keymap, paneCommand } from './keymap.ts';
import type { LogHub } from './log-hub.ts';
import { createLogMoves, type LogMoves } from './log-moves.ts';
import { firstMeasures, type Measured } from './measured.ts';
import { createMoves } from './moves.ts';
import { flowOf, isOffered, isOurs, onlySpeaker } from './offers.ts';
import { createPreventionMoves } from './prevention-moves.ts';
import type { PreventionWatch } from './prevention-watch.ts';
import { contextsOf, filterTarget, isListScreen, keyTarget, selectedComponent, selectedPort, serviceShown } from './selection.ts';
import { fieldOf } from './text-field.ts';
import { createTriageMoves } from './triage-moves.ts';
import type { TriageWatch } from './triage-watch.ts';
import { createTyping } from './typing.ts';

const noticeMs = 4000;

export interface Commands {
  readonly measured: Measured;
  readonly runs: FlowRuns;
  readonly logMoves: LogMoves;
  /** The selected component, as the screen shows it. */
  selected(): ComponentView | undefined;
  /** The service that is looked at: the chosen one, or the main one. */
  serviceOf(component: ComponentView): ServiceView | undefined;
  press(press: KeyPress): boolean;
  paste(text: string): void;
  select(componentKey: string): void;
  focus(pane: PaneId): void;
  /** About the component that keys act on, or about another one; a flow of the host with words that say what it is about. */
  startFlow(flow: Flow, component?: ComponentView, words?: readonly string[]): void;
  /** A flow about a host, on this one. */
  startOn(flow: Flow, host: string | undefined): void;
  /** Of a flow about the catalog: with an entry that need not be there yet. */
  startWith(flow: Flow, entry: CatalogEntry, place: PlaceView): void;
  run(id: CommandId): void;
}

interface Options {
  deck: Deck;
  store: InterfaceStore;
  keymap: Keymap;
  logs: LogHub;
  prevention: PreventionWatch;
  triage: TriageWatch;
  keeper: FilterKeeper;
  runs: FlowRuns;
  asker: HostAsker;
  now: () => number;
  quit: () => void;
  /** Draws the whole screen again. */
  redraw: () => void;
  /** Stops the process until the shell continues it. @returns why it does not */
  suspend: () => string | undefined;
  /** To the clipboard of the operator's terminal (OSC 52). */
  copy: (text: string) => void;
}

export function createCommands(options: Options): Commands {
  const { deck, store, keymap, logs, runs, now } = options;
  const measured = firstMeasures();

  const selected = () => selectedComponent(deck, store.get());
  const target = () => keyTarget(deck, store.get());
  const say = (tone: 'good' | 'idle' | 'warn', text: string) =>
    store.update(() => ({ notice: { tone, text: cleanLine(text), untilMs: now() + noticeMs } }));
  const logMoves = createLogMoves({
    deck,
    store,
    keymap,
    hub: logs,
    measured,
    keeper: options.keeper,
    selected,
    target,
    select: (key) => select(key),
    say,
    copy: options.copy,
    startFlow: (flow, component) => startFlow(flow, component),
    now,
  });
  const moves = createMoves({ deck, store, logs: logMoves, measured, selected });
  const { select, focus, turnPane, turnTab, showTab, toMatch } = moves;
  const preventionMoves = createPreventionMoves({
    deck,
    store,
    prevention: options.prevention,
    selected: () => target().component,
    logLine: () => logMoves.held(),
    say,
    copy: options.copy,
    start: (flow, place, words, given = {}) => startOn(flow, place, words, given),
  });
  const triageMoves = createTriageMoves({
    ...{ deck, store, triage: options.triage, say, copy: options.copy },
    start: (flow, place, words, given = {}) => startOn(flow, place, words, given),
  });
  const catalogMoves = createCatalogMoves({
    ...{ deck, store, keymap, measured, say, copy: options.copy },
    start: (flow, entry, place) => startWith(flow, entry, place),
    component: () => target().component,
  });
  const move: typeof moves.move = (by) => {
    const { screen } = store.get();
    if (screen === 'prevention') preventionMoves.move(by(measured.prevention.height));
    else if (screen === 'triage') triageMoves.move(by(measured.triage.height));
    else if (screen === 'catalog') catalogMoves.move(by(measured.catalog.height));
    else moves.move(by);
  };
  const typing = createTyping({ deck, store, keymap, measured, moves, logMoves, commands: () => commands });

  /** Undoes one thing: the nearest that there is. */
  function back(): void {
    const state = store.get();
    const target = filterTarget(state);
    if (state.screen === 'catalog' && catalogMoves.close()) return;
    if (isListScreen(state.screen) && state.filters[state.screen] !== '')
      store.update(() => ({ filters: { ...state.filters, [state.screen]: '' } }));
    else if (state.screen !== 'panes') store.update(() => ({ screen: state.screen === 'help' ? state.under : 'panes' }));
    else if (target === 'logs' && logMoves.back()) return;
    else if (target && state.filters[target] !== '') store.update(() => ({ filters: { ...state.filters, [target]: '' } }));
    else if (runs.cancel()) return;
    else if (state.notice) store.update(() => ({ notice: undefined }));
    else if (state.zoomed) store.update(() => ({ zoomed: false }));
    else if (state.marked.size > 0) store.update(() => ({ marked: new Set() }));
    else focus('components');
  }

  /** Why a flow cannot be started here and now; undefined when it can. */
  function obstacle(flow: Flow, component: ComponentView | undefined, reason = 'No component is selected.'): string | undefined {
    if (deck.options.readOnly && flow.right !== 'read') return `This session is read-only: "${flow.title}" is not available.`;
    if (flow.about === 'host') return deck.fleet.snapshot().places.length > 0 ? undefined : 'No engine has answered yet.';
    if (!component) return reason;
    if (flow.about === 'catalog' && !component.known)
      return `${component.id} is not in the catalog: "${flow.title}" is for those that are.`;
    if (component.state === 'unknown') return `The engine is away: "${flow.title}" has to wait until it is back.`;
    if (flow.ours && component.known && !isOurs(deck, component))
      return `${component.id} was not deployed from here: use the tool that deployed it.`;
    return isOffered(deck, flow, component) ? undefined : `"${flow.title}" cannot be done now: ${component.id} is ${component.word}.`;
  }

  function startFlow(flow: Flow, about?: ComponentView, words: readonly string[] = []): void {
    const { component: here, host, reason } = target();
    const component = about ?? here;
    const why = obstacle(flow, component, reason);
    if (why !== undefined) {
      say('warn', why);
      return;
    }
    if (flow.about === 'catalog' && component) {
      const entry = deck.catalog.get(component.entry ?? component.id);
      if (entry) runs.start(flow, { place: component.host, entry, component, words: [], options: {} });
      return;
    }
    if (flow.about === 'host') {
      startOnHost(flow, about?.host ?? host, words);
      return;
    }
    const service = component && store.get().services[component.key];
    runs.start(flow, {
      place: component?.host ?? '',
      ...(component && { component }),
      ...(service ? { service } : {}),
      words,
      options: {},
    });
  }

  /** A flow about a host that is on the screen, or the only one. */
  function startOnHost(flow: Flow, host: string | undefined, words: readonly string[] = []): void {
    const [first, ...others] = deck.fleet.snapshot().places;
    const place = host ?? (flow.offline || others.length === 0 ? first?.name : undefined);
    if (!first) say('warn', 'No engine has answered yet.');
    else if (place === undefined) say('warn', `No host is selected. Choose one with ${keymap.keyOf('hosts')} or in Components first.`);
    else startOn(flow, place, words, {});
  }

  /** A flow of the host, on this one. */
  function startOn(flow: Flow, place: string, words: readonly string[], given: FlowInput['options']): void {
    if (deck.options.readOnly && flow.right !== 'read') say('warn', `This session is read-only: "${flow.title}" is not available.`);
    else runs.start(flow, { place, words, options: given });
  }

  /** A component that is there already is changed. */
  function startWith(flow: Flow, entry: CatalogEntry, { name }: PlaceView): void {
    const { components, places } = deck.fleet.snapshot();
    const place = places.find((one) => one.name === name && one.engine.reachable);
    if (deck.options.readOnly && flow.right !== 'read') say('warn', `This session is read-only: "${flow.title}" is not available.`);
    else if (!place) say('warn', `${cleanLine(name)} is not connected now.`);
    else {
      const component = components.find(({ id, host, known }) => known && id === entry.id && host === place.name);
      runs.start(flow, { place: place.name, entry, ...(component && { component }), words: [], options: {} });
    }
  }

  function startBound(found: readonly KeyBinding[]): void {
    const flows = found.flatMap((binding) => flowOf(deck, binding.flow ?? '') ?? []);
    const { component: shown, host } = target();
    const here = flows.find((flow) => isOffered(deck, flow, shown, host));
    const [elsewhere] = here ? [] : flows.flatMap((flow) => onlySpeaker(deck, flow) ?? []);
    const [first] = flows;
    if (here) startFlow(here);
    else if (elsewhere && !deck.options.readOnly) say('warn', `This key is about ${elsewhere.id}. Select it first.`);
    else if (first) startFlow(first);
    else say('warn', `"${found[0]?.title}" is not available here.`);
  }

  function nextService(): void {
    const { component, reason = '' } = target();
    if (!component) {
      say('idle', reason);
      return;
    }
    const { id, key, services } = component;
    const shown = serviceShown(store.get(), component);
    const index = ((shown ? services.indexOf(shown) : -1) + 1) % services.length;
    const next = services[index];
    if (services.length < 2 || !next) {
      say('idle', `${id} has one service.`);
      return;
    }
    store.update((state) => ({ services: { ...state.services, [key]: next.name } }));
    // Keys act on this service alone from now on, also where it is not on the screen.
    say('idle', `Service of ${id}: ${next.name} (${index + 1} of ${services.length})`);
  }

  function markComponent(): void {
    const component = selected();
    if (!component) return;
    const marked = new Set(store.get().marked);
    if (!marked.delete(component.key)) marked.add(component.key);
    store.update(() => ({ marked, logScope: 'component' }));
  }

  /** Where the details are not on the screen, they come onto it. */
  function turnShownTab(step: 1 | -1): void {
    if (!measured.detailShown) focus('detail');
    turnTab(step);
  }

  function scrollAside(step: 1 | -1): void {
    if (logMoves.shift(step)) return;
    if (store.get().focus === 'detail') turnTab(step);
  }

  function showOwner(): void {
    const port = selectedPort(deck.fleet.snapshot(), store.get());
    if (port?.component) {
      select(port.component);
      focus('components');
      return;
    }
    say('idle', port ? `${cleanLine(port.owner)} is no component.` : 'No port is selected.');
  }

  const actions: Partial<Record<CommandId, () => void>> = {
    inspect: () => {
      const { component, reason = '' } = target();
      if (!component) return say('idle', reason);
      select(component.key);
      showTab('inspect');
    },
    ...createHostMoves({ deck, store, target, say, copy: options.copy, startFlow: (flow, component) => startFlow(flow, component) }),
    ...preventionMoves.actions,
    ...triageMoves.actions,
    ...catalogMoves.actions,
    'next-service': nextService,
    refresh: () => {
      const { component, reason = '' } = target();
      if (!component) return say('idle', reason);
      deck.fleet.refresh(component.key);
      say('idle', `Asking ${component.id} again`);
    },
    open: () => focus('detail'),
    'open-logs': () => focus('logs'),
    'next-tab': () => turnTab(1),
    'previous-tab': () => turnTab(-1),
    'tab-right': () => turnShownTab(1),
    'tab-left': () => turnShownTab(-1),
    'next-match': () => toMatch(1),
    'previous-match': () => toMatch(-1),
    'show-owner': showOwner,
    'mark-component': markComponent,
    follow: () => logMoves.toggle(),
    'enter-line': () => logMoves.enter(),
    'whole-line': () => logMoves.whole(),
    'next-found': () => logMoves.toMatch(1),
    'previous-found': () => logMoves.toMatch(-1),
    hiding: () => logMoves.hiding(),
    wrap: () => logMoves.wrap(),
    'scroll-right': () => scrollAside(1),
    'scroll-left': () => scrollAside(-1),
    timestamps: () => logMoves.times(),
    raw: () => logMoves.raw(),
    jump: () => logMoves.askTime(),
    mark: () => logMoves.mark(),
    'next-mark': () => logMoves.nextMark(),
    unmark: () => logMoves.unmark(),
    'copy-line': () => logMoves.copyText(false),
    'copy-full': () => logMoves.copyText(true),
    'save-logs': () => logMoves.save(),
    'log-scope': () => logMoves.scope(),
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
    ...Object.fromEntries(paneIds.map((pane) => [paneCommand(pane), () => focus(pane)])),
    zoom: () => store.update((state) => ({ zoomed: !state.zoomed })),
    filter: () => {
      const target = filterTarget(store.get());
      if (!target) return say('idle', 'Nothing to filter here.');
      store.update((state) => ({ editing: { target, field: fieldOf(state.filters[target]), before: state.filters[target] } }));
    },
    'show-run': () => {
      if (!runs.show()) say('idle', 'Nothing runs.');
    },
    'answer-host': () => {
      if (!options.asker.open()) say('idle', 'ssh asks nothing.');
    },
    back,
    palette: () => store.update((state) => ({ ...laidOver(state, 'palette'), palette: { field: fieldOf(), cursor: 0 } })),
    help: () =>
      store.update((state) => (state.screen === 'help' ? { screen: state.under } : { ...laidOver(state, 'help'), helpScroll: 0 })),
    chain: () => store.update((state) => ({ screen: state.screen === 'chain' ? 'panes' : 'chain', chainScroll: 0 })),
    redraw: options.redraw,
    suspend: () => {
      const reason = options.suspend();
      if (reason !== undefined) say('warn', reason);
    },
    quit: options.quit,
  };

  function run(id: CommandId): void {
    const binding = keymap.binding(id);
    if (binding.flow) startBound([binding]);
    else actions[id]?.();
  }

  /** On a screen before the panes only these keys mean what they mean everywhere. */
  const screenKeys: ReadonlySet<string> = new Set<CommandId>([
    'help',
    'hosts',
    'prevention',
    'vulnerabilities',
    'catalog',
    'chain',
    'back',
    'quit',
    'redraw',
    'suspend',
    'palette',
  ]);

  function press(value: KeyPress): boolean {
    options.asker.touched();
    if (measured.small) {
      const id = keymap.resolve(value.name, ['everywhere'])[0]?.id;
      if (id === 'quit' || id === 'redraw' || id === 'suspend') run(id);
      return true;
    }
    if (runs.front()) return value.name.startsWith('alt+') && !isWordKey(value) ? false : runs.press(value);
    const state = store.get();
    if (value.name.startsWith('alt+') && (state.editing || state.screen === 'palette') && !isWordKey(value)) return false;
    if (state.editing) {
      typing.pressFilter(value);
      return true;
    }
    if (state.screen === 'palette') {
      typing.pressPalette(value);
      return true;
    }
    const before = state.screen !== 'panes';
    const contexts: KeyContext[] = before
      ? [...(state.screen === 'hosts' || isListScreen(state.screen) ? [state.screen] : []), 'list', 'everywhere']
      : contextsOf(state);
    const found = keymap.resolve(value.name, contexts);
    const [first] = found;
    if (!first) return false;
    const isHere = screenKeys.has(first.id) || (isListScreen(state.screen) && first.id === 'filter');
    if (before && first.context === 'everywhere' && !isHere) return true;
    if (before && first.id === 'quit' && value.name !== 'ctrl+c') back();
    else if (first.flow) startBound(found);
    else run(first.id as CommandId);
    return true;
  }

  const isWordKey = (value: KeyPress) => ['alt+b', 'alt+f', 'alt+d'].includes(value.name);

  function paste(text: string): void {
    if (runs.paste(text) || (!runs.front() && typing.paste(text))) return;
    say('idle', 'Pasted text is not run as keys.');
  }

  const commands: Commands = {
    measured,
    runs,
    logMoves,
    selected,
    serviceOf: (component) => serviceShown(store.get(), component),
    press,
    paste,
    select,
    focus,
    startFlow,
    startOn: (flow, host) => startOnHost(flow, host),
    startWith,
    run,
  };
  return commands;
}
