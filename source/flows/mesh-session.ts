import { Fault } from '../faults/fault.ts';
import { Headscale } from '../products/headscale.ts';
import { HeadscaleApi } from '../products/headscale-api.ts';
import type { MeshApiKey } from '../products/headscale-things.ts';
import { apiKeyProblem, isListedAs } from '../products/mesh-keys.ts';
import type { SecretName, SecretVault } from '../secrets/vault.ts';
import { parseDuration } from '../session/answer-checks.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { parseJson } from '../text/json-value.ts';
import type { FlowInput, FlowWorld } from './flow.ts';
import { type MeshTarget, meshTargetOf } from './mesh-target.ts';
import { tellAside } from './mesh-words.ts';
import { componentOf } from './service-targets.ts';

const dayMs = 86_400_000;
/** The console's own key, where nobody says otherwise. */
export const usualKeyDays = 90;
/** No act takes longer. */
const actLimitMs = 120_000;
/** So long before the console's key ends it is said. */
const soonMs = 14 * dayMs;

/** What this console logs in with: beside the secrets of the component, not among them, since those go into its backups and tell whether it has data. */
function ownKeyOf(host: string, component: string): SecretName {
  return `${host}/${component}.login/API_KEY`;
}

/** A control server that this console may ask and change. */
export interface MeshAccess {
  target: MeshTarget;
  client: Headscale;
  /** The console's own key, as the server lists it. */
  ownKey: MeshApiKey | undefined;
}

/** What the way into one is put together from. */
export interface MeshEntrance {
  target: MeshTarget;
  vault: SecretVault;
  name: SecretName;
  kept: string | undefined;
}

export async function entranceOf(session: Session, input: FlowInput, world: FlowWorld): Promise<MeshEntrance> {
  const component = componentOf(input);
  const target = await meshTargetOf(world, component, !session.readOnly, session.signal);
  if (target.version.note !== undefined) tellAside(session, target.version.note);
  const vault = await world.vault(session);
  const name = ownKeyOf(component.host, component.id);
  const kept = await vault.read(name, session.signal);
  if (kept !== undefined) session.hide(kept);
  return { target, vault, name, kept };
}

/** Tries a key. Undefined where the server does not take it. */
export async function enterWith(target: MeshTarget, key: string, signal: AbortSignal): Promise<MeshAccess | undefined> {
  const client = new Headscale(new HeadscaleApi(target.place, key), target.version);
  try {
    const ownKey = (await client.apiKeys(signal)).find(({ prefix }) => isListedAs(key, prefix));
    return { target, client, ownKey };
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === 'refused.apiKey') return undefined;
    throw thrown;
  }
}

/** The control server with the key that this console has. Where it has none that is good, an operator who is there is asked for the way in first. Throws `refused.apiKey`. */
export async function meshOf(session: Session, input: FlowInput, world: FlowWorld): Promise<MeshAccess> {
  const entrance = await entranceOf(session, input, world);
  const access = entrance.kept === undefined ? undefined : await enterWith(entrance.target, entrance.kept, session.signal);
  if (access) {
    const leftMs = (access.ownKey?.expiryMs ?? Number.POSITIVE_INFINITY) - Date.now();
    if (leftMs < soonMs) {
      const days = Math.max(0, Math.floor(leftMs / dayMs));
      tellAside(
        session,
        `The API key of this console ends in ${days} days. Renew it: quarterdeck mesh access ${entrance.target.component.id} --renew`,
      );
    }
    return access;
  }
  if (!session.attended || session.readOnly || session.rehearsing) throw noAccess(entrance);
  const way = await session.ask.choice({
    id: 'access',
    label: entrance.kept === undefined ? 'This console has no API key for it yet' : 'It does not take the API key of this console any more',
    help: `With one it may ask and change everything there. A new one is made in the container: headscale apikeys create --expiration ${usualKeyDays}d`,
    choices: [
      { value: 'make', label: 'Make one', detail: `valid for ${usualKeyDays} days, kept among the secrets` },
      { value: 'give', label: 'Type one that I have' },
    ],
    initial: 'make',
  });
  return way === 'give' ? giveAccess(session, entrance) : makeAccess(session, entrance, `${usualKeyDays}d`);
}

/** Makes a key with the server's own command, which needs none, tries it and keeps it. `expiration` is written as the command takes it. */
export async function makeAccess(session: Session, { target, vault, name }: MeshEntrance, expiration: string): Promise<MeshAccess> {
  const argv = ['headscale', 'apikeys', 'create', '--expiration', expiration, '-o', 'json'];
  const begun = session.noted('making').map((text) => parseJson(text) as Making);
  const known = await listedByCommand(target);
  if (known) await session.note('making', JSON.stringify({ atMs: Date.now(), known } satisfies Making));
  const access = await session.act({
    id: 'make-api-key',
    right: 'operate',
    request: `run in ${target.container.name}: ${argv.join(' ')}; keep the key in ${vault.where}`,
    target: { host: target.component.host, component: target.component.id },
    run: async (grant) => {
      const { exitCode, stdout, stderr } = await target.engine.writer(grant).exec(target.container.id, argv);
      const key = keyIn(new TextDecoder().decode(stdout));
      if (exitCode !== 0 || key === undefined) throw notMade(target, exitCode, new TextDecoder().decode(stderr));
      session.hide(key);
      const tried = await enterWith(target, key, grant.signal);
      if (!tried) {
        throw new Fault({
          code: 'failed.access',
          message: `A key was made in ${target.container.name}, and the server on ${target.place.shown} does not take it.`,
          remedy: 'Look whether both are the same server.',
        });
      }
      await vault.write(grant, name, key, 'generated');
      return tried;
    },
  });
  if (!access) throw noAccess({ target });
  if (begun.length > 0) await takeBack(session, access, { begun, expiration });
  return access;
}

/** What is noted before a key is made: when, and which keys there were. */
interface Making {
  atMs: number;
  known: readonly string[];
}

/** The numbers of all API keys, as the server's own command lists them: it needs none. */
async function listedByCommand({ engine, container, signal }: MeshTarget): Promise<readonly string[] | undefined> {
  const { exitCode, stdout } = await engine.execReading(container.id, ['headscale', 'apikeys', 'list', '-o', 'json'], { signal });
  if (exitCode !== 0) return undefined;
  try {
    const json = parseJson(new TextDecoder().decode(stdout)) as unknown;
    // An empty list may be null; from 0.30 on it is what the API answers.
    const keys = Array.isArray(json) ? json : ((json as { apiKeys?: unknown[] } | null)?.apiKeys ?? []);
    return keys.map((key) => String((key as { id?: unknown }).id));
  } catch {
    return undefined;
  }
}

/** Keys that a run made and could not keep before it broke off: new at that time, for that long, and nobody has them. */
async function takeBack(
  session: Session,
  access: MeshAccess,
  { begun, expiration }: { begun: readonly Making[]; expiration: string },
): Promise<void> {
  const { client, ownKey, target } = access;
  const spanMs = (parseDuration(expiration) ?? 0) * 1000;
  const lost = (await client.apiKeys(session.signal)).filter(
    ({ id, createdMs, expiryMs }) =>
      id !== ownKey?.id &&
      createdMs !== undefined &&
      expiryMs !== undefined &&
      Math.abs(expiryMs - createdMs - spanMs) < 5000 &&
      begun.some(({ atMs, known }) => !known.includes(id) && Math.abs(createdMs - atMs) < actLimitMs),
  );
  for (const key of lost) {
    await session.act({
      id: `take-back-${key.id}`,
      right: 'operate',
      request: `POST /api/v1/apikey/expire: ${key.prefix}, which a run that broke off made, and nobody has`,
      target: { host: target.component.host, component: target.component.id },
      run: (grant) => client.expireApiKey(grant, key),
    });
  }
}

export async function giveAccess(session: Session, { target, vault, name }: MeshEntrance): Promise<MeshAccess> {
  const key = (
    await session.ask.secret({
      id: 'api-key',
      label: `API key of ${target.component.id}`,
      help: 'It goes into a header of GET /api/v1/apikey, and is kept among the secrets where the server takes it.',
      check: apiKeyProblem,
    })
  ).trim();
  const access = await enterWith(target, key, session.signal);
  if (!access) {
    throw new Fault({
      code: 'refused.apiKey',
      message: `${target.component.id} does not take that API key. Nothing was kept.`,
      remedy: `Make one instead: quarterdeck mesh access ${target.component.id}`,
    });
  }
  await session.act({
    id: 'keep-api-key',
    right: 'operate',
    request: `keep the API key of ${target.component.id} in ${vault.where}`,
    target: { host: target.component.host, component: target.component.id },
    run: (grant) => vault.write(grant, name, key, 'given'),
  });
  return access;
}

/** Up to 0.29 the command prints a JSON text, afterwards what its API answers. */
function keyIn(stdout: string): string | undefined {
  try {
    const told = parseJson(stdout) as unknown;
    const key = typeof told === 'string' ? told : (told as { apiKey?: unknown } | null)?.apiKey;
    return typeof key === 'string' && apiKeyProblem(key) === undefined ? key : undefined;
  } catch {
    return stdout
      .split(/\s+/)
      .map((word) => word.replace(/^"|"$/g, ''))
      .find((word) => apiKeyProblem(word) === undefined);
  }
}

function notMade({ container }: MeshTarget, exitCode: number, stderr: string): Fault {
  const words = cleanLine(/"error"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(stderr)?.[1] ?? stderr.trim().split('\n').at(-1) ?? '').replace(
    /\.$/,
    '',
  );
  const isMissing = exitCode === 126 || exitCode === 127;
  return new Fault({
    code: 'failed.access',
    message: isMissing
      ? `There is no command "headscale" in ${container.name}.`
      : `No API key was made in ${container.name}: ${words || `the command ended with ${exitCode}`}.`,
    remedy: isMissing
      ? 'Make a key where the server is (headscale apikeys create), and type it: quarterdeck mesh access COMPONENT --give'
      : 'Look at its log.',
  });
}

function noAccess({ target }: Pick<MeshEntrance, 'target'>): Fault {
  return new Fault({
    code: 'refused.apiKey',
    message: `This console has no API key that ${target.component.id} takes.`,
    remedy: `Let it in once: quarterdeck mesh access ${target.component.id}`,
  });
}
