import { HttpClient, httpEndpointOf } from '../../calls/http-client.ts';
import { Fault } from '../../faults/fault.ts';
import { pauseFor } from '../../faults/waits.ts';
import { targetOf } from '../../flows/call-target.ts';
import { deployed } from '../../flows/components/deployed.ts';
import { componentOf } from '../../flows/components/service-targets.ts';
import { applyPlans } from '../../flows/deploy/apply-plans.ts';
import { seeLastThrough } from '../../flows/deploy/last-change.ts';
import { planComponent, planData } from '../../flows/deploy/plan-component.ts';
import { EngineScope } from '../../flows/engine-scope.ts';
import type { FlowContext, Procedure } from '../../flows/flow.ts';
import { cancelled, unlessCancelled } from '../../flows/prompt-cancelled.ts';
import type { Session } from '../../session/session.ts';
import { reviewOf } from '../../stack/plan/plan-text.ts';
import { objectOf } from '../../text/json-value.ts';

const variable = 'SIGNUPS_ALLOWED';
const seenLimitMs = 30_000;
const againMs = 500;

export const closeSignups: Procedure = async (session, input, context) => {
  const { id } = componentOf(input);
  const one = await deployed(new EngineScope(session, context, input.engineName), id);
  // A container that was just recreated does not answer yet.
  await seeLastThrough(one.facts);
  const open = await areOpen(session, context, input.engineName, id);
  if (!open) return { message: `Signups of ${id} are closed already.`, data: { closed: true } };
  if (one.answers.values[variable] === 'false') throw savedElsewhere(id);
  if (session.attended && !session.dryRun) await askFirst(session, id);
  const answers = { ...one.answers, values: { ...one.answers.values, [variable]: 'false' } };
  const ready = await planComponent(one.facts, answers, { kind: 'change' });
  const review = reviewOf(ready.plan, ready.findings);
  const choice = await session.review({ ...review, actions: review.actions.filter((action) => action.id !== 'edit'), id: 'signups' });
  if (session.dryRun) return { message: `Dry run: signups of ${id} are open.`, data: planData(ready) };
  if (choice !== 'apply') throw cancelled(stillOpen(id));
  const { run } = await applyPlans([ready]);
  session.progress({ id: 'signups', label: 'Asking the vault whether it turns new accounts away' });
  for (let waitedMs = 0; await areOpen(session, context, input.engineName, id); waitedMs += againMs) {
    if (waitedMs >= seenLimitMs) throw savedElsewhere(id);
    await pauseFor(againMs, session.signal);
  }
  session.progress({ id: 'signups', label: 'The vault turns new accounts away', done: true });
  return {
    message: `Signups of ${id} are closed: the vault itself says so. Invite people from its admin page.`,
    data: { closed: true, run },
  };
};

function stillOpen(id: string): { message: string; remedy: string } {
  return {
    message: `Nothing was changed: signups of ${id} are still open.`,
    remedy: `Close them as soon as your account exists: quarterdeck close-signups ${id}`,
  };
}

async function askFirst(session: Session, id: string): Promise<void> {
  const answer = await unlessCancelled(session, stillOpen(id), () =>
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
  );
  if (answer === 'no') throw new Fault('interrupted.cancelled', stillOpen(id).message, `Make it first: quarterdeck first-admin ${id}`);
}

/** Asks the running vault: the setting in a file may not be in effect (R20). Throws `unreachable.component` and `failed.vault`. */
async function areOpen(session: Session, context: FlowContext, engineName: string, id: string): Promise<boolean> {
  const entry = context.catalog.get(id);
  if (!entry) throw new Fault('usage.component', `${id} is no password vault that is known here.`, 'Name one: quarterdeck catalog list');
  const target = await targetOf(context, engineName, entry, session.signal);
  const http = new HttpClient(httpEndpointOf(target, entry.api?.port ?? 'web'), { secrets: undefined });
  const { status, json } = await http.send({ method: 'GET', path: '/api/config' }, session.signal);
  const closed = objectOf(objectOf(json)?.['settings'])?.['disableUserRegistration'];
  if (status !== 200 || typeof closed !== 'boolean') {
    const message = `${id} does not say whether signups are open (status ${status}).`;
    throw new Fault('failed.vault', message, 'Look at its page: releases before 1.32 do not tell.');
  }
  return !closed;
}

function savedElsewhere(id: string): Fault {
  return new Fault(
    'failed.signups',
    `${variable} is "false", and ${id} still takes new accounts: a value was saved on its admin page, which wins over the setting.`,
    'Open /admin, General settings, take the mark from "Allow new signups", and save.',
  );
}
