import type { AppOptions, QuarterdeckApp } from '../../../source/app/app.ts';
import { flows as productFlows } from '../../../source/app/flow-registry.ts';
import { HostQuestions } from '../../../source/app/host-questions.ts';
import type { UnfinishedChange } from '../../../source/app/unfinished-changes.ts';
import { defaultSettings } from '../../../source/config/settings.ts';
import type { Engine } from '../../../source/engine/engine.ts';
import type { FleetSnapshot, StatsHistory } from '../../../source/fleet/model.ts';
import type { Flow, FlowInput } from '../../../source/flows/flow.ts';
import { Tunnels } from '../../../source/hosts/tunnel.ts';
import type { LogEntry } from '../../../source/logs/store.ts';
import type { Operator } from '../../../source/session/session.ts';
import { createFakeLogs, type FakeLogs } from './fake-logs.ts';
import { sampleDetail, sampleEntry, sampleSnapshot } from './sample-fleet.ts';

export interface FakeApp extends QuarterdeckApp {
  /** What was started, in order. */
  readonly started: { flow: string; input: FlowInput }[];
  /** Replaces the snapshot, as the fleet does once per frame. */
  show(change: (snapshot: FleetSnapshot) => Partial<FleetSnapshot>): void;
  readonly logs: FakeLogs;
  log(componentKey: string, lines: readonly (string | Partial<LogEntry>)[]): void;
  /** Log sources that are open now. */
  openLogs(): string[];
  watchedStats(): string[];
  refreshed: (string | undefined)[];
}

export type FlowBody = (operator: Operator, input: FlowInput, signal: AbortSignal) => Promise<string>;

/** The flows of the product; what they do is played by the test. */
const flows: readonly Flow[] = productFlows.map((flow) => ({ ...flow, run: async () => ({ message: '' }) }));

/** An app without an engine: what the console reads and starts, played by the test. */
export function createFakeApp(
  options: {
    app?: Partial<AppOptions>;
    snapshot?: FleetSnapshot;
    flows?: Readonly<Record<string, FlowBody>>;
    keepLines?: number;
    unfinished?: () => UnfinishedChange[];
    /** Most tests start a flow for its dialogs; those of the question before it ask for it. */
    confirms?: boolean;
  } = {},
): FakeApp {
  let snapshot = options.snapshot ?? sampleSnapshot();
  const listeners = new Set<() => void>();
  const logs = createFakeLogs({ keep: options.keepLines ?? 20_000 });
  const watched: string[] = [];
  const remove = (list: string[], key: string) => {
    const at = list.indexOf(key);
    if (at >= 0) list.splice(at, 1);
  };
  const stats = new Map<string, StatsHistory>();
  const statsOf = (key: string): StatsHistory | undefined => {
    if (!watched.includes(key)) return undefined;
    const known = stats.get(key) ?? {
      cpuPercent: Array.from({ length: 60 }, (_, index) => 1 + 3 * Math.abs(Math.sin(index / 5 + key.length)) + (index % 17 === 0 ? 6 : 0)),
      memoryBytes: Array.from({ length: 60 }, (_, index) => (80 + key.length + index / 10) * 1e6),
      memoryLimitBytes: 512e6,
    };
    stats.set(key, known);
    return known;
  };
  const engine = { inspect: async (id: string) => sampleDetail(id) } as Partial<Engine> as Engine;
  const appOptions: AppOptions = {
    readOnly: false,
    dryRun: false,
    signal: new AbortController().signal,
    ...options.app,
  };
  const started: FakeApp['started'] = [];
  const refreshed: FakeApp['refreshed'] = [];

  const noHost = (): never => {
    throw new Error('the console needs no host');
  };
  const catalog: QuarterdeckApp['catalog'] = { entries: [], get: sampleEntry, problems: [] };
  const fleet: QuarterdeckApp['fleet'] = {
    snapshot: () => snapshot,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    asked: async () => {},
    settle: async () => snapshot,
    watchStats(key) {
      watched.push(key);
      queueMicrotask(() => {
        for (const listener of [...listeners]) listener();
      });
      return () => remove(watched, key);
    },
    stats: statsOf,
    whileStopping: (_, stop) => stop(),
    refresh: (key) => void refreshed.push(key),
    retry: (engineName) => void refreshed.push(`place ${engineName}`),
    close() {},
  };
  return {
    options: appOptions,
    settings: { ...defaultSettings, confirm: options.confirms ?? false },
    catalog,
    fleet,
    logs,
    context: {
      fleet,
      engineOf: () => engine,
      engineFactsOf: noHost,
      hostOf: noHost,
      catalog,
      vault: async () => noHost(),
      backupKeys: async () => noHost(),
      stackFolderOf: async () => noHost(),
      dataFolder: '/nowhere',
    },
    flows,
    questions: new HostQuestions(),
    tunnels: new Tunnels(),
    followHosts: async () => {},
    async run(chosen, input, operator, signal) {
      started.push({ flow: chosen.id, input });
      const body = options.flows?.[chosen.id];
      return { message: body ? await body(operator, input, signal) : `${chosen.title}: done` };
    },
    unfinished: async () => options.unfinished?.() ?? [],
    close: async () => {},
    started,
    refreshed,
    show(change) {
      snapshot = { ...snapshot, revision: snapshot.revision + 1, ...change(snapshot) };
      for (const listener of [...listeners]) listener();
    },
    log: (key, lines) => logs.add(key, lines),
    openLogs: () => logs.opened(),
    watchedStats: () => [...watched],
  };
}
