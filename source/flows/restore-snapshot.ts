import type { ImageDetail } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import { composeLabel } from '../fleet/grouping.ts';
import type { ComponentView } from '../fleet/model.ts';
import type { Session } from '../session/session.ts';
import { answersOfDeployment } from '../stack/answers.ts';
import type { BackupFacts, BackupManifest } from '../stack/backup-model.ts';
import { projectIn } from '../stack/backup-project.ts';
import type { BackupStore } from '../stack/backup-store.ts';
import { verifyBackup } from '../stack/backup-verify.ts';
import { readEnv } from '../stack/env-file.ts';
import { isSameReference } from '../stack/image-pin.ts';
import type { Answers, ImagePin, SecretAnswer } from '../stack/model.ts';
import { bytesText } from '../text/quantities.ts';
import { applyPlans } from './apply-plans.ts';
import { throwUnlessAuthentic } from './authentic-backup.ts';
import { noBackup } from './backup-list.ts';
import { openStore } from './backup-target.ts';
import type { FlowInput, FlowOutcome, FlowWorld } from './flow.ts';
import { formContextOf } from './form-context.ts';
import { planComponent, type ReadyPlan } from './plan-component.ts';
import { restoreData } from './restore-data.ts';
import { reviewTogether } from './review-together.ts';
import type { StackFacts } from './stack-facts.ts';
import { standing } from './standing.ts';
import { start } from './start.ts';

const limitMs = 24 * 3_600_000;

/**
 * Goes back to a backup with all that belongs to it: files, images by digest, secrets in the versions of then, and the data. The way back after an update where taking
 * the change back alone would put an old program on new data. Containers are made first and started last, so that neither program sees what is not its own.
 */
export async function restoreSnapshot(
  session: Session,
  input: FlowInput,
  world: FlowWorld,
  id: string,
  stamp: string,
): Promise<FlowOutcome> {
  const store = await openStore(session, input, world);
  const backup = (await store.list(session.signal, id)).find((one) => one.stamp === stamp);
  const manifest = backup?.manifest;
  if (!backup || !manifest) throw noBackup(id, store.where, stamp);
  await throwUnlessAuthentic(session, input, backup);
  const ready = await planBack(session, world, input.place, id, store, backup, manifest);
  if (!ready) return { message: 'Rehearsed: nothing was restored.' };
  const review = reviewTogether([ready], { title: `Go back to the backup ${stamp} of ${id}`, label: 'Go back' });
  const choice = await session.review({ ...review, id: `snapshot ${id}` });
  if (choice !== 'apply') {
    throw new Fault({ code: 'interrupted.cancelled', message: 'Nothing was changed.', remedy: 'Start it again whenever you like.' });
  }
  const { run } = await applyPlans(session, world, [ready], {
    meanwhile: async () => {
      const component = await seenNow(session, world, input.place, id);
      await restoreData(session, world, { component, store, backup, whole: true });
      await start.run(session, { ...input, component, words: [], options: {} }, world);
    },
  });
  return {
    message: `${id} is as it was at ${manifest.startedAt}: data, images, files and secrets.`,
    data: { backup: stamp, component: id, host: input.place, run },
  };
}

/** The plan that puts files, images and secrets back; undefined in a rehearsal, which opens no backup. */
async function planBack(
  session: Session,
  world: FlowWorld,
  place: string,
  id: string,
  store: BackupStore,
  backup: BackupFacts,
  manifest: BackupManifest,
): Promise<ReadyPlan | undefined> {
  const { facts: seen } = await standing(session, world, place, id);
  const saved = await session.act({
    id: `read the backup ${backup.stamp} of ${id}`,
    right: 'operate',
    request: `read compose.yaml, .env, files/ and the record of ${id} from ${store.where}, ${backup.stamp}`,
    target: { host: place, component: id },
    limitMs,
    run: async (grant) => {
      await verifyBackup(store, backup, grant.signal);
      return projectIn(grant, store, backup);
    },
  });
  if (session.rehearsing) return undefined;
  if (!saved) throw nothingSaved(id, backup.stamp);
  const { texts, record } = saved;
  const pins = pinsOf(manifest, seen);
  const facts = { ...seen, images: new Map([...seen.images, ...(await imagesHere(seen, Object.values(pins), session.signal))]) };
  const answers = answersOfDeployment(facts.entry, formContextOf(world, facts, {}));
  const then: Answers = {
    values: readEnv(texts['.env'] ?? '').values,
    secrets: { ...answers.secrets, ...(await secretsOfThen(session, world, place, id, record.secrets)) },
    site: record.site ?? '',
  };
  const changed = Object.entries(record.secrets).filter(([variable, version]) => facts.deployment?.record?.secrets[variable] !== version);
  const ready = await planComponent(session, world, facts, then, {
    kind: 'restore',
    edited: texts,
    pins,
    rotated: new Set(changed.map(([variable]) => variable)),
  });
  // Only what the operator had changed then is theirs again.
  const files = ready.plan.files.map(({ edited, ...file }) => (edited && record.edited?.includes(file.path) ? { ...file, edited } : file));
  const bytes = manifest.items.reduce((sum, { contentBytes }) => sum + contentBytes, 0);
  return {
    ...ready,
    plan: {
      ...ready.plan,
      files,
      notes: [
        ...ready.plan.notes,
        `Its data become those of ${manifest.startedAt} (${bytesText(bytes)}); what was written since then is lost.`,
        'Its containers are made again first, and started when their data are back.',
      ],
    },
  };
}

/** Exactly the images that ran: a tag may mean another by now. One that was never in a registry is known by its id alone. */
function pinsOf({ images }: BackupManifest, { images: here }: StackFacts): Record<string, string> {
  const isStillMeant = ({ reference, id }: ImagePin) =>
    [...here].some(([name, image]) => image.id === id && isSameReference(name, reference));
  return Object.fromEntries(
    Object.entries(images).flatMap(([service, pin]) => (isStillMeant(pin) ? [] : [[service, pin.digest ?? pin.id]])),
  );
}

/** What is on the host already need not be fetched, and may be in no registry any more. */
async function imagesHere({ engine }: StackFacts, references: readonly string[], signal: AbortSignal): Promise<[string, ImageDetail][]> {
  const found = await Promise.all(references.map(async (reference) => [reference, await engine.image(reference, signal)] as const));
  return found.flatMap(([reference, image]) => (image ? [[reference, image]] : []));
}

/** Throws `refused.secretGone` where a version of then is not there any more. */
async function secretsOfThen(
  session: Session,
  world: FlowWorld,
  place: string,
  id: string,
  versions: Readonly<Record<string, string>>,
): Promise<Record<string, SecretAnswer>> {
  const wanted = Object.entries(versions);
  if (wanted.length === 0) return {};
  const vault = await world.vault(session);
  const kept = await vault.list(session.signal);
  return Object.fromEntries(
    wanted.map(([variable, version]): [string, SecretAnswer] => {
      const entry = kept.find(({ name }) => name === `${place}/${id}/${variable}`);
      if (entry?.versions.some((one) => one.id === version)) return [variable, { from: 'keep', version }];
      throw new Fault({
        code: 'refused.secretGone',
        message: `${variable} of ${id} is not in ${vault.where} any more in the version of then.`,
        remedy: `Remove ${id} without its data, and bring back its files, which brings the sealed secrets too: quarterdeck restore ${id}.`,
      });
    }),
  );
}

/** The component with the containers that it has at this moment: the fleet may not have seen yet that they are new. */
async function seenNow(session: Session, world: FlowWorld, place: string, id: string): Promise<ComponentView> {
  const known = world.fleet.snapshot().components.find((one) => one.host === place && one.id === id && one.project === id);
  if (!known) {
    throw new Fault({
      code: 'refused.notDeployed',
      message: `${id} is not among the components of ${place}.`,
      remedy: `Restore its files first: quarterdeck restore ${id}`,
    });
  }
  const containers = (await world.engineOf(place).list(session.signal)).filter((one) => composeLabel(one, 'project') === id);
  return {
    ...known,
    services: known.services.map((service) => {
      const container = containers.find((one) => composeLabel(one, 'service') === service.name);
      return container ? { ...service, containerId: container.id, containerName: container.name } : service;
    }),
  };
}

function nothingSaved(id: string, stamp: string): Fault {
  return new Fault({
    code: 'refused.noProject',
    message: `The backup ${stamp} has the data of ${id} alone: its files and its record are not in it.`,
    remedy: `Restore the data: quarterdeck restore ${id} ${stamp}`,
  });
}
