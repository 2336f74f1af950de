import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { CatalogEntry } from '../../source/catalog/catalog.ts';
import { loadFolder } from '../../source/catalog/load-folder.ts';
import { openEngine } from '../../source/engine/dockerode-engine.ts';
import type { ContainerFacts, Engine } from '../../source/engine/engine.ts';
import type { ComponentView } from '../../source/fleet/model.ts';
import type { Grant } from '../../source/grants/grant.ts';
import { mintGrant } from '../../source/grants/mint.ts';
import type { Host } from '../../source/hosts/host.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import type { BackupManifest } from '../../source/stack/backup/manifest.ts';
import type { BackupFacts, BackupPlan, BackupTarget } from '../../source/stack/backup/model.ts';
import { planBackup } from '../../source/stack/backup/plan.ts';
import { planRestore, runRestore } from '../../source/stack/backup/restore.ts';
import { type BackupRun, runBackup } from '../../source/stack/backup/run.ts';
import { StillContainers } from '../../source/stack/backup/stopped-containers.ts';
import { type BackupStore, openBackupStore } from '../../source/stack/backup/store.ts';
import { backupKeysDouble } from '../doubles/backup-keys-double.ts';
import { componentView, serviceView } from '../doubles/fleet-double.ts';
import type { RealEngine } from './real-engines.ts';
import type { RunningComponent } from './stack.ts';

/** A component that really runs, and what backs it up. */
export class BackupFixture {
  readonly engine: Engine;
  readonly host: Host = openLocalHost();
  readonly reported: string[] = [];
  readonly #real: RealEngine;
  clock = Date.UTC(2025, 10, 21, 3, 15);

  readonly keys = backupKeysDouble();

  constructor(real: RealEngine) {
    this.#real = real;
    this.engine = openEngine({ url: real.url, origin: 'test' }, this.host);
  }

  grant(signal = AbortSignal.timeout(150_000)): Grant {
    return mintGrant('test', 'destroy', signal);
  }
  get signal(): AbortSignal {
    return AbortSignal.timeout(60_000);
  }
  store(target: BackupTarget): Promise<BackupStore> {
    return openBackupStore(target, this.host, this.keys);
  }

  async containers(project: string): Promise<ContainerFacts[]> {
    return (await this.engine.list(this.signal)).filter(({ labels }) => labels['com.docker.compose.project'] === project);
  }
  async containerOf(project: string, service: string): Promise<ContainerFacts> {
    const found = (await this.containers(project)).find(({ labels }) => labels['com.docker.compose.service'] === service);
    if (!found) throw new Error(`no container of ${project}/${service} on ${this.#real.kind}`);
    return found;
  }
  async view({ id, project }: RunningComponent): Promise<ComponentView> {
    const services = (await this.containers(project)).map((container) =>
      serviceView(container.labels['com.docker.compose.service'] ?? '', { containerId: container.id, containerName: container.name }),
    );
    return componentView(id, { id, project, services });
  }

  async plan(running: RunningComponent): Promise<BackupPlan> {
    const component = await this.view(running);
    return planBackup({
      entry: await entryOf(running.id),
      component,
      engine: this.engine,
      host: this.host,
      stackFolder: stackFolderOf(running),
      signal: this.signal,
    });
  }
  async backUp(
    running: RunningComponent,
    store: BackupStore,
    more: Partial<BackupRun> = {},
    grant = this.grant(),
  ): Promise<BackupManifest> {
    const plan = await this.plan(running);
    this.clock += 60_000;
    return runBackup(grant, {
      plan,
      store,
      engine: this.engine,
      host: this.host,
      stackFolder: stackFolderOf(running),
      still: new StillContainers(this.engine),
      secrets: { names: [] },
      by: 'ada@test',
      now: new Date(this.clock),
      reported: ({ label }) => this.reported.push(label),
      ...more,
    });
  }
  async restore(running: RunningComponent, store: BackupStore, backup: BackupFacts): Promise<void> {
    const plan = planRestore(backup, await this.plan(running));
    await runRestore(this.grant(), plan, {
      store,
      engine: this.engine,
      host: this.host,
      stackFolder: stackFolderOf(running),
      still: new StillContainers(this.engine),
      by: 'ada@test',
      reported: ({ label }) => this.reported.push(label),
    });
  }

  /** What a program in a container prints; throws when it fails. */
  async ask(id: string, argv: readonly string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await this.engine.writer(this.grant()).exec(id, argv);
    if (exitCode !== 0) throw new Error(`${argv.join(' ')}: ${exitCode} ${Buffer.from(stderr).toString()}`);
    return Buffer.from(stdout).toString('utf8').trim();
  }
  async until(what: string, right: () => Promise<boolean>, limitMs = 60_000): Promise<void> {
    const deadline = Date.now() + limitMs;
    for (;;) {
      if (await right().catch(() => false)) return;
      if (Date.now() > deadline) throw new Error(`never: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  /** Keeps a program in a container busy until `end`, which answers when it is gone. */
  async busy(id: string, argv: readonly string[]): Promise<{ end(): Promise<void> }> {
    const ending = new AbortController();
    const program = await this.engine.writer(this.grant(ending.signal)).execStream(id, argv);
    const output = Readable.prototype.resume.call(program.stdout);
    output.on('error', () => undefined);
    return {
      end: async () => {
        ending.abort(new Error('enough'));
        await program.ended.catch(() => undefined);
      },
    };
  }
}

const stackFolderOf = ({ folder }: RunningComponent) => fileURLToPath(new URL('..', `file://${folder}/`)).replace(/\/$/, '');

let catalog: Promise<readonly CatalogEntry[]> | undefined;

export async function entryOf(id: string): Promise<CatalogEntry> {
  catalog ??= loadFolder(fileURLToPath(new URL('../../catalog/', import.meta.url)), { own: false }).then(({ entries }) => entries);
  const found = (await catalog).find((entry) => entry.id === id);
  if (!found) throw new Error(`the catalog has no ${id}`);
  return found;
}
