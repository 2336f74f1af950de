import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { auditSubject } from '../../source/app/audit-log.ts';
import type { Catalog } from '../../source/catalog/catalog.ts';
import type { EngineFacts } from '../../source/engine/engine.ts';
import { Fault } from '../../source/faults/fault.ts';
import type { ComponentView } from '../../source/fleet/model.ts';
import type { Flow, FlowContext, FlowInput, FlowOutcome } from '../../source/flows/flow.ts';
import type { HostBook } from '../../source/flows/hosts/host-book.ts';
import type { Host } from '../../source/hosts/host.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import type { Notifications } from '../../source/notifications/notifications.ts';
import { openAudit } from '../../source/session/audit.ts';
import type { AuditEntry } from '../../source/session/audit-chain.ts';
import { openJournal } from '../../source/session/journal.ts';
import { openSession, type SessionPolicy } from '../../source/session/open-session.ts';
import { flowOf } from '../contract/flows/registry.ts';
import { backupKeysDouble } from './backup-keys-double.ts';
import { EngineDouble } from './engine-double.ts';
import { FleetDouble } from './fleet-double.ts';
import { OperatorDouble } from './operator-double.ts';
import { SecretStoreDouble } from './secret-store-double.ts';
import { VaultDouble } from './vault-double.ts';

/** Everything a flow needs, with a real session in it and an engine in memory. */
export class FlowFixture {
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
  };
  backupKeys = backupKeysDouble();
  /** Hosts over ssh; none where a test opens none. */
  hosts: HostBook | undefined;
  notifications: Notifications | undefined;
  readonly folder: string;
  readonly #local = openLocalHost();
  /** The run that the next one goes on with. */
  resume: string | undefined;
  policy: SessionPolicy = { readOnly: false, dryRun: false, productionHosts: new Set() };

  private constructor(folder: string) {
    this.folder = folder;
  }
  static async open(): Promise<FlowFixture> {
    return new FlowFixture(await mkdtemp(join(tmpdir(), 'quarterdeck-flow-')));
  }
  close(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true });
  }

  get context(): FlowContext {
    return {
      fleet: this.fleet,
      engineOf: (engineName) => this.engines.get(engineName) ?? this.engine,
      engineFactsOf: () => this.engineFacts,
      hostOf: () => this.host ?? this.#local,
      catalog: this.catalog,
      vault: async () => this.vault,
      backupKeys: async () => this.backupKeys,
      ...(this.hosts && { hosts: this.hosts }),
      ...(this.notifications && { notifications: this.notifications }),
      dataFolder: join(this.folder, 'data'),
      stackFolderOf: async () => join(this.folder, 'stack'),
    };
  }

  async run(
    named: Flow | string,
    component: ComponentView | undefined,
    input: Partial<FlowInput> = {},
    signal = new AbortController().signal,
  ): Promise<FlowOutcome> {
    const { words = [], options = {} } = input;
    const flow = typeof named === 'string' ? flowOf(named) : named;
    const { session, end, reported } = openSession({
      flow: flow.id,
      operator: this.operator,
      policy: this.policy,
      journal: await openJournal({
        ...{ folder: this.journal, flow: flow.id, engineName: 'local' },
        // As the app does: words of others can be anything, passwords too.
        ...(flow.resumes && { words, options }),
        ...(component && { component: component.id, key: component.key }),
        ...(this.resume !== undefined && { resume: this.resume }),
      }),
      audit: this.#audit,
      about: { right: flow.right, host: input.engineName ?? 'local', ...(component && { component: component.key }) },
      subjectOf: (target) => auditSubject(this.fleet.snapshot().components, { component, ...input }, target),
      signal,
    });
    try {
      const outcome = await flow.run(session, { engineName: 'local', component, words, options, ...input }, this.context);
      await end('done');
      return outcome;
    } catch (thrown) {
      const notified = reported(thrown);
      await end(thrown instanceof Fault && thrown.kind === 'interrupted' ? 'cancelled' : 'failed', thrown);
      throw notified;
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
