import { randomBytes } from 'node:crypto';
import { HttpClient, httpEndpointOf } from '../../calls/http-client.ts';
import { Fault } from '../../faults/fault.ts';
import { pauseFor } from '../../faults/waits.ts';
import { askChoice } from '../../flows/ask-choice.ts';
import { settleRotations } from '../../flows/backup/recover-halted.ts';
import { targetOf } from '../../flows/call-target.ts';
import { componentOf } from '../../flows/components/service-targets.ts';
import { applyPlans, seeLastThrough } from '../../flows/deploy/apply-plans.ts';
import { planComponent, planData } from '../../flows/deploy/plan-component.ts';
import { deployed } from '../../flows/deploy/stack-facts.ts';
import { dryRunOf } from '../../flows/dry-run.ts';
import { onEngine } from '../../flows/engine-scope.ts';
import type { FlowContext } from '../../flows/flow.ts';
import { cancelled, unlessCancelled } from '../../flows/prompt-cancelled.ts';
import { fieldOf, secretName } from '../../flows/secrets/secret-names.ts';
import { Rotation } from '../../flows/secrets/secrets-rotate.ts';
import { makeDigest } from '../../secrets/password-digest.ts';
import type { Session } from '../../session/session.ts';
import { reviewOf } from '../../stack/plan/plan-text.ts';
import { objectOf } from '../../text/json-value.ts';

const signupsVariable = 'SIGNUPS_ALLOWED';
const seenLimitMs = 30_000;
/** Servers limit the rate of registrations: 50 in a row. */
const againMs = 1_000;

export const closeSignups = onEngine(async (scope, input, session, context) => {
  const { id } = componentOf(input);
  const one = await deployed(scope, id);
  // A container that was just recreated does not respond yet.
  await seeLastThrough(one.facts);
  const read = () => readSignups(session, context, input.engineName, id);
  const found = await read();
  if (areClosed(found)) return { message: `Sign-ups for ${id} are already disabled.${noteOf(found)}`, data: { closed: true } };
  if (one.answers.values[signupsVariable] === 'false') throw notClosed(id, found);
  if (session.attended && !session.dryRun) await askFirst(session, id);
  const answers = { ...one.answers, values: { ...one.answers.values, [signupsVariable]: 'false' } };
  const ready = await planComponent(one.facts, answers, { kind: 'change' });
  const review = reviewOf(ready.plan, ready.findings);
  const choice = await session.review({ ...review, actions: review.actions.filter((action) => action.id !== 'edit'), id: 'signups' });
  if (session.dryRun) return { message: `Dry run: sign-ups for ${id} were not disabled.`, data: planData(ready) };
  if (choice !== 'apply') throw cancelled(stillOpen(id));
  const { run } = await applyPlans([ready]);
  session.progress({ id: 'signups', label: 'Checking that Vaultwarden rejects new accounts' });
  let now = await read();
  for (let waitedMs = 0; !areClosed(now); waitedMs += againMs) {
    if (waitedMs >= seenLimitMs) throw notClosed(id, now);
    await pauseFor(againMs, session.signal);
    now = await read();
  }
  session.progress({ id: 'signups', label: 'Vaultwarden rejects new accounts', done: true });
  return {
    message: `Disabled sign-ups for ${id}, which now rejects new accounts. Invite users from its admin page.${noteOf(now)}`,
    data: { closed: true, run },
  };
});

const stillOpen = (id: string) => ({
  message: `Nothing was changed: sign-ups for ${id} are still enabled.`,
  remedy: `Disable sign-ups as soon as your account exists: quarterdeck close-signups ${id}`,
});

async function askFirst(session: Session, id: string): Promise<void> {
  const help = 'After that, only invited users, and addresses in SIGNUPS_DOMAINS_WHITELIST if set, can sign up.';
  const choices = { yes: 'Yes, disable sign-ups', no: 'Not yet' };
  const question = { id: 'account', label: 'Confirm that your account exists', help, choices, initial: 'yes' } as const;
  const answer = await unlessCancelled(session, stillOpen(id), () => askChoice(session, question));
  if (answer === 'no') throw new Fault('interrupted.cancelled', stillOpen(id).message, `Create an account: quarterdeck first-admin ${id}`);
}

/** `invited`: an address that was not invited is refused, although the server reports sign-ups as enabled. */
type Signups = 'closed' | 'invited' | 'open' | 'unknown';

const areClosed = (signups: Signups) => signups === 'closed' || signups === 'invited';

const noteOf = (signups: Signups) =>
  signups === 'invited'
    ? ' Its sign-up link stays visible: invited users, and addresses in SIGNUPS_DOMAINS_WHITELIST if set, can sign up.'
    : '';

const registration = '/identity/accounts/register/send-verification-email';
/** The message of the server, the same from 1.34.0 to 1.37.2. */
const registrationRefused = 'Registration not allowed or user already exists';

/**
 * Queries the running vault: the setting in a file may not be in effect (R20). Since 1.34.3, a server without mail also reports sign-ups as
 * enabled if only invited users can sign up. The first step of a registration, which older servers do not have, shows the difference. It
 * creates no account, and sends no mail to a text that is no address. Throws `unreachable.component` and `failed.vault`.
 */
async function readSignups(session: Session, context: FlowContext, engineName: string, id: string): Promise<Signups> {
  const entry = context.catalog.get(id);
  if (!entry) throw new Fault('usage.component', `${id} is not a known password vault.`, 'List components: quarterdeck catalog list');
  const target = await targetOf(context, engineName, entry, session.signal);
  const http = new HttpClient(httpEndpointOf(target, entry.api?.port ?? 'web'), { secrets: undefined });
  const { status, json } = await http.send({ method: 'GET', path: '/api/config' }, session.signal);
  const closed = objectOf(objectOf(json)?.['settings'])?.['disableUserRegistration'];
  if (status !== 200 || typeof closed !== 'boolean') {
    const message = `${id} does not report whether sign-ups are enabled (status ${status}).`;
    throw new Fault('failed.vault', message, 'Check in the web UI. Vaultwarden before 1.32.1 does not report this setting.');
  }
  if (closed) return 'closed';
  const tried = await http.send({ method: 'POST', path: registration, json: { email: 'quarterdeck' } }, session.signal);
  if (tried.status === 200 || tried.status === 204 || tried.status === 404) return 'open';
  return tried.status === 400 && objectOf(tried.json)?.['message'] === registrationRefused ? 'invited' : 'unknown';
}

function notClosed(id: string, signups: Signups): Fault {
  const message =
    signups === 'unknown'
      ? `${signupsVariable} is "false", but it is unknown whether ${id} rejects new accounts: it reports that sign-ups are enabled, as Vaultwarden 1.34.3 and later also do if only invited users can sign up.`
      : `${signupsVariable} is "false", but ${id} still reports that sign-ups are enabled.`;
  const remedy =
    'Open /admin, clear "Allow new signups" under General settings, and save: a value saved there overrides the setting. SIGNUPS_DOMAINS_WHITELIST, if set, also allows sign-ups.';
  return new Fault('failed.signups', message, remedy);
}

const tokenVariable = 'ADMIN_TOKEN';
/** R19. */
const tokenBytes = 48;
/** The preset of `vaultwarden hash`. */
const cost = { memoryKiB: 65_540, passes: 3, parallelism: 4, keyBytes: 32, saltBytes: 32 };

export const adminToken = onEngine(async (scope, input, session, context) => {
  const { id } = componentOf(input);
  const { facts } = await deployed(scope, id);
  const field = fieldOf(facts.entry, tokenVariable);
  if (!field || !context.applySecrets)
    throw new Fault('usage.component', `${id} has no admin token that can be replaced here.`, 'List secrets: quarterdeck secrets list');
  if (!session.attended && !session.dryRun) {
    const remedy = `Run the command in a terminal, or let Quarterdeck store a new token: quarterdeck secrets rotate ${id} ${tokenVariable}`;
    throw new Fault('refused.unattended', 'A terminal is required, because the new token is shown only once.', remedy);
  }
  const name = secretName(input.engineName, id, tokenVariable);
  const vault = await context.vault(session);
  await settleRotations(scope);
  const before = await vault.read(name, session.signal);
  if (before !== undefined) session.hide(before);
  if (session.dryRun) {
    const would = `create a ${tokenBytes}-byte token, show it once, store its argon2id hash as a new version of ${name}, and recreate the container.`;
    return dryRunOf(session, would, `${id} keeps its current admin token.`);
  }
  const old = await unlessCancelled(session, `Nothing was changed: ${id} keeps its current admin token.`, () => oldToken(session, before));
  const token = randomBytes(tokenBytes).toString('base64');
  session.hide(token);
  const digest = await makeDigest(token, cost);
  session.hide(digest);
  await deliver(session, token, id);
  const holder = { name, component: id, variable: tokenVariable, entry: facts.entry, field };
  const rotation = new Rotation(scope, vault, [holder], before);
  const request = `store the argon2id hash of a new token as a new version of ${name}`;
  const versions = (await rotation.begin(digest, { id: 'keep', request })) ?? [];
  await rotation.putInForce(versions);
  const proof = await rotation.prove(token, versions, { old });
  return { message: `Replaced the admin token of ${id}; only its hash is stored. ${proof}`, data: { proof } };
});

/** Returns the previous token. If only its hash is stored, prompts for it, to check that it no longer works. */
async function oldToken(session: Session, before: string | undefined): Promise<string | undefined> {
  if (before === undefined || before === '') return undefined;
  if (!before.startsWith('$argon2')) return before;
  const typed = await session.ask.secret({
    id: 'old-token',
    label: 'Current admin token, to verify that it stops working',
    help: 'Quarterdeck stores only the hash of the token. Leave empty to skip this check.',
  });
  return typed === '' ? undefined : typed;
}

/** Shows the token before it takes effect: a cancelled run leaves the old one in use. */
async function deliver(session: Session, token: string, id: string): Promise<void> {
  const message = `Nothing was changed: ${id} keeps its current admin token, and the new one is not valid.`;
  await unlessCancelled(session, { message, remedy: 'Run the command again to create another token.' }, () =>
    session.ask.choice({
      id: 'kept',
      label: 'Save the new token in your password manager',
      help: 'The token is shown only once, because Quarterdeck stores only its hash.',
      reveals: { label: `New admin token of ${id}`, value: token },
      choices: [{ value: 'yes', label: 'The token is saved; apply it' }],
      initial: 'yes',
    }),
  );
}
