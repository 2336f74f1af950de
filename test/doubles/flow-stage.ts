import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Catalog } from '../../source/catalog/catalog.ts';
import type { EngineFacts } from '../../source/engine/engine.ts';
import { Fault } from '../../source/faults/fault.ts';
import type { ComponentView } from '../../source/fleet/model.ts';
import type { Flow, FlowInput, FlowOutcome, FlowWorld } from '../../source/flows/flow.ts';
import type { Host } from '../../source/hosts/host.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import { openAudit } from '../../source/session/audit.ts';
import type { AuditEntry } from '../../source/session/audit-chain.ts';
import { auditSubject } from '../../source/session/audit-subject.ts';
import { openJournal } from '../../source/session/journal.ts';
import { openSession, type SessionPolicy } from '../../source/session/open-session.ts';
import { backupKeysDouble } from './backup-keys-double.ts';
import { EngineDouble } from './engine-double.ts';
import { FleetDouble } from './fleet-double.ts';
import { OperatorDouble } from './operator-double.ts';
import { SecretStoreDouble } from './secret-store-double.ts';
import { VaultDouble } from './vault-double.ts';

/** Everything a flow needs, with a real session in it and an engine in memory. */
export class FlowStage {
  readonly engine = new EngineDouble();
  /** Of further places. */
  readonly engines = new Map<string, EngineDouble>();
  readonly fleet = new FleetDouble();
  operator = new OperatorDouble();
  readonly vault = new VaultDouble();
  /** Where a flow needs a machine: one that the test has made. */
  host: Host | undefined;
  catalog: Catalog = { entries: [], get: () => undefined, problems: [] };
  engineFacts: EngineFacts = {
    kind: 'docker',
    version: '28.5.1',
    apiVersion: '1.51',
    rootless: false,
    operatingSystem: 'Debian GNU/Linux 12 (bookworm)',
    swarmManager: false,
  };
  backupKeys = backupKeysDouble();
  readonly folder: string;
  readonly #local = openLocalHost();
  /** The run that the next one goes on with. */
  resume: string | undefined;
  policy: SessionPolicy = { readOnly: false, rehearsing: false, productionHosts: new Set() };

  private constructor(folder: string) {
    this.folder = folder;
  }
  static async open(): Promise<FlowStage> {
    return new FlowStage(await mkdtemp(join(tmpdir(), 'quarterdeck-flow-')));
  }
  close(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true });
  }

  get world(): FlowWorld {
    return {
      fleet: this.fleet,
      engineOf: (place) => this.engines.get(place) ?? this.engine,
      engineFactsOf: () => this.engineFacts,
      hostOf: () => this.host ?? this.#local,
      catalog: this.catalog,
      vault: async () => this.vault,
      backupKeys: async () => this.backupKeys,
      dataFolder: join(this.folder, 'data'),
      stackFolderOf: async () => join(this.folder, 'stack'),
    };
  }

  async run(
    flow: Flow,
    component: ComponentView | undefined,
    input: Partial<FlowInput> = {},
    signal = new AbortController().signal,
  ): Promise<FlowOutcome> {
    const { words = [], options = {} } = input;
    const { session, end, reported } = openSession({
      flow: flow.id,
      operator: this.operator,
      policy: this.policy,
      journal: await openJournal({
        ...{ folder: this.journal, flow: flow.id, place: 'local' },
        // As the deck does: words of others can be anything, passwords too.
        ...(flow.resumes && { words, options }),
        ...(component && { component: component.id, key: component.key }),
        ...(this.resume !== undefined && { resume: this.resume }),
      }),
      audit: this.#audit,
      about: { right: flow.right, host: input.place ?? 'local', ...(component && { component: component.key }) },
      subjectOf: (target) => auditSubject(this.fleet.snapshot().components, { component, ...input }, target),
      signal,
    });
    try {
      const outcome = await flow.run(session, { place: 'local', component, words, options, ...input }, this.world);
      await end('done');
      return outcome;
    } catch (thrown) {
      const told = reported(thrown);
      await end(thrown instanceof Fault && thrown.kind === 'interrupted' ? 'cancelled' : 'failed', thrown);
      throw told;
    }
  }

  /** Folder of the runs. */
  get journal(): string {
    return join(this.folder, 'runs');
  }

  readonly #store = new SecretStoreDouble();
  get #audit() {
    return openAudit({ path: join(this.folder, 'audit.jsonl'), stores: [this.#store], identity: { user: 'ada', machine: 'nas' } });
  }
  async audited(): Promise<AuditEntry[]> {
    const entries = [];
    for await (const entry of this.#audit.entries()) entries.push(entry);
    return entries;
  }
}
