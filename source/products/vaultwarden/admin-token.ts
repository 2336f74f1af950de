import { randomBytes } from 'node:crypto';
import { Fault } from '../../faults/fault.ts';
import { settleRotations } from '../../flows/backup/recover-halted.ts';
import { deployed } from '../../flows/components/deployed.ts';
import { componentOf } from '../../flows/components/service-targets.ts';
import { secretName } from '../../flows/deploy/stack-facts.ts';
import { dryRunOf } from '../../flows/dry-run.ts';
import { EngineScope } from '../../flows/engine-scope.ts';
import type { Procedure } from '../../flows/flow.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import { fieldOf } from '../../flows/secrets/secret-names.ts';
import { Rotation } from '../../flows/secrets/secrets-rotate.ts';
import { makeDigest } from '../../secrets/password-digest.ts';
import type { Session } from '../../session/session.ts';

const variable = 'ADMIN_TOKEN';
/** R19. */
const tokenBytes = 48;
/** The preset of `vaultwarden hash`. */
const cost = { memoryKiB: 65_540, passes: 3, parallelism: 4, keyBytes: 32, saltBytes: 32 };

export const adminToken: Procedure = async (session, input, context) => {
  const { id } = componentOf(input);
  const scope = new EngineScope(session, context, input.engineName);
  const { facts } = await deployed(scope, id);
  const field = fieldOf(facts.entry, variable);
  if (!field || !context.applySecrets)
    throw new Fault('usage.component', `${id} has no admin token that could be replaced here.`, 'Its secrets: quarterdeck secrets list');
  if (!session.attended && !session.dryRun) {
    throw new Fault(
      'refused.unattended',
      'A token that nobody sees is lost at once: replacing it needs somebody at a terminal.',
      `Run it in a terminal, or take one that is kept in the keychain: quarterdeck secrets rotate ${id} ${variable}`,
    );
  }
  const name = secretName(input.engineName, id, variable);
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
  const holder = { name, component: id, variable, entry: facts.entry, field };
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
