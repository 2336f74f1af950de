import type { HttpEndpoint } from '../../../calls/http-exchange.ts';
import type { Grant } from '../../../grants/grant.ts';
import { cleanLine } from '../../../text/clean.ts';
import { type JsonObject, objectOf, textOf } from '../../../text/json-value.ts';
import { VaultApi } from './vault-api.ts';
import { dataOf, encodePath, numberIn, strangeAnswer, textsIn, vaultFault, vaultRefusal } from './vault-refusal.ts';

export type TokenFacts = ReturnType<typeof tokenFactsOf>;

export type Login =
  | { method: 'approle'; mount: string; roleId: string; secretId: string }
  | { method: 'userpass'; mount: string; user: string; password: string };

/** Tokens (reference/openbao-vault.md, "Tokens, KV"). Throws the faults of `VaultApi`, and `failed.vault`. */
export class VaultTokens extends VaultApi {
  /** Returns undefined if the server does not accept the token. */
  async self(signal: AbortSignal): Promise<TokenFacts | undefined> {
    const answer = await this.send('GET', 'auth/token/lookup-self', undefined, signal);
    if (answer.status === 403) return undefined;
    if (answer.status !== 200) throw vaultRefusal(answer, 'look the token up');
    return tokenFactsOf(dataOf(answer));
  }

  async capabilities(path: string, signal: AbortSignal): Promise<readonly string[]> {
    return textsIn(await this.call('POST', 'sys/capabilities-self', 'say what the token may do', signal, { paths: [path] }), path);
  }

  async accessors(signal: AbortSignal): Promise<readonly string[]> {
    return textsIn((await this.find('auth/token/accessors?list=true', 'list the tokens', signal)) ?? {}, 'keys');
  }

  async behind(accessor: string, signal: AbortSignal): Promise<TokenFacts | undefined> {
    const answer = await this.send('POST', 'auth/token/lookup-accessor', { accessor }, signal);
    if ([400, 403, 404].includes(answer.status)) return undefined;
    if (answer.status !== 200) throw vaultRefusal(answer, 'look a token up');
    return tokenFactsOf(dataOf(answer));
  }

  async revokeSelf(grant: Grant): Promise<void> {
    await this.call('PUT', 'auth/token/revoke-self', 'revoke the token', grant.signal);
  }

  async revokeBehind(grant: Grant, accessor: string): Promise<void> {
    await this.call('POST', 'auth/token/revoke-accessor', 'revoke a token', grant.signal, { accessor });
  }

  /** Creates a token that outlives this one. It stays valid while it is renewed once in `periodSeconds`. */
  async makeOrphan(
    grant: Grant,
    { policies, name, periodSeconds }: { policies: readonly string[]; name: string; periodSeconds: number },
  ): Promise<{ token: string; accessor: string }> {
    const body = { policies, display_name: name, period: `${periodSeconds}s`, renewable: true };
    const answer = await this.send('POST', 'auth/token/create-orphan', body, grant.signal);
    if (answer.status !== 200) throw vaultRefusal(answer, 'make a token');
    return loginOf(answer.json);
  }
}

export async function logIn(grant: Grant, endpoint: HttpEndpoint, login: Login): Promise<string> {
  const { mount } = login;
  const [path, body] =
    login.method === 'approle'
      ? [`auth/${encodePath(mount)}/login`, { role_id: login.roleId, secret_id: login.secretId }]
      : [`auth/${encodePath(mount)}/login/${encodeURIComponent(login.user)}`, { password: login.password }];
  const answer = await new VaultApi(endpoint).send('POST', path, body, grant.signal);
  if (answer.status === 200) return loginOf(answer.json).token;
  if (answer.status === 400 || answer.status === 403 || answer.status === 500) {
    throw vaultFault(
      `The login was refused: ${answer.words || `status ${answer.status}`}.`,
      `Look at both halves, and that "${cleanLine(mount)}" is where this way of logging in is mounted.`,
      'failed.login',
    );
  }
  throw vaultRefusal(answer, 'log in');
}

function loginOf(json: unknown): { token: string; accessor: string } {
  const auth = objectOf(objectOf(json)?.['auth']) ?? {};
  const token = textOf(auth['client_token']);
  if (token !== '') return { token, accessor: cleanLine(textOf(auth['accessor'])) };
  throw vaultFault(
    'It accepted that, and answered without a token.',
    'It may want a second factor, which can only be given with its own command.',
  );
}

/** Throws if the answer does not describe a token: a web page taken for a token could lead to the last token being revoked. */
function tokenFactsOf(data: JsonObject) {
  if (!Array.isArray(data['policies']) || typeof data['ttl'] !== 'number') throw strangeAnswer('look the token up');
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
