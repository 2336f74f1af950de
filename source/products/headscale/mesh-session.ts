import { Fault } from '../../faults/fault.ts';
import { unlessCode } from '../../faults/unless-fault.ts';
import { askChoice } from '../../flows/ask-choice.ts';
import type { FlowContext, FlowInput, Procedure } from '../../flows/flow.ts';
import type { SecretName } from '../../secrets/secrets.ts';
import { parseDuration } from '../../session/answer-checks.ts';
import type { Act, Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { listOf, objectOf, parsedJson, parseJson, textOf } from '../../text/json-value.ts';
import { countText } from '../../text/quantities.ts';
import { Headscale } from './client/headscale.ts';
import { HeadscaleApi } from './client/headscale-api.ts';
import type { MeshApiKey } from './client/headscale-records.ts';
import { apiKeyProblem, isListedAs } from './client/mesh-keys.ts';
import { type MeshTarget, meshTargetOf } from './mesh-target.ts';
import { showNote } from './mesh-words.ts';

const dayMs = 86_400_000;
export const usualKeyDays = 90;
const actLimitMs = 120_000;
/** Time before the expiry of the console's key at which a warning is shown. */
const soonMs = 14 * dayMs;

export type MeshAccess = NonNullable<Awaited<ReturnType<typeof enterWith>>>;

/** The control server of a flow, with the session that works on it. */
export type FlowMesh = MeshAccess & { input: FlowInput; context: FlowContext };

export function actOn<T>({ target }: Pick<MeshAccess, 'target'>, id: string, act: Omit<Act<T>, 'id' | 'target'>): Promise<T | undefined> {
  const { session, component } = target;
  return session.act({ ...act, id, target: { host: component.host, component: component.id } });
}

/** Expires an API key that is not needed any more. `why` ends the request that is shown. */
export async function dropApiKey(access: MeshAccess, id: string, key: MeshApiKey, why: string, done = async () => false) {
  const request = `POST /api/v1/apikey/expire: ${key.prefix}, ${why}`;
  await actOn(access, id, { right: 'operate', request, done, run: (grant) => access.client.expireApiKey(grant, key) });
}

/** Expires API keys that were never delivered: an interrupted run created them and could not show or store them. */
export async function revokeApiKeys(access: MeshAccess, keys: readonly MeshApiKey[]): Promise<void> {
  for (const key of keys) await dropApiKey(access, `take-back-${key.id}`, key, 'created by an interrupted run');
}

type MeshEntrance = Awaited<ReturnType<typeof entranceOf>>;

export async function entranceOf(session: Session, input: FlowInput, context: FlowContext) {
  const target = await meshTargetOf(session, input, context);
  const { component } = target;
  if (target.version.note !== undefined) showNote(session, target.version.note);
  const vault = await context.vault(session);
  // Not among the secrets of the component: those are included in its backups and indicate whether it has data.
  const name: SecretName = `${component.host}/${component.id}.login/API_KEY`;
  const kept = await vault.read(name, session.signal);
  if (kept !== undefined) session.hide(kept);
  return { target, vault, name, kept };
}

export async function enterWith(target: MeshTarget, key: string, signal: AbortSignal) {
  const client = new Headscale(new HeadscaleApi(target.endpoint, key), target.version);
  const keys = await unlessCode(client.apiKeys(signal), ['refused.apiKey'], undefined);
  return keys && { session: target.session, target, client, ownKey: keys.find(({ prefix }) => isListedAs(key, prefix)) };
}

/** Creates a flow on the control server. If the console has no valid key, an attended session first prompts for one. Throws `refused.apiKey`. */
export function onMesh(run: (access: FlowMesh) => ReturnType<Procedure>): Procedure {
  return async (session, input, context) => run({ ...(await meshOf(session, input, context)), input, context });
}

async function meshOf(session: Session, input: FlowInput, context: FlowContext): Promise<MeshAccess> {
  const entrance = await entranceOf(session, input, context);
  const { id } = entrance.target.component;
  const access = entrance.kept === undefined ? undefined : await enterWith(entrance.target, entrance.kept, session.signal);
  if (access) {
    const leftMs = (access.ownKey?.expiryMs ?? Number.POSITIVE_INFINITY) - Date.now();
    if (leftMs < soonMs) {
      const when = leftMs < dayMs ? 'within 24 hours' : `in ${countText(Math.floor(leftMs / dayMs), 'day')}`;
      showNote(session, `The API key of this console expires ${when}. To renew it: quarterdeck mesh access ${id} --renew`);
    }
    return access;
  }
  if (!session.attended || session.readOnly || session.dryRun) throw noAccess(entrance);
  const chosen = await askChoice(session, {
    id: 'access',
    label:
      entrance.kept === undefined ? `This console has no API key for ${id} yet` : `${id} no longer accepts the API key of this console`,
    help: `An API key allows any query and change. A new key is created in the container: headscale apikeys create --expiration ${usualKeyDays}d`,
    choices: {
      make: ['Create an API key', `valid for ${usualKeyDays} days, saved to the secret store`],
      give: 'Enter an existing API key',
    },
    initial: 'make',
  });
  return newAccess(entrance, chosen === 'give', `${usualKeyDays}d`);
}

/** Prompts for a key, or creates one. `expiration` is in the format of the server's own command. */
export function newAccess(entrance: MeshEntrance, isGiven: boolean, expiration: string): Promise<MeshAccess> {
  return isGiven ? promptApiKey(entrance) : createAccess(entrance, expiration);
}

/** Creates a key with the server's own command, which requires no key. */
async function createAccess(entrance: MeshEntrance, expiration: string): Promise<MeshAccess> {
  const { target, vault, name } = entrance;
  const { session } = target;
  const argv = ['headscale', 'apikeys', 'create', '--expiration', expiration, '-o', 'json'];
  const begun = session.noted('making').map((text) => parseJson(text) as Making);
  const known = await listedByCommand(target);
  if (known) await session.note('making', JSON.stringify({ atMs: Date.now(), known } satisfies Making));
  const access = await actOn(entrance, 'make-api-key', {
    right: 'operate',
    request: `run in ${target.container.name}: ${argv.join(' ')}; store the key in ${vault.where}`,
    run: async (grant) => {
      const { exitCode, stdout, stderr } = await target.engine.writer(grant).exec(target.container.id, argv);
      const key = keyIn(new TextDecoder().decode(stdout));
      if (exitCode !== 0 || key === undefined) throw notMade(target, exitCode, new TextDecoder().decode(stderr));
      session.hide(key);
      const tried = await enterWith(target, key, grant.signal);
      if (!tried) {
        const message = `An API key was created in ${target.container.name}, but the server at ${target.endpoint.shown} rejects it.`;
        throw new Fault('failed.access', message, 'Check that the container and the address belong to the same server.');
      }
      await vault.write(grant, name, key, 'generated');
      return tried;
    },
  });
  if (!access) throw noAccess({ target });
  if (begun.length > 0) await takeBack(access, begun, expiration);
  return access;
}

type Making = { atMs: number; known: readonly string[] };

/** Lists the ids of all API keys with the server's own command, which requires no key. */
async function listedByCommand({ session: { signal }, engine, container }: MeshTarget): Promise<readonly string[] | undefined> {
  const { exitCode, stdout } = await engine.execReading(container.id, ['headscale', 'apikeys', 'list', '-o', 'json'], { signal });
  const json = exitCode === 0 ? parsedJson(new TextDecoder().decode(stdout)) : undefined;
  if (json === undefined) return undefined;
  // An empty list may be null; from 0.30 on the command prints the answer of the API.
  return listOf(Array.isArray(json) ? json : objectOf(json)?.['apiKeys']).map((key) => textOf(objectOf(key)?.['id']));
}

/** Expires keys that an interrupted run created and could not store, identified by their creation time and lifetime. */
async function takeBack(access: MeshAccess, begun: readonly Making[], expiration: string): Promise<void> {
  const { session, client, ownKey } = access;
  const spanMs = (parseDuration(expiration) ?? 0) * 1000;
  const lost = (await client.apiKeys(session.signal)).filter(
    ({ id, createdMs = Number.NaN, expiryMs = Number.NaN }) =>
      id !== ownKey?.id &&
      Math.abs(expiryMs - createdMs - spanMs) < 5000 &&
      begun.some(({ atMs, known }) => !known.includes(id) && Math.abs(createdMs - atMs) < actLimitMs),
  );
  await revokeApiKeys(access, lost);
}

async function promptApiKey(entrance: MeshEntrance): Promise<MeshAccess> {
  const { target, vault, name } = entrance;
  const { session } = target;
  const help = 'Tested with GET /api/v1/apikey, and saved to the secret store if the server accepts it.';
  const question = { id: 'api-key', label: `API key of ${target.component.id}`, help, check: apiKeyProblem };
  const key = (await session.ask.secret(question)).trim();
  const access = await enterWith(target, key, session.signal);
  if (!access) {
    const message = `${target.component.id} rejects this API key. Nothing was stored.`;
    throw new Fault('refused.apiKey', message, `Create an API key instead: quarterdeck mesh access ${target.component.id}`);
  }
  await actOn(entrance, 'keep-api-key', {
    right: 'operate',
    request: `store the API key of ${target.component.id} in ${vault.where}`,
    run: (grant) => vault.write(grant, name, key, 'given'),
  });
  return access;
}

/** Reads the key in the output of the command: a JSON text up to 0.29, later the answer of the API. */
function keyIn(stdout: string): string | undefined {
  const json = parsedJson(stdout);
  const words =
    json === undefined ? stdout.split(/\s+/).map((word) => word.replace(/^"|"$/g, '')) : [textOf(objectOf(json)?.['apiKey'] ?? json)];
  return words.find((word) => apiKeyProblem(word) === undefined);
}

function notMade({ container }: MeshTarget, exitCode: number, stderr: string): Fault {
  if (exitCode === 126 || exitCode === 127) {
    const remedy = 'Create a key on the server (headscale apikeys create), then enter it: quarterdeck mesh access COMPONENT --give';
    return new Fault('failed.access', `${container.name} has no headscale command.`, remedy);
  }
  const reported = /"error"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(stderr)?.[1] ?? stderr.trim().split('\n').at(-1) ?? '';
  const words = cleanLine(reported).replace(/\.$/, '') || `the command exited with code ${exitCode}`;
  return new Fault('failed.access', `No API key was created in ${container.name}: ${words}.`, 'Check the log of the control server.');
}

function noAccess({ target }: Pick<MeshEntrance, 'target'>): Fault {
  const message = `This console has no valid API key for ${target.component.id}.`;
  return new Fault('refused.apiKey', message, `Create an API key: quarterdeck mesh access ${target.component.id}`);
}
