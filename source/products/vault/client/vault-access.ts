import type { HttpEndpoint } from '../../../calls/http-exchange.ts';
import type { Grant } from '../../../grants/grant.ts';
import { cleanLine, cleanLines } from '../../../text/clean.ts';
import { type JsonObject, objectOf, textOf } from '../../../text/json-value.ts';
import { dataOf, encodePath, numberIn, strangeAnswer, textsIn, VaultApi, vaultFault, vaultRefusal } from './vault-api.ts';

export type TokenFacts = ReturnType<typeof tokenFactsOf>;

export type Role = { policies: readonly string[]; ttlSeconds: number };

/** Tokens (reference/openbao-vault.md, "Tokens, KV"), policies, and roles of programs (AppRole). Throws the faults of `VaultApi`, `failed.vault`. */
export class VaultAccess extends VaultApi {
  policies = async (signal: AbortSignal) =>
    textsIn(await this.call('GET', 'sys/policies/acl?list=true', 'list the policies', signal), 'keys');
  revokeSelf = (grant: Grant) => this.call('PUT', 'auth/token/revoke-self', 'revoke the token', grant.signal);
  revokeBehind = (grant: Grant, accessor: string) =>
    this.call('POST', 'auth/token/revoke-accessor', 'revoke a token', grant.signal, { accessor });
  removePolicy = (grant: Grant, name: string) =>
    this.call('DELETE', policyPath(name), `remove the policy ${cleanLine(name)}`, grant.signal);
  mountRoles = (grant: Grant, mount: string) =>
    this.call('POST', `sys/auth/${encodePath(mount)}`, 'enable AppRole', grant.signal, { type: 'approle' });

  /** Returns undefined if the server does not accept the token. */
  async self(signal: AbortSignal): Promise<TokenFacts | undefined> {
    const data = await this.find('auth/token/lookup-self', 'look up the token', signal, { missing: [403] });
    return data && tokenFactsOf(data);
  }

  async behind(accessor: string, signal: AbortSignal): Promise<TokenFacts | undefined> {
    const request = { body: { accessor }, missing: [400, 403, 404] };
    const data = await this.find('auth/token/lookup-accessor', 'look up a token', signal, request);
    return data && tokenFactsOf(data);
  }

  async capabilities(path: string, signal: AbortSignal): Promise<readonly string[]> {
    return textsIn(await this.call('POST', 'sys/capabilities-self', 'read the permissions of the token', signal, { paths: [path] }), path);
  }

  async accessors(signal: AbortSignal): Promise<readonly string[]> {
    return textsIn((await this.find('auth/token/accessors?list=true', 'list the tokens', signal)) ?? {}, 'keys');
  }

  /** Creates a token that outlives this one. It stays valid while it is renewed once in `periodSeconds`. */
  async makeOrphan(grant: Grant, { policy, name, periodSeconds }: { policy: string; name: string; periodSeconds: number }) {
    const body = { policies: [policy], display_name: name, period: `${periodSeconds}s`, renewable: true };
    return loginOf(await this.call('POST', 'auth/token/create-orphan', 'create a token', grant.signal, body));
  }

  async policy(name: string, signal: AbortSignal): Promise<string | undefined> {
    const data = await this.find(policyPath(name), `show the policy ${cleanLine(name)}`, signal);
    return data && cleanLines(textOf(data['policy'])).join('\n');
  }

  /** Throws `failed.policy` with the server's message if the policy is invalid. */
  async writePolicy(grant: Grant, name: string, policy: string): Promise<void> {
    const answer = await this.send('PUT', policyPath(name), { policy }, grant.signal);
    if (answer.status === 204 || answer.status === 200) return;
    if (answer.status === 400)
      throw vaultFault(`The policy was rejected: ${answer.words}.`, 'Nothing was changed. Fix the policy and retry.', 'failed.policy');
    throw vaultRefusal(answer, `write the policy ${cleanLine(name)}`);
  }

  /** Returns the path where AppRole is mounted, `approle`; undefined if it is not mounted. */
  async roleMount(signal: AbortSignal): Promise<string | undefined> {
    const methods = await this.call('GET', 'sys/auth', 'list the login methods', signal);
    const found = Object.entries(methods).find(([, method]) => objectOf(method)?.['type'] === 'approle');
    return found?.[0].replace(/\/$/, '');
  }

  async role(mount: string, name: string, signal: AbortSignal): Promise<Role | undefined> {
    const data = await this.find(rolePath(mount, name), `show the role ${cleanLine(name)}`, signal);
    return data && { policies: textsIn(data, 'token_policies').map(cleanLine), ttlSeconds: numberIn(data, 'token_ttl') };
  }

  async writeRole(grant: Grant, mount: string, name: string, { policies, ttlSeconds }: Role): Promise<void> {
    const body = { token_policies: policies, token_ttl: `${ttlSeconds}s` };
    await this.call('POST', rolePath(mount, name), `write the role ${cleanLine(name)}`, grant.signal, body);
  }

  async roleId(mount: string, name: string, signal: AbortSignal): Promise<string> {
    const data = await this.call('GET', `${rolePath(mount, name)}/role-id`, `read the ID of the role ${cleanLine(name)}`, signal);
    return cleanLine(textOf(data['role_id']));
  }

  async makeSecretId(grant: Grant, mount: string, name: string): Promise<{ secretId: string; accessor: string }> {
    const answer = await this.send('POST', `${rolePath(mount, name)}/secret-id`, {}, grant.signal);
    const data = dataOf(answer);
    const secretId = textOf(data['secret_id']);
    if (answer.status !== 200 || secretId === '') throw vaultRefusal(answer, `create a secret ID for ${cleanLine(name)}`);
    return { secretId, accessor: cleanLine(textOf(data['secret_id_accessor'])) };
  }

  async hasSecretId(mount: string, name: string, accessor: string, signal: AbortSignal): Promise<boolean> {
    const data = await this.find(`${rolePath(mount, name)}/secret-id?list=true`, `list the secret IDs of ${cleanLine(name)}`, signal);
    return data !== undefined && textsIn(data, 'keys').includes(accessor);
  }

  async removeSecretId(grant: Grant, mount: string, name: string, accessor: string): Promise<void> {
    const path = `${rolePath(mount, name)}/secret-id-accessor/destroy`;
    await this.call('POST', path, `remove a secret ID of ${cleanLine(name)}`, grant.signal, { secret_id_accessor: accessor });
  }
}

const policyPath = (name: string) => `sys/policies/acl/${encodePath(name)}`;
const rolePath = (mount: string, name: string) => `auth/${encodePath(mount)}/role/${encodePath(name)}`;

/** Logs in with AppRole, or as a user if one is given. Throws `failed.login`. */
export async function logIn(grant: Grant, endpoint: HttpEndpoint, { mount, user, body }: { mount: string; user?: string; body: object }) {
  const path = `auth/${encodePath(mount)}/login${user === undefined ? '' : `/${encodeURIComponent(user)}`}`;
  const answer = await new VaultApi(endpoint).send('POST', path, body, grant.signal);
  if (answer.status === 200) return loginOf(objectOf(answer.json) ?? {}).token;
  if (answer.status === 400 || answer.status === 403 || answer.status === 500) {
    const remedy = `Check both credentials, and that this login method is mounted at "${cleanLine(mount)}".`;
    throw vaultFault(`The login was refused: ${answer.words || `status ${answer.status}`}.`, remedy, 'failed.login');
  }
  throw vaultRefusal(answer, 'log in');
}

function loginOf(answer: JsonObject): { token: string; accessor: string } {
  const auth = objectOf(answer['auth']) ?? {};
  const token = textOf(auth['client_token']);
  if (token !== '') return { token, accessor: cleanLine(textOf(auth['accessor'])) };
  const remedy = "The login may require a second factor, which only the server's own command supports.";
  throw vaultFault('The server accepted the login but returned no token.', remedy);
}

/** Throws if the answer does not describe a token: a web page taken for a token could lead to the last token being revoked. */
function tokenFactsOf(data: JsonObject) {
  if (!Array.isArray(data['policies']) || typeof data['ttl'] !== 'number') throw strangeAnswer('look up the token');
  const policies = textsIn(data, 'policies').map(cleanLine);
  return {
    displayName: cleanLine(textOf(data['display_name'])),
    policies,
    isRoot: policies.includes('root'),
    /** 0 if it never expires. */
    ttlSeconds: numberIn(data, 'ttl'),
    renewable: data['renewable'] === true,
    orphan: data['orphan'] === true,
    /** Path of the call that created it: `auth/token/root`, `auth/approle/login`. */
    path: cleanLine(textOf(data['path'])),
    accessor: cleanLine(textOf(data['accessor'])),
    type: cleanLine(textOf(data['type'])),
  };
}
