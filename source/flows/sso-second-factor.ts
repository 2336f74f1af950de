import { Fault } from '../faults/fault.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { ssoSecondFactorAbout } from './about-sso.ts';
import type { Flow, FlowInput, FlowWorld } from './flow.ts';
import { wordsUpTo } from './flow-options.ts';
import { unlessLeft } from './left-early.ts';
import { portalOf, type RunningPortal } from './sso-target.ts';
import { chooseUser } from './sso-user-change.ts';
import { openUsers } from './sso-users.ts';

const oneTimeCodes = 'the one-time codes';
/** Under which a run notes what it made the portal forget. */
const goneStep = 'gone';

type Which = 'codes' | 'keys' | 'both';

export const ssoSecondFactor: Flow = {
  ...ssoSecondFactorAbout,
  async run(session, input, world) {
    const running = await portalOf(session, input, world);
    const { id, portal, place } = running;
    const left = {
      message: `Nothing was forgotten: the second factors in ${id} are as before.`,
      remedy: 'Start it again whenever you like.',
    };
    const { user, which } = await unlessLeft(async () => {
      const named = await whose(session, input, world, running);
      return { user: named, which: await askWhich(session, input, named) };
    }, left);
    const keys = which === 'codes' ? [] : await portal.securityKeys(user, session.signal);
    const target = { host: place, component: id };
    // By the run that broke off: the portal does not tell who has codes.
    const before = session.noted(goneStep);
    const gone: string[] = [...before];
    if (which !== 'keys') {
      const had = await session.act({
        id: 'codes',
        right: 'destroy',
        title: `Forget the one-time codes of ${user}`,
        request: `authelia storage user totp delete ${user}`,
        target,
        consequences: [
          `${user} has to register a new authenticator at the next login.`,
          'Until then rules with two_factor let them through nowhere. Make sure that it is really them who asks.',
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
        title: `Forget the security keys of ${user}`,
        request: `authelia storage user webauthn delete ${user} --all`,
        target,
        consequences: [`Gone are: ${keys.join(', ')}.`, `${user} has to register a new one.`],
        done: async () => (await portal.securityKeys(user, session.signal)).length === 0,
        run: async (grant) => {
          await portal.forgetSecurityKeys(grant, user);
          return true;
        },
      });
      if (done) gone.push(keys.length === 1 ? 'the security key' : `${keys.length} security keys`);
    }
    if (session.rehearsing) return { message: `Rehearsed: ${user} has the same second factors as before.` };
    if (gone.length === 0) return { message: `${user} has no second factor of that kind now.`, data: { user, forgotten: gone } };
    return {
      message: `Forgotten of ${user}: ${gone.join(' and ')}. At the next login the portal asks for a new one.`,
      data: { user, forgotten: gone },
    };
  },
};

/** The portal's database knows names alone; who they are is in the users file, or in a directory. */
async function whose(session: Session, input: FlowInput, world: FlowWorld, { config }: RunningPortal): Promise<string> {
  if (config.usersFile !== undefined) {
    const { users } = await openUsers(session, input, world);
    return (await chooseUser(session, input, users.users, () => true)).name;
  }
  const [word] = wordsUpTo(1, input, { takes: 'One user at a time', remedy: 'Run it once for each.' });
  const name = word ?? (await session.ask.text({ id: 'user', label: 'Who?', help: 'The name to log in with.', check: problem }));
  const wrong = problem(name);
  if (wrong !== undefined) throw new Fault({ code: 'usage.user', message: wrong, remedy: 'Name another one.' });
  return name;
}

function problem(name: string): string | undefined {
  return /^[\p{L}\p{N}][^\s]*$/u.test(name) && cleanLine(name) === name ? undefined : 'That is no name of a user.';
}

async function askWhich(session: Session, input: FlowInput, user: string): Promise<Which> {
  const written = input.options['which'];
  if (written === undefined) {
    return (await session.ask.choice({
      id: 'which',
      label: `What has ${user} lost?`,
      choices: [
        { value: 'codes', label: 'The authenticator with the one-time codes' },
        { value: 'keys', label: 'Security keys and passkeys' },
        { value: 'both', label: 'Both' },
      ],
      initial: 'codes',
    })) as Which;
  }
  if (written === 'codes' || written === 'keys' || written === 'both') return written;
  throw new Fault({
    code: 'usage.which',
    message: `"${cleanLine(String(written))}" is no second factor.`,
    remedy: 'Say --which codes, keys or both.',
  });
}
