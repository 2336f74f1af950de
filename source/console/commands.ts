import type { CatalogEntry } from '../catalog/catalog.ts';
import { deployedAs } from '../cli/find-component.ts';
import type { ComponentView, EngineView } from '../fleet/model.ts';
import type { Flow, FlowInput } from '../flows/flow.ts';
import { cleanLine } from '../text/clean.ts';
import type { ConsoleParts } from './context.ts';
import type { FilterHistory } from './filter-history.ts';
import type { FlowRuns } from './flow-runs.ts';
import { type FilterTarget, firstScroll, type InterfaceState } from './interface-store.ts';
import type { KeyPress } from './key-press.ts';
import type { CommandId, KeyBinding, KeyContext } from './keymap.ts';
import { entryOf, flowOf, isOffered, isOurs, onlyOneWithApi } from './offers.ts';
import { type OpenScreens, openScreens } from './open-screens.ts';
import { detailTabs, isOverlay, type PaneId, paneCommand, paneIds } from './panes.ts';
import { type Actions, type Amount, navigation, noPage, type Page } from './screen.ts';
import { componentsOf, rowsFor } from './screens/components/rows.ts';
import type { createHostPrompts } from './screens/hosts/prompts.ts';
import type { ListScreenId, ScreenId } from './screens/list.ts';
import { createLogActions, type LogActions } from './screens/logs/actions.ts';
import { inLogs, type KeyTarget, selectedComponent, serviceShown } from './selection.ts';

const noticeMs = 4000;

export interface Commands {
  readonly runs: FlowRuns;
  readonly logActions: LogActions;
  seen(what: { small: boolean; detail: boolean }): void;
  seenPage(id: ScreenId, page: Page): void;
  say(severity: 'ok' | 'off' | 'warning', text: string): void;
  copy(text: string): void;
  copyShown(text: string): void;
  selected(): ComponentView | undefined;
  target(): KeyTarget;
  filterTarget(): FilterTarget | undefined;
  press(press: KeyPress): boolean;
  paste(text: string): void;
  select(componentKey: string): void;
  focus(pane: PaneId): void;
  turnTab(step: number): void;
  /** Starts a flow about the component that keys act on, or about another one; for a flow about a host, `words` name its subject. */
  startFlow(flow: Flow, component?: ComponentView, words?: readonly string[]): void;
  startOnHost(flow: Flow, host: string | undefined, words?: readonly string[]): void;
  startOn(flow: Flow, engineName: string, words: readonly string[], given?: FlowInput['options']): void;
  /** Starts a flow about the catalog with an entry that may not be deployed yet. A deployed component is changed. */
  startWith(flow: Flow, entry: CatalogEntry, engineName: EngineView): void;
  run(id: CommandId): void;
}

/** What the console asks of its process and terminal. */
export interface OperatorActions {
  quit: () => void;
  redraw: () => void;
  /** Stops the process until the shell continues it. @returns why it does not */
  suspend: () => string | undefined;
  copy: (text: string) => void;
}

interface Options extends Omit<ConsoleParts, 'commands' | 'screens'>, OperatorActions {
  filterHistory: FilterHistory;
  runs: FlowRuns;
  hostPrompts: ReturnType<typeof createHostPrompts>;
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: commands, screens and log actions refer to one another
export function createCommands({ filterHistory, runs, hostPrompts, quit, redraw, suspend, copy, ...base }: Options): ConsoleParts {
  const { app, store, keymap } = base;
  let onTerminal = { small: false, detail: false };
  const pages = new Map<ScreenId, Page>();

  const selected = () => selectedComponent(app, store.get());
  const say = (severity: 'ok' | 'off' | 'warning', text: string) => runs.notice(severity, text, noticeMs);
  const copyShown = (text: string) => {
    copy(text);
    say('ok', `Copied ${text}`);
  };
  const listed = (filter: string) => componentsOf(rowsFor(app.fleet.snapshot().components, filter, store.get().grouping));

  function select(componentKey: string): void {
    store.update((state) => {
      if (state.selected === componentKey) return {};
      const rowIn = (filter: string) => listed(filter).findIndex(({ key }) => key === componentKey);
      const filters = rowIn(state.filters.components) < 0 ? { ...state.filters, components: '' } : state.filters;
      return { filters, selected: componentKey, selectedRow: Math.max(0, rowIn(filters.components)), scroll: firstScroll };
    });
  }

  const focus = (pane: PaneId) => store.update(() => ({ focus: pane, screen: 'panes' }));
  const around = <T>(all: readonly T[], one: T, step: number) => all[(all.indexOf(one) + step + all.length) % all.length] as T;
  const turnPane = (step: number) => store.update((state) => ({ focus: around(paneIds, state.focus, step) }));
  const turnTab = (step: number) => store.update(({ tab }) => ({ tab: around(detailTabs, tab, step) }));

  function target(): KeyTarget {
    const state = store.get();
    const id = isOverlay(state.screen) ? state.under : state.screen;
    const own = id === 'panes' ? undefined : screens.of(id).target?.();
    const component = selected();
    return (
      own ??
      screens.of(inLogs(state) ? 'logs' : state.focus).target?.() ??
      (component ? { component, host: component.host } : { reason: 'No component is selected.' })
    );
  }

  function filterTarget(): FilterTarget | undefined {
    const state = store.get();
    const { id, kind, filtered } = screens.body(state).screen;
    if (filtered) return id as ListScreenId;
    if (kind !== 'pane') return undefined;
    if (state.focus !== 'detail') return state.focus;
    return state.tab === 'overview' ? undefined : state.tab;
  }

  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: undoes the first of these that applies, the most specific first
  function back() {
    const state = store.get();
    const { screen, back: own } = screens.front(state);
    const target = filterTarget();
    const unfilter = target && state.filters[target] !== '' ? { filters: { ...state.filters, [target]: '' } } : undefined;
    if (own?.()) return;
    if (screen.kind !== 'pane') store.update(() => unfilter ?? { screen: 'panes' });
    else if (target === 'logs' && logActions.back()) return;
    else if (unfilter) store.update(() => unfilter);
    else if (runs.cancel()) return;
    else if (state.notice) store.update(() => ({ notice: undefined }));
    else if (state.zoomed) store.update(() => ({ zoomed: false }));
    else if (state.marked.size > 0) store.update(() => ({ marked: new Set() }));
    else focus('components');
  }

  const refusal = ({ right, title }: Flow) =>
    app.options.readOnly && right !== 'read' ? `This session is read-only, so "${title}" is not available.` : undefined;

  /** Its state is the reason only when the flow could apply to the component in another state. */
  const cause = (flow: Flow, { id, speaks, state }: ComponentView) =>
    flow.remote || (flow.speaks ?? speaks) !== speaks ? ` for ${id}` : `: ${id} is ${state.label}`;

  function obstacle(flow: Flow, component: ComponentView | undefined, reason = 'No component is selected.'): string | undefined {
    const refused = refusal(flow);
    if (refused !== undefined) return refused;
    if (flow.about === 'host') return app.fleet.snapshot().engines.length > 0 ? undefined : 'No engine has responded yet.';
    if (!component) return reason;
    if (flow.about === 'catalog' && !component.known) return `${component.id} is not in the catalog, so "${flow.title}" is not available.`;
    if (component.state.id === 'unknown') return `The engine is unreachable, so "${flow.title}" is not available.`;
    if (flow.ours && !isOurs(app, component)) return `${component.id} was not deployed by Quarterdeck. Use the tool that deployed it.`;
    return isOffered(app, flow, component) ? undefined : `"${flow.title}" is not available${cause(flow, component)}.`;
  }

  function begin(flow: Flow, input: FlowInput): void {
    const refused = refusal(flow);
    if (refused === undefined) runs.start(flow, input);
    else say('warning', refused);
  }

  function startFlow(flow: Flow, about?: ComponentView, words: readonly string[] = []) {
    const { component: here, host, reason } = target();
    const component = about ?? here;
    const why = obstacle(flow, component, reason);
    if (why !== undefined) return say('warning', why);
    if (flow.about === 'catalog' && component) {
      const entry = entryOf(app, component);
      if (entry) begin(flow, { engineName: component.host, entry, component, words: [], options: {} });
      return;
    }
    if (flow.about === 'host') return startOnHost(flow, about?.host ?? host, words);
    const service = component && store.get().services[component.key];
    const subject = { ...(component && { component }), ...(service !== undefined && { service }) };
    begin(flow, { engineName: component?.host ?? '', ...subject, words, options: {} });
  }

  function startOnHost(flow: Flow, host: string | undefined, words: readonly string[] = []): void {
    const [first, ...others] = app.fleet.snapshot().engines;
    const engineName = host ?? (flow.offline || others.length === 0 ? first?.name : undefined);
    if (!first) say('warning', 'No engine has responded yet.');
    else if (engineName === undefined)
      say('warning', `No host is selected. Press ${keymap.keyOf('hosts')} to choose a host, or select a component on it.`);
    else startOn(flow, engineName, words);
  }

  const startOn = (flow: Flow, engineName: string, words: readonly string[], options: FlowInput['options'] = {}) =>
    begin(flow, { engineName, words, options });

  function startWith(flow: Flow, entry: CatalogEntry, { name: engineName }: EngineView): void {
    const snapshot = app.fleet.snapshot();
    const component = deployedAs(entry, engineName, snapshot);
    if (snapshot.engines.some(({ name, engine }) => name === engineName && engine.reachable))
      begin(flow, { engineName, entry, ...(component && { component }), words: [], options: {} });
    else say('warning', `${cleanLine(engineName)} is not connected.`);
  }

  function startBound(found: readonly KeyBinding[]) {
    const flows = found.flatMap((binding) => flowOf(app, binding.flow ?? '') ?? []);
    const { component: shown, host } = target();
    const here = flows.find((flow) => isOffered(app, flow, shown, host));
    const [elsewhere] = here ? [] : flows.flatMap((flow) => onlyOneWithApi(app, flow) ?? []);
    const [first] = flows;
    if (here) startFlow(here);
    else if (elsewhere && !app.options.readOnly) say('warning', `This key applies to ${elsewhere.id}. Select that component first.`);
    else if (first) startFlow(first);
    else say('warning', `"${found[0]?.title}" is not available here.`);
  }

  const onTarget = (act: (component: ComponentView) => void) => () => {
    const { component, reason = '' } = target();
    if (component) act(component);
    else say('off', reason);
  };

  function nextService(component: ComponentView) {
    const { id, key, services } = component;
    const shown = serviceShown(store.get(), component);
    const index = ((shown ? services.indexOf(shown) : -1) + 1) % services.length;
    const next = services[index];
    if (services.length < 2 || !next) return say('off', `${id} has no other service.`);
    store.update((state) => ({ services: { ...state.services, [key]: next.name } }));
    // Keys act on this service alone from now on, even when it is not on the screen.
    say('off', `${id}: service ${next.name} (${index + 1} of ${services.length})`);
  }

  function turnShownTab(step: 1 | -1): void {
    if (!onTerminal.detail) focus('detail');
    turnTab(step);
  }

  function move(by: (page: number) => Amount): void {
    const front = screens.front(store.get());
    const page = pages.get(front.screen.id) ?? noPage;
    front.move?.(by(page.height), page);
  }

  function run(id: CommandId): void {
    const binding = keymap.binding(id);
    if (binding.flow) startBound([binding]);
    else actions[id]?.();
  }

  /** On a screen over the panes only these keys, and those that open such a screen, keep their global meaning. */
  const screenKeys: ReadonlySet<string> = new Set<CommandId>(['help', 'back', 'quit', 'redraw', 'suspend', 'palette']);

  const isWordKey = (value: KeyPress) => ['alt+b', 'alt+f', 'alt+d'].includes(value.name);

  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: who receives a key: a dialog, the screen in front, or the panes
  function press(value: KeyPress): boolean {
    hostPrompts.touched();
    if (onTerminal.small) {
      const id = keymap.resolve(value.name, ['everywhere'])[0]?.id;
      if (id === 'quit' || id === 'redraw' || id === 'suspend') run(id);
      return true;
    }
    const state = store.get();
    const { screen, press: own } = screens.front(state);
    if (own) return value.name.startsWith('alt+') && !isWordKey(value) ? false : own(value);
    const isOver = screen.kind !== 'pane';
    const found = keymap.resolve(value.name, isOver ? [screen.id, 'list', 'everywhere'] : paneContexts(state));
    const [first] = found;
    if (!first) return false;
    const isHere = screenKeys.has(first.id) || opening.has(first.id) || (screen.filtered === true && first.id === 'filter');
    if (isOver && first.context === 'everywhere' && !isHere) return true;
    if (isOver && first.id === 'quit' && value.name !== 'ctrl+c') back();
    else if (first.flow) startBound(found);
    else run(first.id as CommandId);
    return true;
  }

  const logActions = createLogActions({ ...base, filterHistory, commands: { selected, target, select, say, copy, startFlow, turnTab } });
  const commands: Commands = {
    ...{ runs, logActions, say, copy, copyShown, selected, target, filterTarget, press, select, focus, turnTab },
    ...{ startFlow, startOnHost, startOn, startWith, run },
    seen(what) {
      onTerminal = what;
    },
    seenPage: (id, page) => void pages.set(id, page),
    paste(text) {
      if (!screens.front(store.get()).paste?.(text)) say('off', 'Pasted text is ignored here.');
    },
  };
  const parts: ConsoleParts = { ...base, commands, screens: {} as OpenScreens };
  const screens = Object.assign(parts.screens, openScreens(parts));
  const opening = new Set(
    screens.all.flatMap(({ screen }) => (screen.keys ?? []).flatMap(({ id, context }) => (context === 'everywhere' ? [id] : []))),
  );

  const actions: Actions = {
    ...Object.assign({}, ...screens.all.map((each) => each.actions)),
    inspect: onTarget(({ key }) => {
      select(key);
      store.update(() => ({ tab: 'inspect', focus: 'detail' }));
    }),
    'next-service': onTarget(nextService),
    refresh: onTarget(({ key, id }) => {
      app.fleet.refresh(key);
      say('off', `Querying ${id} again`);
    }),
    'tab-right': () => turnShownTab(1),
    'tab-left': () => turnShownTab(-1),
    ...Object.fromEntries(Object.entries(navigation).map(([id, by]) => [id, () => move(by)])),
    'next-pane': () => turnPane(1),
    'previous-pane': () => turnPane(-1),
    ...Object.fromEntries(paneIds.map((pane) => [paneCommand(pane), () => focus(pane)])),
    zoom: () => store.update((state) => ({ zoomed: !state.zoomed })),
    'show-run': () => {
      if (!runs.show()) say('off', 'Nothing is running.');
    },
    'answer-host': () => {
      if (!hostPrompts.open()) say('off', 'No ssh prompt is waiting for an answer.');
    },
    back,
    redraw,
    suspend: () => {
      const reason = suspend();
      if (reason !== undefined) say('warning', reason);
    },
    quit,
  };
  return parts;
}

/** Returns the key contexts of the focused pane, in order of precedence. */
export function paneContexts(state: InterfaceState): KeyContext[] {
  return [...new Set<KeyContext>([inLogs(state) ? 'logs' : state.focus, state.focus, 'list', 'component', 'host', 'everywhere'])];
}
