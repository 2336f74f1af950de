import pLimit, { type LimitFunction } from 'p-limit';
import { timedStepText } from '../../catalog/catalog.ts';
import { parseImage } from '../../catalog/images.ts';
import { cannotTellExitCode, Fault } from '../../faults/fault.ts';
import type { Review } from '../../session/session.ts';
import { isEmpty } from '../../stack/plan/plan.ts';
import { listDeployments } from '../../stack/read-deployment.ts';
import { cleanLine } from '../../text/clean.ts';
import { backUpFirst, isBackupRequested, noteBackup, offerSnapshots, withoutBackup, worthSaving } from '../backup/backup-first.ts';
import { backupLocation } from '../backup/backup-target.ts';
import { type EngineScope, onEngine } from '../engine-scope.ts';
import type { FlowInput, FlowOutcome } from '../flow.ts';
import { cancelled } from '../prompt-cancelled.ts';
import { applyPlans } from './apply-plans.ts';
import { rejoinedSentence, withJoined } from './joined-services.ts';
import { planComponent, planData, type ReadyPlan, reviewTogether } from './plan-component.ts';
import { deployed, inspectHost } from './stack-facts.ts';

/** Registries limit the rate of queries. */
const askedAtOnce = 4;
/** More CPU work in parallel would delay answers until their time limit. */
const plannedAtOnce = 4;
const askLimitMs = 15_000;

export const update = onEngine(async (scope, input, session, context) => {
  const ids = input.component ? [input.component.id] : await listDeployedIds(scope);
  if (ids.length === 0) return { message: 'Nothing to update. Quarterdeck has not deployed any components.', data: { updated: [] } };
  const planned = await planUpdates(scope, input, ids);
  const all = planned.map(({ ready }) => ready);
  const unchecked = planned.flatMap((one) => one.unchecked);
  const uncheckedIds = new Set(unchecked.map(({ component }) => component));
  const newer = all.filter(({ plan }) => !isEmpty(plan));
  const ready = await withJoined(newer);
  const current = all.flatMap(({ plan }) => (isEmpty(plan) && !uncheckedIds.has(plan.component) ? [plan.component] : []));
  session.progress({ id: 'look', label: 'Checked for newer images', fraction: 1, done: true });
  const upToDate = () => (current.length > 0 ? `${current.join(', ')}: up to date.` : '');
  if (ready.length === 0) return withUnchecked(unchecked, upToDate(), { updated: [], current });
  const saves = worthSaving(context, newer).length > 0 && backupLocation(input, context) !== undefined && isBackupRequested(input);
  const choice = await session.review(reviewOfUpdate(ready, newer.length, saves));
  if (session.dryRun)
    return withUnchecked([...unchecked, ...planned.flatMap(unfetched)], 'Dry run: nothing was changed.', { plans: ready.map(planData) });
  if (choice !== 'apply' && choice !== withoutBackup) throw cancelled('Nothing was updated.');
  const backups = saves && choice === 'apply' ? await backUpFirst(scope, input, newer) : {};
  let run: string;
  try {
    run = (await applyPlans(ready, { backups })).run;
  } catch (thrown) {
    const message = await offerSnapshots(scope, input, newer, backups, thrown);
    return withUnchecked(unchecked, message, { updated: [], current, backups });
  }
  const steps = newer.flatMap(({ facts: { entry } }) =>
    (entry.upgrade?.steps ?? []).flatMap((step) => (typeof step === 'string' ? [] : [[entry.id, step.after]])),
  );
  if (steps.length > 0) session.show({ kind: 'table', title: 'Steps after the update', columns: ['COMPONENT', 'STEP'], rows: steps });
  const unchanged = await unchangedByFetching(planned);
  current.push(...unchanged.filter((id) => !uncheckedIds.has(id)));
  const updated = newer.map(({ facts }) => facts.entry.id).filter((id) => !unchanged.includes(id));
  const sentences = [updated.length > 0 && `Updated ${updated.join(', ')}.`, rejoinedSentence(ready).trim(), upToDate()];
  return withUnchecked(unchecked, sentences.filter(Boolean).join(' '), { run, updated, current, backups });
});

async function listDeployedIds(scope: EngineScope): Promise<string[]> {
  const { context, host, signal } = scope;
  const { deployments } = await listDeployments(host, await scope.stackFolder(), signal);
  return deployments.filter(({ component, record }) => record && context.catalog.get(component)).map(({ component }) => component);
}

interface PlannedUpdate {
  ready: ReadyPlan;
  /** Images that are pulled to find out whether they are newer, by service. */
  fetched: ReadonlyMap<string, string>;
  unchecked: readonly UncheckedImage[];
}

/** Host and engine are queried once for all components. */
async function planUpdates(scope: EngineScope, input: FlowInput, ids: readonly string[]): Promise<PlannedUpdate[]> {
  const look = await inspectHost(scope);
  const registry = pLimit(askedAtOnce);
  const planning = pLimit(plannedAtOnce);
  let done = 0;
  return Promise.all(
    ids.map(async (id) => {
      const { facts, answers } = await deployed(scope, id, look);
      const plan = (newer: ReadonlySet<string>) => planning(() => planComponent(facts, answers, { kind: 'update', newer }, look.asked));
      // The plan determines the images: an edited compose file may name others than the catalog.
      const asIs = await plan(new Set());
      const { newer, fetched, unchecked } = await checkImages(asIs, registry);
      const ready = newer.size === 0 ? asIs : await plan(newer);
      scope.session.progress({ id: 'look', label: 'Checking for newer images', fraction: ++done / ids.length });
      // Services of an inactive profile are not in the plan.
      const active = new Set(ready.plan.services.flatMap(({ name, change }) => (change === 'create' ? [] : [name])));
      const images = [...fetched].flatMap(([service, image]) => (active.has(service) ? [image] : []));
      return {
        ready: noteBackup(withNotes(ready, images), input),
        fetched,
        unchecked: unchecked.filter(({ service }) => active.has(service)),
      };
    }),
  );
}

/** A dry run pulls nothing, so it cannot predict the update of images that have to be pulled to find out. */
function unfetched({ ready: { plan }, fetched }: PlannedUpdate): UncheckedImage[] {
  const active = new Set(plan.services.map(({ name }) => name));
  return [...fetched]
    .filter(([service]) => active.has(service))
    .map(([service, image]) => ({
      component: plan.component,
      service,
      image: cleanLine(image),
      reason: 'this engine cannot query the registry, and a dry run does not pull images',
    }));
}

function withNotes(ready: ReadyPlan, fetched: readonly string[]): ReadyPlan {
  const { facts } = ready;
  const { notes = [], steps = [] } = facts.entry.upgrade ?? {};
  const unknown = fetched.map((image) => `${cleanLine(image)} is pulled to check for a newer image.`);
  const more = [...unknown, ...notes, ...steps.map(timedStepText)];
  return { ...ready, plan: { ...ready.plan, notes: [...ready.plan.notes, ...more] } };
}

interface UncheckedImage {
  component: string;
  service: string;
  image: string;
  reason: string;
}

/** If the engine cannot query a registry (Podman, a socket proxy, a login of compose), the image is pulled to find out. */
async function checkImages({ plan, facts: { scope, images } }: ReadyPlan, limit: LimitFunction) {
  const { session, engine } = scope;
  const newer = new Set<string>();
  const fetched = new Map<string, string>();
  const unchecked: UncheckedImage[] = [];
  await Promise.all(
    plan.services.map((service) =>
      // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: each case is one image that cannot be compared
      limit(async () => {
        const reference = service.image;
        const here = images.get(reference);
        // A digest always refers to the same image.
        if (here && parseImage(reference)?.digest !== undefined) return;
        const cannotTell = (reason: string) =>
          unchecked.push({ component: plan.component, service: service.name, image: cleanLine(reference), reason });
        if (here && here.digests.length === 0)
          return cannotTell('the image has no registry digest, because it was built or loaded on the host');
        const limited = AbortSignal.timeout(askLimitMs);
        try {
          const there = await engine.registryDigest(reference, AbortSignal.any([session.signal, limited]));
          if (there === undefined) fetched.set(service.name, reference);
          if (there === undefined || !here?.digests.some((digest) => digest.endsWith(`@${there}`))) newer.add(service.name);
        } catch (thrown) {
          session.signal.throwIfAborted();
          if (limited.aborted) cannotTell(`the registry did not respond within ${askLimitMs / 1_000} s`);
          else if (thrown instanceof Fault) cannotTell(cleanLine(thrown.message).replace(/\.$/, ''));
          else throw thrown;
        }
      }),
    ),
  );
  return { newer, fetched, unchecked };
}

/** Returns components that could only change because of pulled images, and whose images are unchanged. */
async function unchangedByFetching(planned: readonly PlannedUpdate[]): Promise<string[]> {
  const same = await Promise.all(
    planned.map(async ({ ready: { plan, facts }, fetched }) => {
      const changed = plan.services.filter(({ change }) => change !== 'keep');
      if (changed.length === 0 || plan.files.some(({ before, after }) => before !== after)) return [];
      for (const { name } of changed) {
        const reference = fetched.get(name);
        if (reference === undefined) return [];
        const before = facts.images.get(reference)?.id;
        if (before === undefined || (await facts.scope.engine.image(reference, facts.scope.signal))?.id !== before) return [];
      }
      return [plan.component];
    }),
  );
  return same.flat();
}

function withUnchecked(unchecked: readonly UncheckedImage[], message: string, data: object): FlowOutcome {
  if (unchecked.length === 0) return { message, data };
  const sentences = unchecked.map(
    ({ component, image, reason }) => `Cannot determine whether ${component} is up to date: ${image} could not be checked (${reason}).`,
  );
  const all = [message, ...new Set(sentences)].filter(Boolean).join(' ');
  return { message: all, data: { ...data, unchecked }, exitCode: cannotTellExitCode };
}

/** Enter takes the backup first; another key skips it. */
function reviewOfUpdate(ready: readonly ReadyPlan[], updated: number, saves: boolean): Review {
  const verb = updated === 1 ? 'update' : 'update all';
  const plain = `U${verb.slice(1)}`;
  const first = ready.find(({ plan }) => plan.kind !== 'rejoin');
  const title = first && updated === 1 ? `Update ${first.plan.component}` : `Update ${updated} components`;
  const review = reviewTogether(ready, { title, label: saves ? `Back up, then ${verb}` : plain });
  if (!saves) return review;
  const [apply, ...others] = review.actions;
  const bare = { id: withoutBackup, label: `${plain} without a backup`, blocked: apply?.blocked };
  return { ...review, actions: apply ? [apply, bare, ...others] : others };
}
