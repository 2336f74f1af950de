import pLimit, { type LimitFunction } from 'p-limit';
import { interpolate } from '../catalog/interpolation.ts';
import { Fault } from '../faults/fault.ts';
import type { Review, Session } from '../session/session.ts';
import { isEmpty } from '../stack/plan.ts';
import { planJson } from '../stack/plan-text.ts';
import { listDeployments } from '../stack/read-deployment.ts';
import { updateAbout } from './about-stack.ts';
import { applyPlans } from './apply-plans.ts';
import { backUpFirst, backupPlace, offerSnapshots, tellBackup, wantsBackup, withoutBackup, worthSaving } from './backup-first.ts';
import type { Flow, FlowInput, FlowWorld } from './flow.ts';
import { rejoinedSentence, withJoined } from './joined-services.ts';
import { planComponent, type ReadyPlan } from './plan-component.ts';
import { reviewTogether } from './review-together.ts';
import { lookAtHost, type StackFacts } from './stack-facts.ts';
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
    const all = await planUpdates(session, world, input, ids);
    const newer = all.filter(({ plan }) => !isEmpty(plan));
    const ready = await withJoined(session, world, newer);
    const current = all.flatMap(({ plan }) => (isEmpty(plan) ? [plan.component] : []));
    session.progress({ id: 'look', label: 'Asked for newer images', fraction: 1, done: true });
    const upToDate = current.length > 0 ? `${current.join(', ')}: up to date.` : '';
    if (ready.length === 0) return { message: upToDate, data: { updated: [], current } };
    const saves = worthSaving(world, newer).length > 0 && backupPlace(input, world) !== undefined && wantsBackup(input);
    const choice = await session.review(reviewOfUpdate(ready, newer.length, saves));
    if (session.rehearsing)
      return {
        message: 'Rehearsed: nothing was changed.',
        data: { plans: ready.map(({ plan, findings }) => planJson(plan, findings, false, session.withoutSecrets)) },
      };
    if (choice !== 'apply' && choice !== withoutBackup) {
      throw new Fault({ code: 'interrupted.cancelled', message: 'Nothing was updated.', remedy: 'Start it again whenever you like.' });
    }
    const backups = saves && choice === 'apply' ? await backUpFirst(session, input, world, newer) : {};
    let run: string;
    try {
      run = (await applyPlans(session, world, ready, { backups })).run;
    } catch (thrown) {
      const message = await offerSnapshots(session, input, world, newer, backups, thrown);
      return { message, data: { updated: [], current, backups } };
    }
    const steps = newer.flatMap(({ facts }) => (facts.entry.upgrade?.steps ?? []).map((step) => [facts.entry.id, step]));
    if (steps.length > 0)
      session.show({ kind: 'table', title: 'What an update wants done besides', columns: ['COMPONENT', 'STEP'], rows: steps });
    const updated = newer.map(({ facts }) => facts.entry.id);
    return {
      message: [`${updated.join(', ')} was updated.`, rejoinedSentence(ready).trim(), upToDate].filter(Boolean).join(' '),
      data: { run, updated, current, backups },
    };
  },
};

async function deployedIds(session: Session, world: FlowWorld, place: string): Promise<string[]> {
  const { signal } = session;
  const { deployments } = await listDeployments(world.hostOf(place), await world.stackFolderOf(place, signal), signal);
  return deployments.filter(({ component, record }) => record && world.catalog.get(component)).map(({ component }) => component);
}

/** Host and engine are asked once for all of them. */
async function planUpdates(session: Session, world: FlowWorld, input: FlowInput, ids: readonly string[]): Promise<ReadyPlan[]> {
  const { place } = input;
  const look = await lookAtHost(session, world, place);
  const registry = pLimit(askedAtOnce);
  const planning = pLimit(plannedAtOnce);
  let done = 0;
  return Promise.all(
    ids.map(async (id) => {
      const { facts, answers } = await standing(session, world, place, id, look);
      const newer = await newerServices(session, facts, registry);
      const ready = await planning(() => planComponent(session, world, facts, answers, { kind: 'update', newer }, look.asked));
      session.progress({ id: 'look', label: 'Asking for newer images', fraction: ++done / ids.length });
      return tellBackup(withNotes(ready), input, world);
    }),
  );
}

function withNotes(ready: ReadyPlan): ReadyPlan {
  const { facts } = ready;
  const { notes = [], steps = [] } = facts.entry.upgrade ?? {};
  const more = [...notes, ...steps.map((step) => `Step: ${step}`)];
  return { ...ready, plan: { ...ready.plan, notes: [...ready.plan.notes, ...more] } };
}

/** Services whose tag means another image in the registry than here. Where a registry cannot be asked, the image is fetched to find out. */
async function newerServices(
  session: Session,
  { entry, engine, images, deployment }: StackFacts,
  limit: LimitFunction,
): Promise<Set<string>> {
  const newer = new Set<string>();
  await Promise.all(
    entry.services.map((service) =>
      limit(async () => {
        const reference = interpolate(service.image, deployment?.env);
        const here = images.get(reference);
        // One that was built here, or fixed to a digest, has nothing to compare with.
        if (here && here.digests.length === 0) return;
        const signal = AbortSignal.any([session.signal, AbortSignal.timeout(askLimitMs)]);
        const there = await engine.registryDigest(reference, signal).catch((thrown: unknown) => {
          if (session.signal.aborted) throw thrown;
          return undefined;
        });
        if (there === undefined || !here?.digests.some((digest) => digest.endsWith(`@${there}`))) newer.add(service.name);
      }),
    ),
  );
  return newer;
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
