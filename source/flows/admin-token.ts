import { randomBytes } from 'node:crypto';
import { Fault } from '../faults/fault.ts';
import { makeDigest } from '../products/password-digest.ts';
import type { Session } from '../session/session.ts';
import { adminTokenAbout } from './about-identity.ts';
import type { Flow } from './flow.ts';
import { unlessLeft } from './left-early.ts';
import { settleRotations } from './recover-halted.ts';
import { fieldOf } from './secret-names.ts';
import { Rotation } from './secrets-rotate.ts';
import { componentOf } from './service-targets.ts';
import { secretName } from './stack-facts.ts';
import { standing } from './standing.ts';

const variable = 'ADMIN_TOKEN';
/** R19. */
const tokenBytes = 48;
/** Of `vaultwarden hash`, its own preset. */
const cost = { memoryKiB: 65_540, passes: 3, parallelism: 4, keyBytes: 32, saltBytes: 32 };

export const adminToken: Flow = {
  ...adminTokenAbout,
  async run(session, input, world) {
    const { id } = componentOf(input);
    const { facts } = await standing(session, world, input.place, id);
    const field = fieldOf(facts.entry, variable);
    if (!field || !world.applySecrets) throw notOne(id);
    if (!session.attended && !session.rehearsing) throw unattended(id);
    const name = secretName(input.place, id, variable);
    const vault = await world.vault(session);
    await settleRotations(session, world, input.place);
    const before = await vault.read(name, session.signal);
    if (before !== undefined) session.hide(before);
    if (session.rehearsing) {
      session.show({
        kind: 'text',
        text: `Would make a token of ${tokenBytes} bytes, show it once, keep its argon2id hash as a new version of ${name}, and make the container anew.`,
      });
      return { message: `Rehearsed: ${id} has the admin token of before.` };
    }
    const old = await unlessLeft(() => oldToken(session, before), {
      message: `Nothing was changed: ${id} has the admin token of before.`,
      remedy: 'Start it again whenever you like.',
    });
    const token = randomBytes(tokenBytes).toString('base64');
    session.hide(token);
    const digest = await makeDigest(token, cost);
    session.hide(digest);
    await handOut(session, token, id);
    const holder = { name, component: id, variable, entry: facts.entry, field };
    const rotation = new Rotation(session, world, vault, input.place, [holder], before);
    const request = `keep the argon2id hash of a new token as a new version of ${name}`;
    const versions = (await rotation.begin(digest, { id: 'keep', request })) ?? [];
    await rotation.putInForce(versions);
    const proof = await rotation.prove(token, versions, { old });
    return { message: `${id} has a new admin token, and was given its hash alone. ${proof}`, data: { proof } };
  },
};

/** What was kept may be a hash: then somebody has to know the token, for it to be seen dead. */
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

/** Before it is in force: whoever leaves here still has the old one. */
async function handOut(session: Session, token: string, id: string): Promise<void> {
  await unlessLeft(
    () =>
      session.ask.choice({
        id: 'kept',
        label: 'Is the new token in your password manager?',
        help: 'It is shown this once: here only its hash is kept.',
        reveals: { label: `New admin token of ${id}`, value: token },
        choices: [{ value: 'yes', label: 'It is; put it in force' }],
        initial: 'yes',
      }),
    {
      message: `Nothing was changed: ${id} has the admin token of before, and the new one opens nothing.`,
      remedy: 'Start it again: another one is made.',
    },
  );
}

function notOne(id: string): Fault {
  return new Fault({
    code: 'usage.component',
    message: `${id} has no admin token that could be replaced here.`,
    remedy: `Its secrets: quarterdeck secrets list`,
  });
}

function unattended(id: string): Fault {
  return new Fault({
    code: 'refused.unattended',
    message: 'A token that nobody sees is lost at once: replacing it needs somebody at a terminal.',
    remedy: `Run it in a terminal, or take one that is kept in the keychain: quarterdeck secrets rotate ${id} ${variable}`,
  });
}
