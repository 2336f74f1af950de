import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownPaths } from '../../source/config/paths.ts';
import type { ComponentView } from '../../source/fleet/model.ts';
import type { Flow, FlowInput, FlowOutcome } from '../../source/flows/flow.ts';
import type { AuditEntry } from '../../source/session/audit-chain.ts';
import type { DeployRecord } from '../../source/stack/model.ts';
import type { Deck } from '../../source/terminal/deck.ts';
import { openDeck } from '../../source/terminal/open-deck.ts';
import { openOwnAudit } from '../../source/terminal/own-audit.ts';
import { openOwn, type PracticeAccess } from '../../source/terminal/practice-access.ts';
import { OperatorDouble } from './operator-double.ts';

export interface Running {
  operator?: OperatorDouble;
  rehearse?: boolean;
  /** The run to go on with. */
  resume?: string | undefined;
  /** What is run in its place: the same flow, watched. */
  as?: (flow: Flow) => Flow;
  signal?: AbortSignal;
}

/** A practice stack in this process, with the deck on it: real flows, the real script on its machine, a compose that makes containers of its engine. */
export class PracticeStage {
  readonly deck: Deck;
  readonly access: PracticeAccess;
  /** Of the last run. */
  operator = new OperatorDouble();
  readonly #home: string;
  readonly #ending: AbortController;
  /** Opened when something is rehearsed first: most tests never do, and a deck is half of what a stage costs. */
  #rehearsing: Promise<Deck> | undefined;

  private constructor(parts: { deck: Deck; access: PracticeAccess; home: string; ending: AbortController }) {
    this.deck = parts.deck;
    this.access = parts.access;
    this.#home = parts.home;
    this.#ending = parts.ending;
  }

  static async open(): Promise<PracticeStage> {
    const home = await mkdtemp(join(tmpdir(), 'qd-stage-'));
    const ending = new AbortController();
    const access = await openOwn(ownPaths({ QUARTERDECK_HOME: home }, home));
    const deck = await openSettled(access, ending.signal, { rehearsing: false });
    return new PracticeStage({ deck, access, home, ending });
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.deck.close();
    await (await this.#rehearsing)?.close();
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
    return this.deck.fleet.snapshot().components.find((one) => one.id === id);
  }

  /** The one that dry runs have is another. */
  async deckFor(rehearse: boolean): Promise<Deck> {
    if (!rehearse) return this.deck;
    this.#rehearsing ??= openSettled(this.access, this.#ending.signal, { rehearsing: true });
    return this.#rehearsing;
  }

  /** Runs a flow about this component, with an operator who takes every first choice unless told otherwise. */
  async run(
    flowId: string,
    component: string,
    input: { [Key in keyof FlowInput]?: FlowInput[Key] | undefined } = {},
    { operator = new OperatorDouble(), rehearse = false, ...how }: Running = {},
  ): Promise<FlowOutcome> {
    const deck = await this.deckFor(rehearse);
    const flow = deck.flows.find(({ id }) => id === flowId);
    if (!flow) throw new Error(`no flow ${flowId}`);
    const entry = deck.catalog.get(component);
    const seen = this.component(component);
    this.operator = operator;
    return deck.run(
      how.as?.(flow) ?? flow,
      { place: 'practice', ...(entry && { entry }), ...(seen && { component: seen }), words: [], options: {}, ...input },
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
    const listed = await this.deck.world.engineOf('practice').list(this.#ending.signal);
    return Object.fromEntries(
      listed.flatMap((one) =>
        one.labels['com.docker.compose.project'] === id ? [[one.labels['com.docker.compose.service'] ?? '', one.id]] : [],
      ),
    );
  }
}

async function openSettled(practice: PracticeAccess, signal: AbortSignal, { rehearsing }: { rehearsing: boolean }): Promise<Deck> {
  const deck = await openDeck({ readOnly: false, verbose: false, signal, practice, rehearsing });
  await deck.fleet.settle(AbortSignal.timeout(20_000), { complete: true });
  return deck;
}
