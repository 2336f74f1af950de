import { Fault } from '../../faults/fault.ts';
import { askChoice } from '../../flows/ask-choice.ts';
import { dryRunOf } from '../../flows/dry-run.ts';
import type { FlowInput } from '../../flows/flow.ts';
import { optionOf } from '../../flows/flow-options.ts';
import { showList } from '../../flows/list-table.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { durationText } from '../../text/quantities.ts';
import { logIn, type TokenFacts, VaultAccess } from './client/vault-access.ts';
import { type FlowVault, forgetToken, keptTokenName, onOpenVault, readKeptToken, tokenFor } from './vault-open.ts';

const methods = {
  token: ['A token', 'an existing token'],
  approle: ['AppRole', 'role ID and secret ID, as used by programs'],
  userpass: 'User name and password',
} as const;

export const vaultLogin = onOpenVault(async (vault, input) => {
  const { session, component } = vault;
  const method = await methodOf(session, input);
  if (session.dryRun) {
    const would = `log in (${method}), look up the token, and offer to store it`;
    return dryRunOf(session, would, `not logged in to ${component.id}.`);
  }
  const token = method === 'token' ? await typedToken(vault) : await byLogin(vault, method);
  session.hide(token);
  const facts = await factsOf(vault, token, 'It may have expired, belong to another server, or lack the default policy. Use another.');
  const isKept = await keep(vault, token, facts);
  return {
    message: `Logged in to ${component.id}${facts.displayName && ` as ${facts.displayName}`}${isKept ? '; the token is stored' : '; the token was not stored'}.`,
    data: { ...dataOf(facts), kept: isKept },
  };
});

function methodOf(session: Session, input: FlowInput): Promise<keyof typeof methods> {
  const remedy = `Use one of: ${Object.keys(methods).join(', ')}. For other methods, log in with the server's own command and enter its token.`;
  const unknown = (given: string) => new Fault('usage.method', `Unsupported login method "${cleanLine(given)}".`, remedy);
  const question = { id: 'method', label: 'Login method', choices: methods, initial: 'token' } as const;
  return askChoice(session, question, { given: optionOf(input, 'method'), unknown });
}

async function typedToken({ session, component }: FlowVault): Promise<string> {
  const help = 'Tested with GET /v1/auth/token/lookup-self.';
  return (await session.ask.secret({ id: 'token', label: `Token for ${component.id}`, help, check: filled })).trim();
}

async function byLogin({ session, endpoint }: FlowVault, method: 'approle' | 'userpass'): Promise<string> {
  const mount = await session.ask.text({
    id: 'mount',
    label: 'Mount path below auth/',
    initial: method,
    check: (text) => (/^[\w./-]+$/.test(text.trim()) ? undefined : 'Enter a path such as approle.'),
  });
  const at = mount.trim().replace(/^auth\/|^\/|\/$/g, '');
  const text = async (id: string, label: string) => (await session.ask.text({ id, label, check: filled })).trim();
  const secret = (id: string, label: string) => session.ask.secret({ id, label, check: filled });
  const user = method === 'userpass' ? await text('user', 'User') : undefined;
  const body =
    user === undefined
      ? { role_id: await text('role-id', 'Role ID'), secret_id: (await secret('secret-id', 'Secret ID')).trim() }
      : { password: await secret('password', 'Password') };
  const token = await session.act({
    id: 'login',
    right: 'operate',
    request: `POST /v1/auth/${at}/login${user === undefined ? '' : `/${user}`}`,
    run: (grant) => logIn(grant, endpoint, { mount: at, user, body }),
  });
  if (token === undefined) throw new Error('unexpected dry run');
  return token;
}

async function keep({ session, context, component }: FlowVault, token: string, facts: TokenFacts): Promise<boolean> {
  const chosen = await askChoice(session, {
    id: 'keep',
    label: facts.isRoot ? 'Store this root token' : 'Store the token for later commands',
    help: facts.isRoot
      ? 'A root token has all permissions: anyone with access to the secret store has full access. Prefer an admin token, and revoke the root token.'
      : `The token is saved to the secret store; quarterdeck vault logout ${component.id} revokes and deletes it.`,
    choices: { no: ['No', 'you enter the token again when needed'], yes: ['Store', lifeOf(facts)] },
    initial: facts.isRoot ? 'no' : 'yes',
  });
  if (chosen === 'no') return false;
  const secrets = await context.vault(session);
  const name = keptTokenName(component);
  await session.act({
    id: 'keep',
    right: 'operate',
    request: `store the token as ${name} in ${secrets.where}`,
    done: async () => (await secrets.read(name, session.signal)) === token,
    run: (grant) => secrets.write(grant, name, token, 'given'),
  });
  return true;
}

export const vaultLogout = onOpenVault(async (vault) => {
  const { session, component, endpoint } = vault;
  const token = await readKeptToken(vault);
  if (token === undefined) return { message: `No token is stored for ${component.id}.` };
  const tokens = new VaultAccess(endpoint, token);
  const facts = await tokens.self(session.signal);
  // The root token may be the last one with full access; "vault revoke-root" checks that.
  if (facts && !facts.isRoot) {
    await session.act({
      id: 'revoke',
      right: 'operate',
      request: 'PUT /v1/auth/token/revoke-self',
      done: async () => (await tokens.self(session.signal)) === undefined,
      run: (grant) => tokens.revokeSelf(grant),
    });
  }
  await forgetToken(vault);
  if (session.dryRun) return { message: `Dry run: the token for ${component.id} is still stored.` };
  const message = facts?.isRoot
    ? `The stored root token of ${component.id} was deleted, but not revoked. To revoke it: quarterdeck vault revoke-root ${component.id}`
    : `Logged out of ${component.id}: the token ${facts ? 'was revoked and' : 'is rejected by the server, and was'} deleted.`;
  return { message };
});

export const vaultToken = onOpenVault(async (vault) => {
  const { component } = vault;
  const { token } = await tokenFor(vault, { may: 'read on auth/token/lookup-self, as in the default policy' });
  const remedy = `The token has expired, was revoked, belongs to another server, or lacks the default policy. Log in: quarterdeck vault login ${component.id}`;
  const facts = await factsOf(vault, token, remedy);
  return { message: `The token for ${component.id} ${lifeOf(facts)}.`, data: dataOf(facts) };
});

/** Looks a token up and shows its properties. Throws `failed.login` if the server does not accept it. */
async function factsOf({ session, component, endpoint }: FlowVault, token: string, remedy: string): Promise<TokenFacts> {
  const facts = await new VaultAccess(endpoint, token).self(session.signal);
  if (!facts) throw new Fault('failed.login', `${component.id} rejects the token.`, remedy);
  const renewal = facts.renewable ? ', can be renewed' : ', cannot be renewed';
  const rows = {
    name: facts.displayName,
    policies: facts.policies.join(', '),
    validity: `${lifeOf(facts)}${facts.ttlSeconds > 0 ? renewal : ''}`,
    'created by': `${facts.path}${facts.orphan ? '' : ', and is revoked together with its parent token'}`,
    accessor: facts.accessor,
  };
  showList(session, Object.entries(rows), { TOKEN: ([name]) => name, '': ([, value]) => value });
  return facts;
}

const lifeOf = ({ ttlSeconds }: TokenFacts) => (ttlSeconds === 0 ? 'never expires' : `expires in ${durationText(ttlSeconds * 1000)}`);
const dataOf = ({ isRoot: _, ...facts }: TokenFacts) => facts;

const filled = (text: string) => (text.trim() === '' ? 'Enter a value, or cancel.' : undefined);
