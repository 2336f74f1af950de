import { Fault } from '../faults/fault.ts';
import { pauseFor } from '../faults/waits.ts';
import { httpPlaceOf, sendTo } from '../products/component-http.ts';
import type { Session } from '../session/session.ts';
import { isEmpty } from '../stack/plan.ts';
import { planJson, reviewOf } from '../stack/plan-text.ts';
import { parseJson } from '../text/json-value.ts';
import { closeSignupsAbout } from './about-identity.ts';
import { applyPlans } from './apply-plans.ts';
import type { Flow, FlowWorld } from './flow.ts';
import { seeLastThrough } from './last-change.ts';
import { unlessLeft } from './left-early.ts';
import { planComponent } from './plan-component.ts';
import { targetOf } from './secret-proof.ts';
import { componentOf } from './service-targets.ts';
import { standing } from './standing.ts';

const variable = 'SIGNUPS_ALLOWED';
const seenLimitMs = 30_000;
const againMs = 500;

export const closeSignups: Flow = {
  ...closeSignupsAbout,
  async run(session, input, world) {
    const { id } = componentOf(input);
    const one = await standing(session, world, input.place, id);
    // One that was just made anew does not answer yet.
    await seeLastThrough(session, world, one.facts);
    const open = await areOpen(session, world, input.place, id);
    const set = one.answers.values[variable] === 'false';
    if (!open) return { message: `Signups of ${id} are closed already.`, data: { closed: true } };
    if (set) throw savedElsewhere(id);
    if (session.attended && !session.rehearsing) await askFirst(session, id);
    const answers = { ...one.answers, values: { ...one.answers.values, [variable]: 'false' } };
    const ready = await planComponent(session, world, one.facts, answers, { kind: 'change' });
    const review = reviewOf(ready.plan, ready.findings);
    const choice = await session.review({ ...review, actions: review.actions.filter((action) => action.id !== 'edit'), id: 'signups' });
    if (session.rehearsing) {
      return {
        message: `Rehearsed: signups of ${id} are open.`,
        data: planJson(ready.plan, ready.findings, isEmpty(ready.plan), session.withoutSecrets),
      };
    }
    if (choice !== 'apply') throw new Fault({ code: 'interrupted.cancelled', ...stillOpen(id) });
    const { run } = await applyPlans(session, world, [ready]);
    session.progress({ id: 'signups', label: 'Asking the vault whether it turns new accounts away' });
    for (let waitedMs = 0; await areOpen(session, world, input.place, id); waitedMs += againMs) {
      if (waitedMs >= seenLimitMs) throw savedElsewhere(id);
      await pauseFor(againMs, session.signal);
    }
    session.progress({ id: 'signups', label: 'The vault turns new accounts away', done: true });
    return {
      message: `Signups of ${id} are closed: the vault itself says so. Invite people from its admin page.`,
      data: { closed: true, run },
    };
  },
};

function stillOpen(id: string): { message: string; remedy: string } {
  return {
    message: `Nothing was changed: signups of ${id} are still open.`,
    remedy: `Close them as soon as your account exists: quarterdeck close-signups ${id}`,
  };
}

async function askFirst(session: Session, id: string): Promise<void> {
  const way = await unlessLeft(
    () =>
      session.ask.choice({
        id: 'account',
        label: 'Does your account exist?',
        help: 'Afterwards nobody makes one by themselves; who has the admin token can still invite people.',
        choices: [
          { value: 'yes', label: 'Yes, close signups' },
          { value: 'no', label: 'Not yet' },
        ],
        initial: 'yes',
      }),
    stillOpen(id),
  );
  if (way === 'no')
    throw new Fault({
      code: 'interrupted.cancelled',
      message: stillOpen(id).message,
      remedy: `Make it first: quarterdeck first-admin ${id}`,
    });
}

/** Of the running vault: what stands in a file may not be what holds (R20). Throws `unreachable.component` and `failed.vault`. */
async function areOpen(session: Session, world: FlowWorld, place: string, id: string): Promise<boolean> {
  const entry = world.catalog.get(id);
  if (!entry) throw notOne(id);
  const target = await targetOf(world, place, entry, session.signal);
  const page = httpPlaceOf(target, entry.speaks?.port ?? 'web');
  const { status, body } = await sendTo(page, { method: 'GET', path: '/api/config' }, session.signal);
  let closed: unknown;
  try {
    closed = (parseJson(body.toString('utf8')) as { settings?: { disableUserRegistration?: unknown } }).settings?.disableUserRegistration;
  } catch {
    closed = undefined;
  }
  if (status !== 200 || typeof closed !== 'boolean') {
    throw new Fault({
      code: 'failed.vault',
      message: `${id} does not say whether signups are open (status ${status}).`,
      remedy: 'Look at its page: releases before 1.32 do not tell.',
    });
  }
  return !closed;
}

function savedElsewhere(id: string): Fault {
  return new Fault({
    code: 'failed.signups',
    message: `${variable} is "false", and ${id} still takes new accounts: a value was saved on its admin page, which wins over the setting.`,
    remedy: 'Open /admin, General settings, take the mark from "Allow new signups", and save.',
  });
}

function notOne(id: string): Fault {
  return new Fault({
    code: 'usage.component',
    message: `${id} is no password vault that is known here.`,
    remedy: 'Name one: quarterdeck catalog list',
  });
}
