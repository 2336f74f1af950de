import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { QuarterdeckApp } from '../../source/app/app.ts';
import { openOwnAudit } from '../../source/app/audit-log.ts';
import { createApp } from '../../source/app/create-app.ts';
import { openOwn, type PracticeAccess } from '../../source/app/practice-access.ts';
import { ownPaths } from '../../source/config/paths.ts';
import type { ComponentView } from '../../source/fleet/model.ts';
import type { Flow, FlowInput, FlowOutcome } from '../../source/flows/flow.ts';
import type { AuditEntry } from '../../source/session/audit-chain.ts';
import type { DeployRecord } from '../../source/stack/model.ts';
import { OperatorDouble } from './operator-double.ts';

export interface Running {
  operator?: OperatorDouble;
  dryRun?: boolean;
  readOnly?: boolean;
  /** The run to go on with. */
  resume?: string | undefined;
  /** What is run in its place: the same flow, watched. */
  as?: (flow: Flow) => Flow;
  signal?: AbortSignal;
}

/** A practice stack in this process, with the app on it: real flows, the real script on its machine, a compose that makes containers of its engine. */
export class PracticeFixture {
  readonly app: QuarterdeckApp;
  readonly access: PracticeAccess;
  /** Of the last run. */
  operator = new OperatorDouble();
  readonly #home: string;
  readonly #ending: AbortController;
  /** Opened when they are first needed: most tests never do, and an app is half of what a stage costs. */
  readonly #others = new Map<'dryRun' | 'readOnly', Promise<QuarterdeckApp>>();

  private constructor(parts: { app: QuarterdeckApp; access: PracticeAccess; home: string; ending: AbortController }) {
    this.app = parts.app;
    this.access = parts.access;
    this.#home = parts.home;
    this.#ending = parts.ending;
  }

  static async open(): Promise<PracticeFixture> {
    const home = await mkdtemp(join(tmpdir(), 'qd-stage-'));
    const ending = new AbortController();
    const access = await openOwn(ownPaths({ QUARTERDECK_HOME: home }, home), { longestBootMs: 100 });
    const app = await openSettled(access, ending.signal, {});
    return new PracticeFixture({ app, access, home, ending });
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.app.close();
    for (const app of this.#others.values()) await (await app).close();
    // A run that a test has killed writes its last words when it is aborted: maybe into the folder that is being removed.
    await this.access.close().catch(() => undefined);
    // Sockets of what is ending come and go for a moment.
    await rm(this.#home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  /** Where this installation keeps everything of its own. */
  get home(): string {
    return this.#home;
  }

  /** Folder of the runs. */
  get journal(): string {
    return join(this.access.paths.state, 'journal');
  }

  async audited(): Promise<AuditEntry[]> {
    const entries = [];
    for await (const entry of openOwnAudit(this.access.paths, { QUARTERDECK_KEYCHAIN: 'off' }).entries()) entries.push(entry);
    return entries;
  }

  get stackFolder(): string {
    return join(this.access.folder, 'home', 'stack');
  }

  component(id: string): ComponentView | undefined {
    return this.app.fleet.snapshot().components.find((one) => one.id === id);
  }

  /** Dry runs and read-only ones have apps of their own. */
  async appFor({ dryRun = false, readOnly = false }: Pick<Running, 'dryRun' | 'readOnly'>): Promise<QuarterdeckApp> {
    if (!dryRun && !readOnly) return this.app;
    const kind = dryRun ? 'dryRun' : 'readOnly';
    const opened = this.#others.get(kind) ?? openSettled(this.access, this.#ending.signal, { dryRun: dryRun, readOnly });
    this.#others.set(kind, opened);
    return opened;
  }

  /** Runs a flow about this component, with an operator who takes every first choice unless told otherwise. */
  async run(
    flowId: string,
    component: string,
    input: { [Key in keyof FlowInput]?: FlowInput[Key] | undefined } = {},
    { operator = new OperatorDouble(), ...how }: Running = {},
  ): Promise<FlowOutcome> {
    const app = await this.appFor(how);
    const flow = app.flows.find(({ id }) => id === flowId);
    if (!flow) throw new Error(`no flow ${flowId}`);
    const entry = app.catalog.get(component);
    const seen = this.component(component);
    this.operator = operator;
    return app.run(
      how.as?.(flow) ?? flow,
      { engineName: 'practice', ...(entry && { entry }), ...(seen && { component: seen }), words: [], options: {}, ...input },
      operator,
      how.signal ?? this.#ending.signal,
      how.resume,
    );
  }

  async text(path: string): Promise<string> {
    return readFile(join(this.stackFolder, path), 'utf8');
  }

  async record(id: string): Promise<DeployRecord> {
    return JSON.parse(await this.text(`.quarterdeck/components/${id}.json`)) as DeployRecord;
  }

  /** Id of each container of a component, by service, as its engine lists them. */
  async containers(id: string): Promise<Record<string, string>> {
    const listed = await this.app.context.engineOf('practice').list(this.#ending.signal);
    return Object.fromEntries(
      listed.flatMap((one) =>
        one.labels['com.docker.compose.project'] === id ? [[one.labels['com.docker.compose.service'] ?? '', one.id]] : [],
      ),
    );
  }
}

async function openSettled(
  practice: PracticeAccess,
  signal: AbortSignal,
  { dryRun = false, readOnly = false }: { dryRun?: boolean; readOnly?: boolean },
): Promise<QuarterdeckApp> {
  const app = await createApp({ readOnly, signal, practice, dryRun });
  await app.fleet.settle(AbortSignal.timeout(60_000), 'complete');
  return app;
}
