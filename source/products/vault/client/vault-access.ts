import type { Grant } from '../../../grants/grant.ts';
import { cleanLine, cleanLines } from '../../../text/clean.ts';
import { objectOf, textOf } from '../../../text/json-value.ts';
import { VaultApi } from './vault-api.ts';
import { dataOf, encodePath, numberIn, textsIn, vaultFault, vaultRefusal } from './vault-refusal.ts';

export interface Role {
  policies: readonly string[];
  ttlSeconds: number;
}

/** Access control: policies, and roles of programs (AppRole). Throws the faults of `VaultApi`, and `failed.vault`. */
export class VaultAccess extends VaultApi {
  async policies(signal: AbortSignal): Promise<readonly string[]> {
    return textsIn(await this.call('GET', 'sys/policies/acl?list=true', 'list its policies', signal), 'keys');
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
      throw vaultFault(`The policy was not taken: ${answer.words}.`, 'Nothing was changed. Mend it, and write it again.', 'failed.policy');
    throw vaultRefusal(answer, `write the policy ${cleanLine(name)}`);
  }

  async removePolicy(grant: Grant, name: string): Promise<void> {
    await this.call('DELETE', policyPath(name), `remove the policy ${cleanLine(name)}`, grant.signal);
  }

  /** Returns the path where AppRole is mounted, `approle`; undefined if it is not mounted. */
  async roleMount(signal: AbortSignal): Promise<string | undefined> {
    const methods = await this.call('GET', 'sys/auth', 'list its ways of logging in', signal);
    const found = Object.entries(methods).find(([, method]) => objectOf(method)?.['type'] === 'approle');
    return found?.[0].replace(/\/$/, '');
  }

  async mountRoles(grant: Grant, mount: string): Promise<void> {
    await this.call('POST', `sys/auth/${encodePath(mount)}`, 'switch AppRole on', grant.signal, { type: 'approle' });
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
    const data = await this.call('GET', `${rolePath(mount, name)}/role-id`, `tell the id of the role ${cleanLine(name)}`, signal);
    return cleanLine(textOf(data['role_id']));
  }

  async makeSecretId(grant: Grant, mount: string, name: string): Promise<{ secretId: string; accessor: string }> {
    const answer = await this.send('POST', `${rolePath(mount, name)}/secret-id`, {}, grant.signal);
    const data = dataOf(answer);
    const secretId = textOf(data['secret_id']);
    if (answer.status !== 200 || secretId === '') throw vaultRefusal(answer, `make a secret id for ${cleanLine(name)}`);
    return { secretId, accessor: cleanLine(textOf(data['secret_id_accessor'])) };
  }

  async hasSecretId(mount: string, name: string, accessor: string, signal: AbortSignal): Promise<boolean> {
    const data = await this.find(`${rolePath(mount, name)}/secret-id?list=true`, `list the secret ids of ${cleanLine(name)}`, signal);
    return data !== undefined && textsIn(data, 'keys').includes(accessor);
  }

  async removeSecretId(grant: Grant, mount: string, name: string, accessor: string): Promise<void> {
    const path = `${rolePath(mount, name)}/secret-id-accessor/destroy`;
    await this.call('POST', path, `remove a secret id of ${cleanLine(name)}`, grant.signal, { secret_id_accessor: accessor });
  }
}

const policyPath = (name: string) => `sys/policies/acl/${encodePath(name)}`;
const rolePath = (mount: string, name: string) => `auth/${encodePath(mount)}/role/${encodePath(name)}`;
