import type { Grant } from '../grants/grant.ts';
import { cleanLine, cleanLines } from '../text/clean.ts';
import { VaultApi, type VaultPlace } from './vault-api.ts';
import { dataOf, encodePath, numberIn, textIn, textsIn, vaultFault, vaultRefusal } from './vault-refusal.ts';

/** A program that logs in with two halves. */
export interface Role {
  policies: readonly string[];
  ttlSeconds: number;
}

/** Who may do what: policies, and roles of programs (AppRole). Throws what `VaultApi` does, and `failed.vault`. */
export class VaultAccess {
  readonly #api: VaultApi;

  constructor(place: VaultPlace, token: string) {
    this.#api = new VaultApi(place, token);
  }

  async policies(signal: AbortSignal): Promise<readonly string[]> {
    const answer = await this.#api.send('GET', 'sys/policies/acl?list=true', undefined, signal);
    if (answer.status !== 200) throw vaultRefusal(answer, 'list its policies');
    return textsIn(dataOf(answer), 'keys');
  }

  /** Undefined where there is none. */
  async policy(name: string, signal: AbortSignal): Promise<string | undefined> {
    const answer = await this.#api.send('GET', `sys/policies/acl/${encodePath(name)}`, undefined, signal);
    if (answer.status === 404) return undefined;
    if (answer.status !== 200) throw vaultRefusal(answer, `show the policy ${cleanLine(name)}`);
    return cleanLines(textIn(dataOf(answer), 'policy')).join('\n');
  }

  /** Throws `failed.policy` in the server's words where it cannot be read. */
  async writePolicy(grant: Grant, name: string, policy: string): Promise<void> {
    const answer = await this.#api.send('PUT', `sys/policies/acl/${encodePath(name)}`, { policy }, grant.signal);
    if (answer.status === 204 || answer.status === 200) return;
    if (answer.status === 400)
      throw vaultFault(`The policy was not taken: ${answer.words}.`, 'Nothing was changed. Mend it, and write it again.', 'failed.policy');
    throw vaultRefusal(answer, `write the policy ${cleanLine(name)}`);
  }

  async removePolicy(grant: Grant, name: string): Promise<void> {
    const answer = await this.#api.send('DELETE', `sys/policies/acl/${encodePath(name)}`, undefined, grant.signal);
    if (answer.status !== 204 && answer.status !== 200) throw vaultRefusal(answer, `remove the policy ${cleanLine(name)}`);
  }

  /** Where AppRole is mounted: `approle`. Undefined where it is not. */
  async roleMount(signal: AbortSignal): Promise<string | undefined> {
    const answer = await this.#api.send('GET', 'sys/auth', undefined, signal);
    if (answer.status !== 200) throw vaultRefusal(answer, 'list its ways of logging in');
    const found = Object.entries(dataOf(answer)).find(([, about]) => (about as { type?: string } | null)?.type === 'approle');
    return found?.[0].replace(/\/$/, '');
  }

  async mountRoles(grant: Grant, mount: string): Promise<void> {
    const answer = await this.#api.send('POST', `sys/auth/${encodePath(mount)}`, { type: 'approle' }, grant.signal);
    if (answer.status !== 204 && answer.status !== 200) throw vaultRefusal(answer, 'switch AppRole on');
  }

  async roles(mount: string, signal: AbortSignal): Promise<readonly string[]> {
    const answer = await this.#api.send('GET', `auth/${encodePath(mount)}/role?list=true`, undefined, signal);
    if (answer.status === 404) return [];
    if (answer.status !== 200) throw vaultRefusal(answer, 'list its roles');
    return textsIn(dataOf(answer), 'keys');
  }

  async role(mount: string, name: string, signal: AbortSignal): Promise<Role | undefined> {
    const answer = await this.#api.send('GET', `auth/${encodePath(mount)}/role/${encodePath(name)}`, undefined, signal);
    if (answer.status === 404) return undefined;
    if (answer.status !== 200) throw vaultRefusal(answer, `show the role ${cleanLine(name)}`);
    const data = dataOf(answer);
    return { policies: textsIn(data, 'token_policies').map(cleanLine), ttlSeconds: numberIn(data, 'token_ttl') };
  }

  async writeRole(grant: Grant, mount: string, name: string, { policies, ttlSeconds }: Role): Promise<void> {
    const body = { token_policies: policies, token_ttl: `${ttlSeconds}s` };
    const answer = await this.#api.send('POST', `auth/${encodePath(mount)}/role/${encodePath(name)}`, body, grant.signal);
    if (answer.status !== 204 && answer.status !== 200) throw vaultRefusal(answer, `write the role ${cleanLine(name)}`);
  }

  /** The half that is no secret. */
  async roleId(mount: string, name: string, signal: AbortSignal): Promise<string> {
    const answer = await this.#api.send('GET', `auth/${encodePath(mount)}/role/${encodePath(name)}/role-id`, undefined, signal);
    if (answer.status !== 200) throw vaultRefusal(answer, `tell the id of the role ${cleanLine(name)}`);
    return cleanLine(textIn(dataOf(answer), 'role_id'));
  }

  /** One more secret half; those that exist stay. */
  async makeSecretId(grant: Grant, mount: string, name: string): Promise<{ secretId: string; accessor: string }> {
    const answer = await this.#api.send('POST', `auth/${encodePath(mount)}/role/${encodePath(name)}/secret-id`, {}, grant.signal);
    const data = dataOf(answer);
    const secretId = textIn(data, 'secret_id');
    if (answer.status !== 200 || secretId === '') throw vaultRefusal(answer, `make a secret id for ${cleanLine(name)}`);
    return { secretId, accessor: cleanLine(textIn(data, 'secret_id_accessor')) };
  }

  async hasSecretId(mount: string, name: string, accessor: string, signal: AbortSignal): Promise<boolean> {
    const answer = await this.#api.send('GET', `auth/${encodePath(mount)}/role/${encodePath(name)}/secret-id?list=true`, undefined, signal);
    if (answer.status === 404) return false;
    if (answer.status !== 200) throw vaultRefusal(answer, `list the secret ids of ${cleanLine(name)}`);
    return textsIn(dataOf(answer), 'keys').includes(accessor);
  }

  /** Nobody logs in with it any more. */
  async removeSecretId(grant: Grant, mount: string, name: string, accessor: string): Promise<void> {
    const path = `auth/${encodePath(mount)}/role/${encodePath(name)}/secret-id-accessor/destroy`;
    const answer = await this.#api.send('POST', path, { secret_id_accessor: accessor }, grant.signal);
    if (answer.status !== 204 && answer.status !== 200) throw vaultRefusal(answer, `remove a secret id of ${cleanLine(name)}`);
  }
}
