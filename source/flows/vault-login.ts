import { Fault } from '../faults/fault.ts';
import { type Login, logIn, type TokenFacts, VaultTokens } from '../products/vault-tokens.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { durationText } from '../text/quantities.ts';
import { vaultLoginAbout, vaultLogoutAbout, vaultTokenAbout } from './about-vault.ts';
import type { Flow, FlowInput, FlowWorld } from './flow.ts';
import { keptTokenName, type OpenVault, openVaultOf, tokenFor } from './vault-open.ts';

const methods = [
  { value: 'token', label: 'A token', detail: 'that somebody made for you' },
  { value: 'approle', label: 'AppRole', detail: 'role id and secret id, as programs do' },
  { value: 'userpass', label: 'User and password' },
] as const;
type Method = (typeof methods)[number]['value'];

export const vaultLogin: Flow = {
  ...vaultLoginAbout,
  async run(session, input, world) {
    const vault = await openVaultOf(session, input, world);
    const { component, place, target } = vault;
    const method = await methodOf(session, input);
    if (session.rehearsing) {
      session.show({ kind: 'text', text: `Would log in (${method}), look the token up and ask whether to keep it` });
      return { message: `Rehearsed: nobody was logged in to ${component.id}.` };
    }
    const token = method === 'token' ? await typedToken(session, target) : await byLogin(session, vault, method);
    session.hide(token);
    const facts = await new VaultTokens(place, token).self(session.signal);
    if (!facts) {
      throw new Fault({
        code: 'failed.login',
        message: `${component.id} does not take that token.`,
        remedy: 'Copy the whole of it again; it may have ended, or belong to another server.',
      });
    }
    showFacts(session, facts);
    const isKept = await keep(session, world, vault, token, facts);
    return {
      message: `Logged in to ${component.id} as ${facts.displayName || 'somebody without a name'}${isKept ? '; the token is kept' : '; the token was not kept'}.`,
      data: { ...dataOf(facts), kept: isKept },
    };
  },
};

async function methodOf(session: Session, { options }: FlowInput): Promise<Method> {
  const written = options['method'];
  const known = methods.find(({ value }) => value === written);
  if (known) return known.value;
  if (typeof written === 'string') {
    throw new Fault({
      code: 'usage.method',
      message: `There is no way to log in by "${cleanLine(written)}" here.`,
      remedy: `Use one of: ${methods.map(({ value }) => value).join(', ')}. For another, log in with the server's own command and give its token.`,
    });
  }
  const chosen = await session.ask.choice({ id: 'method', label: 'Log in with what?', choices: methods, initial: 'token' });
  return chosen as Method;
}

async function typedToken(session: Session, { component }: OpenVault['target']): Promise<string> {
  const typed = await session.ask.secret({
    id: 'token',
    label: `Token for ${component}`,
    help: 'It goes into a header of GET /v1/auth/token/lookup-self.',
    check: filled,
  });
  return typed.trim();
}

async function byLogin(session: Session, { place, target }: OpenVault, method: 'approle' | 'userpass'): Promise<string> {
  const mount = await session.ask.text({
    id: 'mount',
    label: 'Where it is mounted, below auth/',
    initial: method,
    check: (text) => (/^[\w./-]+$/.test(text.trim()) ? undefined : 'A name such as approle.'),
  });
  const at = mount.trim().replace(/^auth\/|^\/|\/$/g, '');
  const login: Login =
    method === 'approle'
      ? {
          method,
          mount: at,
          roleId: (await session.ask.text({ id: 'role-id', label: 'Role id', check: filled })).trim(),
          secretId: (await session.ask.secret({ id: 'secret-id', label: 'Secret id', check: filled })).trim(),
        }
      : {
          method,
          mount: at,
          user: (await session.ask.text({ id: 'user', label: 'User', check: filled })).trim(),
          password: await session.ask.secret({ id: 'password', label: 'Password', check: filled }),
        };
  const token = await session.act({
    id: 'login',
    right: 'operate',
    request: `POST /v1/auth/${at}/login${login.method === 'userpass' ? `/${login.user}` : ''}`,
    target,
    run: (grant) => logIn(grant, place, login),
  });
  if (token === undefined) throw new Error('an act that is not rehearsed has an outcome');
  return token;
}

async function keep(session: Session, world: FlowWorld, { target }: OpenVault, token: string, facts: TokenFacts): Promise<boolean> {
  const way = await session.ask.choice({
    id: 'keep',
    label: facts.isRoot ? 'Keep this root token here all the same?' : 'Keep the token, for what is done there next?',
    help: facts.isRoot
      ? 'It may do everything and never ends: who gets at what is kept here has all of it. Better an admin token, and the root token revoked.'
      : 'It rests where the other secrets do, and "vault logout" revokes and forgets it.',
    choices: [
      { value: 'no', label: 'No', detail: 'it is typed again when it is needed' },
      { value: 'yes', label: 'Keep it', detail: lifeOf(facts) },
    ],
    initial: facts.isRoot ? 'no' : 'yes',
  });
  if (way === 'no') return false;
  const secrets = await world.vault(session);
  const name = keptTokenName(target);
  await session.act({
    id: 'keep',
    right: 'operate',
    request: `keep the token as ${name} in ${secrets.where}`,
    target,
    done: async () => (await secrets.read(name, session.signal)) === token,
    run: (grant) => secrets.write(grant, name, token, 'given'),
  });
  return true;
}

export const vaultLogout: Flow = {
  ...vaultLogoutAbout,
  async run(session, input, world) {
    const vault = await openVaultOf(session, input, world);
    const { component, place, target } = vault;
    const name = keptTokenName(target);
    const secrets = await world.vault(session);
    const token = await secrets.read(name, session.signal);
    if (token === undefined) return { message: `No token is kept for ${component.id}.` };
    session.hide(token);
    const tokens = new VaultTokens(place, token);
    const facts = await tokens.self(session.signal);
    // The root token may be the last way in: that is for "vault revoke-root" to find out.
    if (facts && !facts.isRoot) {
      await session.act({
        id: 'revoke',
        right: 'operate',
        request: 'PUT /v1/auth/token/revoke-self',
        target,
        done: async () => (await tokens.self(session.signal)) === undefined,
        run: (grant) => tokens.revokeSelf(grant),
      });
    }
    await session.act({ id: 'forget', right: 'operate', request: `forget ${name}`, target, run: (grant) => secrets.remove(grant, name) });
    if (session.rehearsing) return { message: `Rehearsed: the token for ${component.id} is still kept.` };
    if (facts?.isRoot)
      return {
        message: `The root token of ${component.id} was forgotten here. It was not revoked: quarterdeck vault revoke-root ${component.id}`,
      };
    return { message: `Logged out of ${component.id}: the token ${facts ? 'was revoked and' : 'had ended, and was'} forgotten.` };
  },
};

export const vaultToken: Flow = {
  ...vaultTokenAbout,
  async run(session, input, world) {
    const { component, place, target } = await openVaultOf(session, input, world);
    const { token } = await tokenFor(session, world, target, { may: 'nothing but itself' });
    const facts = await new VaultTokens(place, token).self(session.signal);
    if (!facts) {
      throw new Fault({
        code: 'failed.login',
        message: `${component.id} does not take that token.`,
        remedy: `It ended, was revoked, or belongs to another server. Log in: quarterdeck vault login ${component.id}`,
      });
    }
    showFacts(session, facts);
    return { message: `The token of ${component.id} ${lifeOf(facts)}.`, data: dataOf(facts) };
  },
};

function showFacts(session: Session, facts: TokenFacts): void {
  session.show({
    kind: 'table',
    columns: ['TOKEN', ''],
    rows: [
      ['name', facts.displayName],
      ['policies', facts.policies.join(', ')],
      ['life', `${lifeOf(facts)}${facts.ttlSeconds > 0 ? (facts.renewable ? ', can be renewed' : ', cannot be renewed') : ''}`],
      ['made by', `${facts.path}${facts.orphan ? '' : ', and ends with what made it'}`],
      ['accessor', facts.accessor],
    ],
  });
}

function lifeOf({ ttlSeconds }: TokenFacts): string {
  return ttlSeconds === 0 ? 'never ends' : `ends in ${durationText(ttlSeconds * 1000)}`;
}

function dataOf({ displayName, policies, ttlSeconds, renewable, orphan, path, accessor, type }: TokenFacts): object {
  return { displayName, policies, ttlSeconds, renewable, orphan, path, accessor, type };
}

const filled = (text: string) => (text.trim() === '' ? 'Type it, or leave with Esc.' : undefined);
