import { Fault } from '../../faults/fault.ts';
import { argumentOrPrompt } from '../../flows/argument-or-prompt.ts';
import { askChoice } from '../../flows/ask-choice.ts';
import type { FlowContext, FlowInput, Procedure } from '../../flows/flow.ts';
import { optionOf, wordsUpTo } from '../../flows/flow-options.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import type { PortalBan } from './client/sso-portal.ts';
import { portalOf, type RunningPortal } from './sso-target.ts';
import { chooseUser } from './sso-user-change.ts';
import { openUsers } from './sso-users.ts';

const oneTimeCodes = 'the one-time codes';
const goneStep = 'gone';
const nameRule = 'Enter a user name that begins with a letter or digit and contains no spaces.';

export const ssoSecondFactor: Procedure = async (session, input, context) => {
  const running = await portalOf(session, input, context);
  const { id, portal } = running;
  const left = `Nothing was deleted: the second factors in ${id} were not changed.`;
  const { user, which } = await unlessCancelled(session, left, async () => {
    const named = await whose(session, input, context, running);
    return { user: named, which: await askWhich(session, input, named) };
  });
  const keys = which === 'codes' ? [] : await portal.securityKeys(user, session.signal);
  // Recorded by the interrupted run: the portal does not report who has codes.
  const before = session.noted(goneStep);
  const gone: string[] = [...before];
  if (which !== 'keys') {
    const had = await session.act({
      id: 'codes',
      right: 'destroy',
      title: `Delete the one-time codes of ${user}`,
      request: `authelia storage user totp delete ${user}`,
      consequences: [
        `${user} can register a new authenticator at the next login.`,
        'Until then, rules with two_factor may deny access. Verify that the user made this request.',
      ],
      done: async () => before.includes(oneTimeCodes),
      run: (grant) => portal.forgetOneTimeCodes(grant, user),
    });
    if (had) {
      gone.push(oneTimeCodes);
      await session.note(goneStep, oneTimeCodes);
    }
  }
  if (keys.length > 0) {
    const done = await session.act({
      id: 'keys',
      right: 'destroy',
      title: `Delete the security keys of ${user}`,
      request: `authelia storage user webauthn delete ${user} --all`,
      consequences: [`These security keys are deleted: ${keys.join(', ')}.`, `${user} can register a new security key at the next login.`],
      done: async () => (await portal.securityKeys(user, session.signal)).length === 0,
      run: (grant) => portal.forgetSecurityKeys(grant, user).then(() => true),
    });
    if (done) gone.push(keys.length === 1 ? 'the security key' : `${keys.length} security keys`);
  }
  if (session.dryRun) return { message: `Dry run: the second factors of ${user} were not changed.` };
  const data = { user, forgotten: gone };
  if (gone.length === 0) return { message: `${user} has no second factor of this kind.`, data };
  return { message: `Deleted for ${user}: ${gone.join(' and ')}. The user can register a new second factor at the next login.`, data };
};

/** Returns the chosen user. The portal's database has only names; the users themselves are in the users file or in a directory. */
async function whose(session: Session, input: FlowInput, context: FlowContext, { config }: RunningPortal): Promise<string> {
  if (config.usersFile !== undefined) return (await chooseUser(await openUsers(session, input, context), input)).name;
  const [word] = wordsUpTo(1, input, { takes: 'Specify one user at a time', remedy: 'Run the command once for each user.' });
  return argumentOrPrompt(session, {
    ...{ id: 'user', label: 'User', help: 'Name that the user logs in with.' },
    ...{ given: word, code: 'usage.user', remedy: 'Specify another user.' },
    check: (name) => (/^[\p{L}\p{N}][^\s]*$/u.test(name) && cleanLine(name) === name ? undefined : nameRule),
  });
}

function askWhich(session: Session, input: FlowInput, user: string): Promise<'codes' | 'keys' | 'both'> {
  const choices = { codes: 'One-time codes (authenticator app)', keys: 'Security keys and passkeys', both: 'Both' };
  const unknown = (text: string) =>
    new Fault('usage.which', `Unknown second factor "${cleanLine(text)}".`, 'Use --which codes, keys or both.');
  const question = { id: 'which', label: `Second factor of ${user} to delete`, choices, initial: 'codes' } as const;
  return askChoice(session, question, { given: optionOf(input, 'which'), unknown });
}

export const ssoUnban: Procedure = async (session, input, context) => {
  const { id, portal } = await portalOf(session, input, context);
  const bans = await portal.bans(session.signal);
  const banned = bans.map(({ kind, whom, expires }) => ({ kind, whom, expires }));
  if (bans.length === 0) return { message: `${id} has no bans.`, data: { banned } };
  const left = { message: 'No ban was lifted.', remedy: `To lift a ban later: quarterdeck sso unban ${id}` };
  const chosen = await unlessCancelled(session, left, () => choose(session, input, bans));
  if (chosen.length === 0) {
    const others = [...new Set(bans.map(({ whom }) => whom))].join(', ');
    const whom = cleanLine(input.words[0] ?? 'Selected');
    return { message: `${whom} is not banned by ${id}. Currently banned: ${others}.`, data: { banned } };
  }
  for (const ban of chosen) {
    await session.act({
      id: `lift ${ban.kind} ${ban.id}`,
      right: 'operate',
      request: `authelia storage bans ${ban.kind} revoke --id ${ban.id} (${ban.whom}, ${endText(ban)})`,
      done: async () => !(await portal.bans(session.signal)).some((one) => one.kind === ban.kind && one.id === ban.id),
      run: (grant) => portal.lift(grant, ban),
    });
  }
  if (session.dryRun) return { message: 'Dry run: no ban was lifted.' };
  const lifted = chosen.map(({ kind, whom }) => ({ kind, whom }));
  const names = [...new Set(lifted.map(({ whom }) => whom))].join(', ');
  return { message: `Lifted ${countText(chosen.length, 'ban')} on ${names} in ${id}.`, data: { lifted } };
};

const endText = ({ expires }: Pick<PortalBan, 'expires'>) => (expires === 'never' ? 'never expires' : `until ${expires}`);

/** Returns every ban of the chosen user or address: one can be banned more than once. */
async function choose(session: Session, input: FlowInput, bans: readonly PortalBan[]): Promise<readonly PortalBan[]> {
  const [word] = wordsUpTo(1, input, { takes: 'Specify one user or address at a time', remedy: 'Run the command once for each of them.' });
  const keyOf = ({ kind, whom }: PortalBan) => `${kind}:${whom}`;
  if (word !== undefined) return bans.filter(({ whom }) => whom === word);
  const kinds = new Map(bans.map((ban) => [keyOf(ban), ban]));
  const key = await session.ask.choice({
    id: 'whom',
    label: 'Ban to lift',
    choices: [...kinds].map(([value, { whom, kind, expires, reason }]) => ({
      value,
      label: whom,
      detail: [kind === 'ip' ? 'address' : 'user', endText({ expires }), reason].filter(Boolean).join(' · '),
    })),
  });
  return bans.filter((ban) => keyOf(ban) === key);
}
