import type { Grant } from '../grants/grant.ts';
import { cleanLine } from '../text/clean.ts';
import { VaultApi, type VaultPlace } from './vault-api.ts';
import { dataOf, encodePath, numberIn, strangeAnswer, textIn, textsIn, vaultFault, vaultRefusal } from './vault-refusal.ts';

/** What is known of a token; itself not in it. */
export interface TokenFacts {
  displayName: string;
  policies: readonly string[];
  isRoot: boolean;
  /** 0: it never ends. */
  ttlSeconds: number;
  renewable: boolean;
  /** Outlives the token that made it. */
  orphan: boolean;
  /** The call that made it: `auth/token/root`, `auth/approle/login`. */
  path: string;
  accessor: string;
  type: string;
}

/** A token, and what it can be ended by without it. */
export interface MadeToken {
  token: string;
  accessor: string;
}

/** How somebody logs in that has no token yet. */
export type Login =
  | { method: 'approle'; mount: string; roleId: string; secretId: string }
  | { method: 'userpass'; mount: string; user: string; password: string };

/** Tokens of OpenBao and HashiCorp Vault (reference/openbao-vault.md, "Tokens, KV"). Throws what `VaultApi` does, and `failed.vault`. */
export class VaultTokens {
  readonly #api: VaultApi;

  constructor(place: VaultPlace, token: string) {
    this.#api = new VaultApi(place, token);
  }

  /** Undefined where the server does not take it for one. */
  async self(signal: AbortSignal): Promise<TokenFacts | undefined> {
    const answer = await this.#api.send('GET', 'auth/token/lookup-self', undefined, signal);
    if (answer.status === 403) return undefined;
    if (answer.status !== 200) throw vaultRefusal(answer, 'look the token up');
    return tokenFactsOf(dataOf(answer));
  }

  /** What it may do there: `read`, `sudo`, `root`, `deny`. */
  async capabilities(path: string, signal: AbortSignal): Promise<readonly string[]> {
    const answer = await this.#api.send('POST', 'sys/capabilities-self', { paths: [path] }, signal);
    if (answer.status !== 200) throw vaultRefusal(answer, 'say what the token may do');
    return textsIn(dataOf(answer), path);
  }

  /** Accessors of all tokens; needs sudo. */
  async accessors(signal: AbortSignal): Promise<readonly string[]> {
    const answer = await this.#api.send('GET', 'auth/token/accessors?list=true', undefined, signal);
    if (answer.status === 404) return [];
    if (answer.status !== 200) throw vaultRefusal(answer, 'list the tokens');
    return textsIn(dataOf(answer), 'keys');
  }

  /** Undefined where it has ended meanwhile. */
  async behind(accessor: string, signal: AbortSignal): Promise<TokenFacts | undefined> {
    const answer = await this.#api.send('POST', 'auth/token/lookup-accessor', { accessor }, signal);
    if (answer.status === 400 || answer.status === 403 || answer.status === 404) return undefined;
    if (answer.status !== 200) throw vaultRefusal(answer, 'look a token up');
    return tokenFactsOf(dataOf(answer));
  }

  /** Ends it, and what was made with it. */
  async revokeSelf(grant: Grant): Promise<void> {
    const answer = await this.#api.send('PUT', 'auth/token/revoke-self', undefined, grant.signal);
    if (answer.status !== 204 && answer.status !== 200) throw vaultRefusal(answer, 'revoke the token');
  }

  /** Ends the token of this accessor, for who does not have it. */
  async revokeBehind(grant: Grant, accessor: string): Promise<void> {
    const answer = await this.#api.send('POST', 'auth/token/revoke-accessor', { accessor }, grant.signal);
    if (answer.status !== 204 && answer.status !== 200) throw vaultRefusal(answer, 'revoke a token');
  }

  /** One that outlives this one. With `periodSeconds` it lasts for as long as it is renewed that often. */
  async makeOrphan(grant: Grant, wanted: { policies: readonly string[]; name: string; periodSeconds: number }): Promise<MadeToken> {
    const body = {
      policies: wanted.policies,
      display_name: wanted.name,
      period: `${wanted.periodSeconds}s`,
      renewable: true,
    };
    const answer = await this.#api.send('POST', 'auth/token/create-orphan', body, grant.signal);
    if (answer.status !== 200) throw vaultRefusal(answer, 'make a token');
    const { auth } = answer.json as { auth?: Record<string, unknown> };
    return { token: clientTokenOf(answer.json), accessor: cleanLine(textIn(auth ?? {}, 'accessor')) };
  }
}

/** @returns the token. Throws `failed.login` where it is refused. */
export async function logIn(grant: Grant, place: VaultPlace, login: Login): Promise<string> {
  const { mount } = login;
  const [path, body] =
    login.method === 'approle'
      ? [`auth/${encodePath(mount)}/login`, { role_id: login.roleId, secret_id: login.secretId }]
      : [`auth/${encodePath(mount)}/login/${encodeURIComponent(login.user)}`, { password: login.password }];
  const answer = await new VaultApi(place).send('POST', path, body, grant.signal);
  if (answer.status === 200) return clientTokenOf(answer.json);
  if (answer.status === 400 || answer.status === 403 || answer.status === 500) {
    throw vaultFault(
      `The login was refused: ${answer.words || `status ${answer.status}`}.`,
      `Look at both halves, and that "${cleanLine(mount)}" is where this way of logging in is mounted.`,
      'failed.login',
    );
  }
  throw vaultRefusal(answer, 'log in');
}

function clientTokenOf(json: unknown): string {
  const token = (json as { auth?: { client_token?: unknown } | null } | undefined)?.auth?.client_token;
  if (typeof token === 'string' && token !== '') return token;
  throw vaultFault(
    'It accepted that, and answered without a token.',
    'It may want a second factor, which can only be given with its own command.',
  );
}

/** Throws where it is none: whoever takes a page for a token revokes the last one. */
function tokenFactsOf(data: Record<string, unknown>): TokenFacts {
  if (!Array.isArray(data['policies']) || typeof data['ttl'] !== 'number') throw strangeAnswer('look the token up');
  const policies = textsIn(data, 'policies').map(cleanLine);
  return {
    displayName: cleanLine(textIn(data, 'display_name')),
    policies,
    isRoot: policies.includes('root'),
    ttlSeconds: numberIn(data, 'ttl'),
    renewable: data['renewable'] === true,
    orphan: data['orphan'] === true,
    path: cleanLine(textIn(data, 'path')),
    accessor: cleanLine(textIn(data, 'accessor')),
    type: cleanLine(textIn(data, 'type')),
  };
}
