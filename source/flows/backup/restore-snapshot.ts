import type { ImageDetail } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import { composeLabel } from '../../fleet/grouping.ts';
import type { ComponentView } from '../../fleet/model.ts';
import type { BackupManifest } from '../../stack/backup/manifest.ts';
import type { BackupFacts } from '../../stack/backup/model.ts';
import { projectIn } from '../../stack/backup/project.ts';
import type { BackupStore } from '../../stack/backup/store.ts';
import { filesDamaged, verifyBackup } from '../../stack/backup/verify.ts';
import type { Answers, ImagePin, SecretAnswer } from '../../stack/model.ts';
import { answersOfDeployment } from '../../stack/plan/answers.ts';
import { readEnv } from '../../stack/plan/env-file.ts';
import { isSameReference } from '../../stack/plan/image-pin.ts';
import { bytesText } from '../../text/quantities.ts';
import { start } from '../components/start.ts';
import { applyPlans } from '../deploy/apply-plans.ts';
import { planComponent, reviewTogether } from '../deploy/plan-component.ts';
import { deployed, formContextOf, type StackFacts } from '../deploy/stack-facts.ts';
import type { EngineScope } from '../engine-scope.ts';
import type { FlowInput, FlowOutcome } from '../flow.ts';
import { cancelled } from '../prompt-cancelled.ts';
import { noBackup } from './backup-list.ts';
import { openStore } from './backup-target.ts';
import { throwUnlessAuthentic } from './backups-of.ts';
import { restoreData } from './restore-data.ts';

const limitMs = 24 * 3_600_000;

/** Undoes an update whose data an old program cannot read. Containers start last, so that none sees the data of another version. */
export async function restoreSnapshot(scope: EngineScope, input: FlowInput, id: string, stamp: string): Promise<FlowOutcome> {
  const { session, context, engineName } = scope;
  const store = await openStore(scope, input);
  const backup = (await store.list(session.signal, id)).find((one) => one.stamp === stamp);
  const manifest = backup?.manifest;
  if (!backup) throw noBackup(id, store.where, `backup ${stamp}`);
  if (!manifest) throw filesDamaged(backup, ['manifest.json']);
  await throwUnlessAuthentic(session, input, backup);
  const ready = await planBack(scope, id, store, { ...backup, manifest });
  if (!ready) return { message: 'Dry run: nothing was restored.' };
  const review = reviewTogether([ready], { title: `Restore backup ${stamp} of ${id}`, label: 'Restore' });
  const choice = await session.review({ ...review, id: `snapshot ${id}` });
  if (choice !== 'apply') throw cancelled(`The backup of ${id} was not restored.`);
  const { run } = await applyPlans([ready], {
    meanwhile: async () => {
      const component = await seenNow(scope, id);
      await restoreData(scope, { component, store, backup, whole: true });
      await start(session, { ...input, component, words: [], options: {} }, context);
    },
  });
  return {
    message: `Restored ${id} as of ${manifest.startedAt}: data, images, files and secrets.`,
    data: { backup: stamp, component: id, host: engineName, run },
  };
}

/** Plans the restore of files, images and secrets; undefined in a dry run, which opens no backup. */
async function planBack(scope: EngineScope, id: string, store: BackupStore, backup: BackupFacts & { manifest: BackupManifest }) {
  const { manifest } = backup;
  const { session, engineName } = scope;
  const { facts: seen } = await deployed(scope, id);
  const saved = await session.act({
    id: `read the backup ${backup.stamp} of ${id}`,
    right: 'operate',
    request: `read compose.yaml, .env, files/ and the deployment record of ${id} from backup ${backup.stamp} in ${store.where}`,
    target: { host: engineName, component: id },
    limitMs,
    run: async (grant) => {
      await verifyBackup(store, backup, grant.signal);
      return projectIn(grant, store, backup);
    },
  });
  if (session.dryRun) return undefined;
  if (!saved) {
    const message = `The backup ${backup.stamp} contains only the data of ${id}, not its files and deployment record.`;
    throw new Fault('refused.noProject', message, `Restore the data: quarterdeck restore ${id} ${backup.stamp}`);
  }
  const { texts, record } = saved;
  const pins = pinsOf(manifest, seen);
  const facts = { ...seen, images: new Map([...seen.images, ...(await imagesHere(scope, Object.values(pins)))]) };
  const answers = answersOfDeployment(facts.entry, formContextOf(facts, {}));
  const then: Answers = {
    values: readEnv(texts['.env'] ?? '').values,
    secrets: { ...answers.secrets, ...(await secretsOfThen(scope, backup, record.secrets)) },
    site: record.site ?? '',
  };
  const changed = Object.entries(record.secrets).filter(([variable, version]) => facts.deployment?.record?.secrets[variable] !== version);
  const ready = await planComponent(facts, then, {
    kind: 'restore',
    edited: texts,
    pins,
    rotated: new Set(changed.map(([variable]) => variable)),
  });
  // Only files that the operator had edited at that time are kept as edited again.
  const files = ready.plan.files.map(({ edited, ...file }) => (edited && record.edited?.includes(file.path) ? { ...file, edited } : file));
  const bytes = manifest.items.reduce((sum, { contentBytes }) => sum + contentBytes, 0);
  return {
    ...ready,
    plan: {
      ...ready.plan,
      files,
      notes: [
        ...ready.plan.notes,
        `The data is replaced with that of ${manifest.startedAt} (${bytesText(bytes)}); later changes are lost.`,
        'The containers are recreated first, and started once the data has been restored.',
      ],
    },
  };
}

/** Pins the exact images that ran: a tag may refer to another image by now. One that was never in a registry is known by its id alone. */
function pinsOf({ images }: BackupManifest, { images: here }: StackFacts): Record<string, string> {
  const isStillMeant = ({ reference, id }: ImagePin) =>
    [...here].some(([name, image]) => image.id === id && isSameReference(name, reference));
  return Object.fromEntries(
    Object.entries(images).flatMap(([service, pin]) => (isStillMeant(pin) ? [] : [[service, pin.digest ?? pin.id]])),
  );
}

/** An image that is already on the host need not be pulled, and may no longer be in any registry. */
async function imagesHere({ engine, signal }: EngineScope, references: readonly string[]): Promise<[string, ImageDetail][]> {
  const found = await Promise.all(references.map(async (reference) => [reference, await engine.image(reference, signal)] as const));
  return found.flatMap(([reference, image]) => (image ? [[reference, image]] : []));
}

async function secretsOfThen(scope: EngineScope, backup: BackupFacts, versions: Readonly<Record<string, string>>) {
  const { component: id, stamp, manifest } = backup;
  const { session, context, engineName } = scope;
  const wanted = Object.entries(versions);
  if (wanted.length === 0) return {};
  const vault = await context.vault(session);
  const kept = await vault.list(session.signal);
  return Object.fromEntries(
    wanted.map(([variable, version]): [string, SecretAnswer] => {
      const entry = kept.find(({ name }) => name === `${engineName}/${id}/${variable}`);
      if (entry?.versions.some((one) => one.id === version)) return [variable, { from: 'keep', version }];
      const message = `The version of the secret ${variable} (${id}) that this backup uses is no longer in ${vault.where}.`;
      const remedy = manifest?.secrets.sealed
        ? `Remove ${id} but keep its data, then restore its files and sealed secrets`
        : 'The backup does not contain it. Restore only the data';
      throw new Fault('refused.secretGone', message, `${remedy}: quarterdeck restore ${id} ${stamp}`);
    }),
  );
}

/** Returns the component with its current containers: the fleet may not have seen the new ones yet. */
async function seenNow(scope: EngineScope, id: string): Promise<ComponentView> {
  const known = scope.component(id);
  if (!known) {
    const message = `The data of ${id} was not restored, because its containers on ${scope.engineName} were not found.`;
    throw new Fault('refused.notDeployed', message, `To restore a previous version: quarterdeck rollback ${id}`);
  }
  const containers = (await scope.engine.list(scope.signal)).filter((one) => composeLabel(one, 'project') === id);
  return {
    ...known,
    services: known.services.map((service) => {
      const container = containers.find((one) => composeLabel(one, 'service') === service.name);
      return container ? { ...service, containerId: container.id, containerName: container.name } : service;
    }),
  };
}
