import { randomBytes } from 'node:crypto';
import { HttpClient, httpEndpointOf } from '../../calls/http-client.ts';
import { Fault } from '../../faults/fault.ts';
import { pauseFor } from '../../faults/waits.ts';
import { settleRotations } from '../../flows/backup/recover-halted.ts';
import { targetOf } from '../../flows/call-target.ts';
import { componentOf } from '../../flows/components/service-targets.ts';
import { applyPlans, seeLastThrough } from '../../flows/deploy/apply-plans.ts';
import { planComponent, planData } from '../../flows/deploy/plan-component.ts';
import { deployed, secretName } from '../../flows/deploy/stack-facts.ts';
import { dryRunOf } from '../../flows/dry-run.ts';
import { EngineScope } from '../../flows/engine-scope.ts';
import type { FlowContext, Procedure } from '../../flows/flow.ts';
import { cancelled, unlessCancelled } from '../../flows/prompt-cancelled.ts';
import { fieldOf } from '../../flows/secrets/secret-names.ts';
import { Rotation } from '../../flows/secrets/secrets-rotate.ts';
import { makeDigest } from '../../secrets/password-digest.ts';
import type { Session } from '../../session/session.ts';
import { reviewOf } from '../../stack/plan/plan-text.ts';
import { objectOf } from '../../text/json-value.ts';

const signupsVariable = 'SIGNUPS_ALLOWED';
const seenLimitMs = 30_000;
const againMs = 500;

export const closeSignups: Procedure = async (session, input, context) => {
  const { id } = componentOf(input);
  const one = await deployed(new EngineScope(session, context, input.engineName), id);
  // A container that was just recreated does not answer yet.
  await seeLastThrough(one.facts);
  const open = await areOpen(session, context, input.engineName, id);
  if (!open) return { message: `Signups of ${id} are closed already.`, data: { closed: true } };
  if (one.answers.values[signupsVariable] === 'false') throw savedElsewhere(id);
  if (session.attended && !session.dryRun) await askFirst(session, id);
  const answers = { ...one.answers, values: { ...one.answers.values, [signupsVariable]: 'false' } };
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
    `${signupsVariable} is "false", and ${id} still takes new accounts: a value was saved on its admin page, which wins over the setting.`,
    'Open /admin, General settings, take the mark from "Allow new signups", and save.',
  );
}

const tokenVariable = 'ADMIN_TOKEN';
/** R19. */
const tokenBytes = 48;
/** The preset of `vaultwarden hash`. */
const cost = { memoryKiB: 65_540, passes: 3, parallelism: 4, keyBytes: 32, saltBytes: 32 };

export const adminToken: Procedure = async (session, input, context) => {
  const { id } = componentOf(input);
  const scope = new EngineScope(session, context, input.engineName);
  const { facts } = await deployed(scope, id);
  const field = fieldOf(facts.entry, tokenVariable);
  if (!field || !context.applySecrets)
    throw new Fault('usage.component', `${id} has no admin token that could be replaced here.`, 'Its secrets: quarterdeck secrets list');
  if (!session.attended && !session.dryRun) {
    throw new Fault(
      'refused.unattended',
      'A token that nobody sees is lost at once: replacing it needs somebody at a terminal.',
      `Run it in a terminal, or take one that is kept in the keychain: quarterdeck secrets rotate ${id} ${tokenVariable}`,
    );
  }
  const name = secretName(input.engineName, id, tokenVariable);
  const vault = await context.vault(session);
  await settleRotations(scope);
  const before = await vault.read(name, session.signal);
  if (before !== undefined) session.hide(before);
  if (session.dryRun) {
    const would = `make a token of ${tokenBytes} bytes, show it once, keep its argon2id hash as a new version of ${name}, and make the container anew.`;
    return dryRunOf(session, would, `${id} has the admin token of before.`);
  }
  const old = await unlessCancelled(session, `Nothing was changed: ${id} has the admin token of before.`, () => oldToken(session, before));
  const token = randomBytes(tokenBytes).toString('base64');
  session.hide(token);
  const digest = await makeDigest(token, cost);
  session.hide(digest);
  await deliver(session, token, id);
  const holder = { name, component: id, variable: tokenVariable, entry: facts.entry, field };
  const rotation = new Rotation(scope, vault, [holder], before);
  const request = `keep the argon2id hash of a new token as a new version of ${name}`;
  const versions = (await rotation.begin(digest, { id: 'keep', request })) ?? [];
  await rotation.putInForce(versions);
  const proof = await rotation.prove(token, versions, { old });
  return { message: `${id} has a new admin token, and was given its hash alone. ${proof}`, data: { proof } };
};

/** Returns the previous token. If only its hash is stored, prompts for it, to check that it no longer works. */
async function oldToken(session: Session, before: string | undefined): Promise<string | undefined> {
  if (before === undefined || before === '') return undefined;
  if (!before.startsWith('$argon2')) return before;
  const typed = await session.ask.secret({
    id: 'old-token',
    label: 'The admin token of now, to see it dead afterwards',
    help: 'Its hash alone is kept. Empty to go on without seeing that.',
  });
  return typed === '' ? undefined : typed;
}

/** Shows the token before it takes effect: a cancelled run leaves the old one in use. */
async function deliver(session: Session, token: string, id: string): Promise<void> {
  const message = `Nothing was changed: ${id} has the admin token of before, and the new one opens nothing.`;
  await unlessCancelled(session, { message, remedy: 'Start it again: another one is made.' }, () =>
    session.ask.choice({
      id: 'kept',
      label: 'Is the new token in your password manager?',
      help: 'It is shown this once: here only its hash is kept.',
      reveals: { label: `New admin token of ${id}`, value: token },
      choices: [{ value: 'yes', label: 'It is; put it in force' }],
      initial: 'yes',
    }),
  );
}
