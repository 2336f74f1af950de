import { Fault } from '../../../faults/fault.ts';
import type { Grant } from '../../../grants/grant.ts';
import { mapOf, timeOf } from '../../../text/json-value.ts';
import type { HeadscaleApi, MeshAnswer, MeshMethod, MeshRequest } from './headscale-api.ts';
import type { MeshApiKey, MeshKey, MeshNode, MeshUser } from './headscale-records.ts';
import { apiKeyOf, exitRoutes, keyOf, listOf, nodeOf, routesByNode, userOf } from './headscale-records.ts';
import { refusalOf } from './headscale-refusals.ts';
import type { MeshVersion } from './headscale-version.ts';

type KeyWish = Pick<MeshKey, 'reusable' | 'ephemeral' | 'tags'> & { user: MeshUser | undefined; expiryMs: number };

/**
 * Headscale from 0.23 on, in the API dialect of its version (reference/headscale.md). Throws the faults of `HeadscaleApi`, `failed.mesh`
 * with the server's message, and `refused.version` for an operation that its version does not support.
 */
export class Headscale {
  constructor(
    private readonly api: HeadscaleApi,
    readonly version: MeshVersion,
  ) {}

  async users(signal: AbortSignal): Promise<readonly MeshUser[]> {
    return listOf(await this.#ask('list users', 'GET', 'user', {}, signal), 'users', userOf);
  }

  async createUser(grant: Grant, wish: { name: string; displayName?: string; email?: string }): Promise<MeshUser> {
    const json = this.#since(24) ? wish : { name: wish.name };
    return userOf(mapOf(mapOf(await this.#ask(`create the user ${wish.name}`, 'POST', 'user', { json }, grant.signal))['user']));
  }

  async renameUser(grant: Grant, user: MeshUser, name: string): Promise<void> {
    const path = `user/${this.#userPart(user)}/rename/${encodeURIComponent(name)}`;
    await this.#ask(`rename the user ${user.name}`, 'POST', path, {}, grant.signal);
  }

  async deleteUser(grant: Grant, user: MeshUser): Promise<void> {
    await this.#ask(`delete the user ${user.name}`, 'DELETE', `user/${this.#userPart(user)}`, {}, grant.signal);
  }

  /** Lists all keys, masked. Versions before 0.28 list the keys of one user at a time, and unmasked. */
  async keys(signal: AbortSignal): Promise<readonly MeshKey[]> {
    return (await this.#wholeKeys(signal)).map(({ key }) => key);
  }

  /** Returns the whole key, which the server shows only once. */
  async createKey(grant: Grant, { user, reusable, ephemeral, expiryMs, tags }: KeyWish): Promise<{ secret: string; key: MeshKey }> {
    const json = {
      ...(user && { user: this.#since(26) ? user.id : user.name }),
      reusable,
      ephemeral,
      expiration: new Date(expiryMs).toISOString(),
      aclTags: tags,
    };
    const made = mapOf(mapOf(await this.#ask('create a pre-auth key', 'POST', 'preauthkey', { json }, grant.signal))['preAuthKey']);
    const secret = made['key'];
    if (typeof secret !== 'string' || secret === '')
      throw strange('The server created a pre-auth key but did not return it.', 'Expire it: quarterdeck mesh expire-key COMPONENT');
    return { secret, key: keyOf(made) };
  }

  async expireKey(grant: Grant, id: string): Promise<void> {
    const json = this.#since(28) ? { id } : await this.#oldKey(id, grant.signal);
    await this.#ask(`expire the pre-auth key ${id}`, 'POST', 'preauthkey/expire', { json }, grant.signal);
  }

  async nodes(signal: AbortSignal): Promise<readonly MeshNode[]> {
    const nodes = listOf(await this.#ask('list nodes', 'GET', 'node', {}, signal), 'nodes', nodeOf);
    if (this.#since(26)) return nodes;
    const routes = routesByNode(await this.#ask('list routes', 'GET', 'routes', {}, signal));
    return nodes.map((node) => ({ ...node, routes: routes.get(node.id) ?? { available: [], approved: [], serving: [] } }));
  }

  async register(grant: Grant, key: string, user: MeshUser): Promise<MeshNode> {
    const answer = this.#since(29)
      ? await this.#ask('register the node', 'POST', 'auth/register', { json: { authId: key, user: user.name } }, grant.signal)
      : await this.#ask('register the node', 'POST', 'node/register', { query: { user: user.name, key } }, grant.signal);
    return nodeOf(mapOf(mapOf(answer)['node']));
  }

  /** Expires a node now or at a future time. Up to 0.29 only the query is read. */
  async expireNode(grant: Grant, node: MeshNode, atMs?: number): Promise<void> {
    const wish: Record<string, string> = atMs === undefined ? {} : { expiry: new Date(atMs).toISOString() };
    await this.#ask(`expire ${node.name}`, 'POST', `node/${encodeURIComponent(node.id)}/expire`, this.#wished(wish), grant.signal);
  }

  /** Disables expiry: the node never has to log in again. */
  async keepNode(grant: Grant, node: MeshNode): Promise<void> {
    if (!this.#since(29)) {
      const message = `Disabling the expiry of a node requires Headscale 0.29 or later; this server runs ${this.version.shown}.`;
      throw new Fault('refused.version', message, 'Update Headscale one minor version at a time, and back up before each update.');
    }
    const request = this.#wished({ disableExpiry: true });
    await this.#ask(`disable the expiry of ${node.name}`, 'POST', `node/${encodeURIComponent(node.id)}/expire`, request, grant.signal);
  }

  async renameNode(grant: Grant, node: MeshNode, name: string): Promise<void> {
    const path = `node/${encodeURIComponent(node.id)}/rename/${encodeURIComponent(name)}`;
    await this.#ask(`rename ${node.name}`, 'POST', path, {}, grant.signal);
  }

  async deleteNode(grant: Grant, node: MeshNode): Promise<void> {
    await this.#ask(`delete ${node.name}`, 'DELETE', `node/${encodeURIComponent(node.id)}`, {}, grant.signal);
  }

  async setTags(grant: Grant, node: MeshNode, tags: readonly string[]): Promise<void> {
    await this.#ask(`tag ${node.name}`, 'POST', `node/${encodeURIComponent(node.id)}/tags`, { json: { tags } }, grant.signal);
  }

  async approveRoutes(grant: Grant, node: MeshNode, routes: readonly string[]): Promise<void> {
    const json = { routes };
    for (const path of this.routePaths(node, routes))
      await this.#ask(`approve routes of ${node.name}`, 'POST', path, this.#since(26) ? { json } : {}, grant.signal);
  }

  /** Before 0.26 each route is enabled or disabled by its id, and the two exit routes together. */
  routePaths(node: MeshNode, routes: readonly string[]): readonly string[] {
    if (this.#since(26)) return [`node/${encodeURIComponent(node.id)}/approve_routes`];
    const { approved = [], numbers } = node.routes ?? {};
    const each = (prefixes: readonly string[], word: string) => {
      const [exit] = prefixes.filter((prefix) => exitRoutes.includes(prefix));
      const once = prefixes.filter((prefix) => prefix === exit || !exitRoutes.includes(prefix));
      return once.flatMap((prefix) => {
        const number = numbers?.get(prefix);
        return number === undefined ? [] : [`routes/${encodeURIComponent(number)}/${word}`];
      });
    };
    const more = routes.filter((prefix) => !approved.includes(prefix));
    const less = approved.filter((prefix) => !routes.includes(prefix));
    return [...each(more, 'enable'), ...each(less, 'disable')];
  }

  async apiKeys(signal: AbortSignal): Promise<readonly MeshApiKey[]> {
    return listOf(await this.#ask('list API keys', 'GET', 'apikey', {}, signal), 'apiKeys', apiKeyOf);
  }

  async createApiKey(grant: Grant, expiryMs: number): Promise<string> {
    const json = { expiration: new Date(expiryMs).toISOString() };
    const key = mapOf(await this.#ask('create an API key', 'POST', 'apikey', { json }, grant.signal))['apiKey'];
    if (typeof key !== 'string' || key === '')
      throw strange('The server created an API key but did not return it.', 'Expire it: quarterdeck mesh api-key COMPONENT expire');
    return key;
  }

  async expireApiKey(grant: Grant, key: MeshApiKey): Promise<void> {
    const json = this.#since(28) ? { id: key.id } : { prefix: key.prefix };
    await this.#ask(`expire the API key ${key.prefix}`, 'POST', 'apikey/expire', { json }, grant.signal);
  }

  /** Returns undefined while no policy is set: every node can reach every other then. */
  async policy(signal: AbortSignal) {
    const answer = await this.api.send('GET', '/api/v1/policy', {}, signal);
    if (answer.status >= 400 && /policy not found/i.test(answer.words)) return undefined;
    const { policy, updatedAt } = mapOf(this.#good(answer, 'read the policy'));
    if (typeof policy !== 'string') throw strange('The control server returned no policy.');
    return { text: policy, updatedMs: timeOf(updatedAt) };
  }

  /** Returns the errors of the server's own check, one line each; undefined if its version has no check (before 0.29). */
  async checkPolicy(text: string, signal: AbortSignal): Promise<readonly string[] | undefined> {
    if (!this.#since(29)) return undefined;
    const answer = await this.api.send('POST', '/api/v1/policy/check', { json: { policy: text } }, signal);
    if (answer.status === 200) return [];
    if (answer.status === 404 || answer.status === 405 || answer.status === 501) return undefined;
    return answer.lines.length > 0 ? answer.lines : [`status ${answer.status}, without a message`];
  }

  async setPolicy(grant: Grant, text: string): Promise<void> {
    await this.#ask('set the policy', 'PUT', 'policy', { json: { policy: text } }, grant.signal);
  }

  #since(minor: number): boolean {
    return this.version.minor >= minor;
  }

  #userPart({ id, name }: MeshUser): string {
    return encodeURIComponent(this.#since(24) ? id : name);
  }

  #wished(wish: Readonly<Record<string, unknown>>): MeshRequest {
    if (Object.keys(wish).length === 0) return {};
    return this.#since(30)
      ? { json: wish }
      : { query: Object.fromEntries(Object.entries(wish).map(([name, value]) => [name, String(value)])) };
  }

  async #wholeKeys(signal: AbortSignal) {
    const list = async (query: Record<string, string>, user?: MeshUser) => {
      const answer = await this.#ask('list pre-auth keys', 'GET', 'preauthkey', { query }, signal);
      return listOf(answer, 'preAuthKeys', (asReported) => ({ key: keyOf(asReported), asReported, user }));
    };
    if (this.#since(28)) return list({});
    const found = [];
    for (const user of await this.users(signal)) found.push(...(await list({ user: this.#since(26) ? user.id : user.name }, user)));
    return found;
  }

  /** Returns the request body for a key. Before 0.28 a key is expired by its text and its user. */
  async #oldKey(id: string, signal: AbortSignal): Promise<object> {
    const found = (await this.#wholeKeys(signal)).find(({ key }) => key.id === id);
    if (!found?.user) throw new Fault('failed.mesh', `Pre-auth key ${id} no longer exists.`, 'List keys: quarterdeck mesh keys COMPONENT');
    return { user: this.#since(26) ? found.user.id : found.user.name, key: found.asReported['key'] };
  }

  async #ask(what: string, method: MeshMethod, path: string, request: MeshRequest, signal: AbortSignal): Promise<unknown> {
    return this.#good(await this.api.send(method, `/api/v1/${path}`, request, signal), what);
  }

  #good(answer: MeshAnswer, what: string): unknown {
    if (answer.status >= 400) throw refusalOf(answer, what, this.version);
    if (answer.status !== 200 || typeof answer.json !== 'object' || answer.json === null)
      throw strange(`The response from ${this.api.endpoint.shown} is not from a control server (status ${answer.status}).`);
    return answer.json;
  }
}

function strange(message: string, remedy = 'Check that this is the port of the control server.'): Fault {
  return new Fault('failed.mesh', message, remedy);
}
