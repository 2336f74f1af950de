import pLimit, { type LimitFunction } from 'p-limit';
import { parseImage } from '../catalog/images.ts';
import { cannotTellExitCode, Fault } from '../faults/fault.ts';
import type { Review, Session } from '../session/session.ts';
import { isEmpty } from '../stack/plan.ts';
import { planJson } from '../stack/plan-text.ts';
import { listDeployments } from '../stack/read-deployment.ts';
import { cleanLine } from '../text/clean.ts';
import { updateAbout } from './about-stack.ts';
import { applyPlans } from './apply-plans.ts';
import { backUpFirst, backupPlace, offerSnapshots, tellBackup, wantsBackup, withoutBackup, worthSaving } from './backup-first.ts';
import type { Flow, FlowInput, FlowOutcome, FlowWorld } from './flow.ts';
import { rejoinedSentence, withJoined } from './joined-services.ts';
import { planComponent, type ReadyPlan } from './plan-component.ts';
import { reviewTogether } from './review-together.ts';
import { lookAtHost } from './stack-facts.ts';
import { standing } from './standing.ts';

/** Registries count how often they are asked. */
const askedAtOnce = 4;
/** What takes the processor would keep answers waiting until their limit. */
const plannedAtOnce = 4;
const askLimitMs = 15_000;

export const update: Flow = {
  ...updateAbout,
  async run(session, input, world) {
    const ids = input.component ? [input.component.id] : await deployedIds(session, world, input.place);
    if (ids.length === 0) return { message: 'Nothing was deployed from here: there is nothing to update.', data: { updated: [] } };
    const planned = await planUpdates(session, world, input, ids);
    const all = planned.map(({ ready }) => ready);
    const unchecked = planned.flatMap((one) => one.unchecked);
    const untold = new Set(unchecked.map(({ component }) => component));
    const newer = all.filter(({ plan }) => !isEmpty(plan));
    const ready = await withJoined(session, world, newer);
    const current = all.flatMap(({ plan }) => (isEmpty(plan) && !untold.has(plan.component) ? [plan.component] : []));
    session.progress({ id: 'look', label: 'Asked for newer images', fraction: 1, done: true });
    const upToDate = current.length > 0 ? `${current.join(', ')}: up to date.` : '';
    if (ready.length === 0) return withUnchecked({ message: upToDate, data: { updated: [], current } }, unchecked);
    const saves = worthSaving(world, newer).length > 0 && backupPlace(input, world) !== undefined && wantsBackup(input);
    const choice = await session.review(reviewOfUpdate(ready, newer.length, saves));
    if (session.rehearsing)
      return withUnchecked(
        {
          message: 'Rehearsed: nothing was changed.',
          data: { plans: ready.map(({ plan, findings }) => planJson(plan, findings, false, session.withoutSecrets)) },
        },
        [...unchecked, ...planned.flatMap(unfetched)],
      );
    if (choice !== 'apply' && choice !== withoutBackup) {
      throw new Fault({ code: 'interrupted.cancelled', message: 'Nothing was updated.', remedy: 'Start it again whenever you like.' });
    }
    const backups = saves && choice === 'apply' ? await backUpFirst(session, input, world, newer) : {};
    let run: string;
    try {
      run = (await applyPlans(session, world, ready, { backups })).run;
    } catch (thrown) {
      const message = await offerSnapshots(session, input, world, newer, backups, thrown);
      return withUnchecked({ message, data: { updated: [], current, backups } }, unchecked);
    }
    const steps = newer.flatMap(({ facts }) => (facts.entry.upgrade?.steps ?? []).map((step) => [facts.entry.id, step]));
    if (steps.length > 0)
      session.show({ kind: 'table', title: 'What an update wants done besides', columns: ['COMPONENT', 'STEP'], rows: steps });
    const unchanged = await unchangedByFetching(session, planned);
    current.push(...unchanged.filter((id) => !untold.has(id)));
    const updated = newer.map(({ facts }) => facts.entry.id).filter((id) => !unchanged.includes(id));
    return withUnchecked(
      {
        message: [
          updated.length > 0 ? `${updated.join(', ')} was updated.` : '',
          rejoinedSentence(ready).trim(),
          current.length > 0 ? `${current.join(', ')}: up to date.` : '',
        ]
          .filter(Boolean)
          .join(' '),
        data: { run, updated, current, backups },
      },
      unchecked,
    );
  },
};

async function deployedIds(session: Session, world: FlowWorld, place: string): Promise<string[]> {
  const { signal } = session;
  const { deployments } = await listDeployments(world.hostOf(place), await world.stackFolderOf(place, signal), signal);
  return deployments.filter(({ component, record }) => record && world.catalog.get(component)).map(({ component }) => component);
}

interface PlannedUpdate {
  ready: ReadyPlan;
  /** By service, images that are fetched to find out whether they are newer. */
  fetched: ReadonlyMap<string, string>;
  unchecked: readonly UncheckedImage[];
}

/** Host and engine are asked once for all of them. */
async function planUpdates(session: Session, world: FlowWorld, input: FlowInput, ids: readonly string[]): Promise<PlannedUpdate[]> {
  const { place } = input;
  const look = await lookAtHost(session, world, place);
  const registry = pLimit(askedAtOnce);
  const planning = pLimit(plannedAtOnce);
  let done = 0;
  return Promise.all(
    ids.map(async (id) => {
      const { facts, answers } = await standing(session, world, place, id, look);
      const plan = (newer: ReadonlySet<string>) =>
        planning(() => planComponent(session, world, facts, answers, { kind: 'update', newer }, look.asked));
      // Which images they are, the plan says: a compose file that was edited may name others than the catalog.
      const asIs = await plan(new Set());
      const { newer, fetched, unchecked } = await checkImages(session, asIs, registry);
      const ready = newer.size === 0 ? asIs : await plan(newer);
      session.progress({ id: 'look', label: 'Asking for newer images', fraction: ++done / ids.length });
      // Services of a profile that is off are not in the plan.
      const active = new Set(ready.plan.services.flatMap(({ name, change }) => (change === 'create' ? [] : [name])));
      return {
        ready: tellBackup(
          withNotes(
            ready,
            [...fetched].filter(([service]) => active.has(service)).map(([, image]) => image),
          ),
          input,
          world,
        ),
        fetched,
        unchecked: unchecked.filter(({ service }) => active.has(service)),
      };
    }),
  );
}

/** A dry run fetches nothing, so that it cannot predict what an update finds where only fetching tells. */
function unfetched({ ready: { plan }, fetched }: PlannedUpdate): UncheckedImage[] {
  const active = new Set(plan.services.map(({ name }) => name));
  return [...fetched]
    .filter(([service]) => active.has(service))
    .map(([service, image]) => ({
      component: plan.component,
      service,
      image: cleanLine(image),
      reason: 'this engine cannot query the registry, and a dry run does not fetch it',
    }));
}

function withNotes(ready: ReadyPlan, fetched: readonly string[]): ReadyPlan {
  const { facts } = ready;
  const { notes = [], steps = [] } = facts.entry.upgrade ?? {};
  const unknown = fetched.map((image) => `Whether the registry has a newer ${cleanLine(image)} can only be checked by fetching it.`);
  const more = [...unknown, ...notes, ...steps.map((step) => `Step: ${step}`)];
  return { ...ready, plan: { ...ready.plan, notes: [...ready.plan.notes, ...more] } };
}

/** An image of a component for which nothing tells whether the registry has a newer one. */
interface UncheckedImage {
  component: string;
  service: string;
  image: string;
  reason: string;
}

/**
 * Services whose tag means another image in the registry than here, and those for which that cannot be told. Where this engine cannot query a registry
 * (Podman, a socket proxy, a login that only compose has), the image is fetched to find out.
 */
async function checkImages(
  session: Session,
  { plan, facts: { engine, images } }: ReadyPlan,
  limit: LimitFunction,
): Promise<{ newer: Set<string>; fetched: Map<string, string>; unchecked: UncheckedImage[] }> {
  const newer = new Set<string>();
  const fetched = new Map<string, string>();
  const unchecked: UncheckedImage[] = [];
  await Promise.all(
    plan.services.map((service) =>
      limit(async () => {
        const reference = service.image;
        const here = images.get(reference);
        // A digest names one image for ever.
        if (here && parseImage(reference)?.digest !== undefined) return;
        const cannotTell = (reason: string) =>
          unchecked.push({ component: plan.component, service: service.name, image: cleanLine(reference), reason });
        if (here && here.digests.length === 0) {
          cannotTell('the image has no registry digest, as it was built or loaded on the host');
          return;
        }
        const limited = AbortSignal.timeout(askLimitMs);
        try {
          const there = await engine.registryDigest(reference, AbortSignal.any([session.signal, limited]));
          if (there === undefined) fetched.set(service.name, reference);
          if (there === undefined || !here?.digests.some((digest) => digest.endsWith(`@${there}`))) newer.add(service.name);
        } catch (thrown) {
          session.signal.throwIfAborted();
          if (limited.aborted) cannotTell(`the registry did not answer within ${askLimitMs / 1_000} s`);
          else if (thrown instanceof Fault) cannotTell(cleanLine(thrown.message).replace(/\.$/, ''));
          else throw thrown;
        }
      }),
    ),
  );
  return { newer, fetched, unchecked };
}

/** Components of which nothing but fetched images could change, and those are the same as before. */
async function unchangedByFetching(session: Session, planned: readonly PlannedUpdate[]): Promise<string[]> {
  const same = await Promise.all(
    planned.map(async ({ ready: { plan, facts }, fetched }) => {
      const changed = plan.services.filter(({ change }) => change !== 'keep');
      if (changed.length === 0 || plan.files.some(({ before, after }) => before !== after)) return [];
      for (const { name } of changed) {
        const reference = fetched.get(name);
        if (reference === undefined) return [];
        const before = facts.images.get(reference)?.id;
        if (before === undefined || (await facts.engine.image(reference, session.signal))?.id !== before) return [];
      }
      return [plan.component];
    }),
  );
  return same.flat();
}

/** What an outcome says of images that could not be checked; nothing where all were. */
function withUnchecked(outcome: FlowOutcome & { data: object }, unchecked: readonly UncheckedImage[]): FlowOutcome {
  if (unchecked.length === 0) return outcome;
  const sentences = unchecked.map(
    ({ component, image, reason }) => `Cannot tell whether ${component} is up to date: ${image} could not be checked (${reason}).`,
  );
  return {
    ...outcome,
    message: [outcome.message, ...new Set(sentences)].filter(Boolean).join(' '),
    data: { ...outcome.data, unchecked },
    exitCode: cannotTellExitCode,
  };
}

/** Enter takes the backup first; another key leaves it out. */
function reviewOfUpdate(ready: readonly ReadyPlan[], updated: number, saves: boolean): Review {
  const verb = updated === 1 ? 'update' : 'update all';
  const plain = `U${verb.slice(1)}`;
  const review = reviewTogether(ready, { title: titleOf(ready, updated), label: saves ? `Back up, then ${verb}` : plain });
  if (!saves) return review;
  const [apply, ...others] = review.actions;
  const blocked = apply?.blocked;
  const bare = { id: withoutBackup, label: `${plain} without a backup`, ...(blocked !== undefined && { blocked }) };
  return { ...review, actions: apply ? [apply, bare, ...others] : others };
}

function titleOf(ready: readonly ReadyPlan[], updated: number): string {
  const first = ready.find(({ plan }) => plan.kind !== 'rejoin');
  return first && updated === 1 ? `Update ${first.plan.component}` : `Update ${updated} components`;
}
