import { Fault } from '../../faults/fault.ts';
import { askChoice } from '../../flows/ask-choice.ts';
import { dryRunOf } from '../../flows/dry-run.ts';
import type { FlowOutcome, Procedure } from '../../flows/flow.ts';
import { showSecret } from '../../flows/flow-options.ts';
import { jsonTime } from '../../flows/list-table.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import { cleanLine } from '../../text/clean.ts';
import { dateText } from '../../text/quantities.ts';
import type { MeshApiKey } from './client/headscale-records.ts';
import { apiKeyPrefix } from './client/mesh-keys.ts';
import { newKeySeconds } from './flows.ts';
import type { FlowMesh, MeshAccess } from './mesh-session.ts';
import { actOn, dropApiKey, enterWith, entranceOf, newAccess, onMesh, revokeApiKeys, usualKeyDays } from './mesh-session.ts';
import { apiKeyStatus, expirationOf, isOneOf, isPast, unknownAction, untilText, wordsOf } from './mesh-words.ts';

export const meshAccess: Procedure = async (session, input, context) => {
  const seconds = expirationOf(input, `${usualKeyDays}d`);
  const entrance = await entranceOf(session, input, context);
  const { target, kept } = entrance;
  const before = kept === undefined ? undefined : await enterWith(target, kept, session.signal);
  const { give, renew } = input.options;
  if (before && give !== true && renew !== true) return outcomeOf(before, 'This console already has access');
  if (session.dryRun) {
    const what = give === true ? 'prompt for an API key' : 'create an API key in the container';
    return dryRunOf(session, `${what}, test it, and store it in ${entrance.vault.where}.`, 'nothing was created.');
  }
  const [earlier] = session.noted('own-key');
  if (earlier === undefined) await session.note('own-key', before?.ownKey?.id ?? '');
  // An interrupted run may have created the new key already: then only the previous key is left to expire.
  const isNew = before !== undefined && earlier !== undefined && before.ownKey !== undefined && before.ownKey.id !== earlier;
  const access = isNew
    ? before
    : await unlessCancelled(session, 'Nothing was created or stored.', () =>
        // The command has its own duration units; all its versions accept minutes.
        newAccess(entrance, give === true, `${Math.ceil(seconds / 60)}m`),
      );
  const old = await oldKeyOf(access, earlier ?? before?.ownKey?.id);
  if (old && old.id !== access.ownKey?.id) {
    const done = async () => isPast((await oldKeyOf(access, old.id))?.expiryMs, Date.now());
    await dropApiKey(access, 'expire-old', old, 'the previous key of this console', done);
  }
  return outcomeOf(access, 'This console has access');
};

async function oldKeyOf({ session, client }: MeshAccess, id: string | undefined): Promise<MeshApiKey | undefined> {
  if (id === undefined || id === '') return undefined;
  return (await client.apiKeys(session.signal)).find((one) => one.id === id);
}

function outcomeOf({ target, ownKey }: MeshAccess, what: string): FlowOutcome {
  const expiresAt = jsonTime(ownKey?.expiryMs);
  const message = `${what}${ownKey?.expiryMs === undefined ? '' : ` until ${dateText(ownKey.expiryMs)}`}.`;
  return { message, data: { component: target.component.id, version: target.version.shown, apiKey: ownKey?.prefix ?? null, expiresAt } };
}

const actions = { create: ['Create an API key', 'for a program or the web UI'], expire: 'Expire an API key' } as const;

export const meshApiKey = onMesh((access) => {
  const { session } = access;
  const [given, id] = wordsOf(access.input);
  const unknown = (written: string) => unknownAction(written, 'an API key', Object.keys(actions));
  return unlessCancelled(session, 'No API key was changed.', async () => {
    const action = await askChoice(session, { id: 'action', label: 'Action', choices: actions }, { given, unknown });
    return action === 'create' ? create(access) : expire(access, id);
  });
});

async function create(access: FlowMesh): Promise<FlowOutcome> {
  const { session, input, client, ownKey } = access;
  const seconds = expirationOf(input, '90d');
  const { plain } = input.options;
  if (!session.attended && plain !== true && !session.dryRun)
    throw new Fault('refused.unattended', 'The key is shown only once and requires a terminal.', 'Add --plain to print only the key.');
  const times = session.noted('expires').map(Number);
  const isLost = (one: MeshApiKey) => one.id !== ownKey?.id && isOneOf(one.expiryMs, times) && apiKeyStatus(one, Date.now()) === 'valid';
  if (times.length > 0) await revokeApiKeys(access, (await client.apiKeys(session.signal)).filter(isLost));
  const expiryMs = Date.now() + seconds * 1000;
  await session.note('expires', String(expiryMs));
  const key = await actOn(access, 'create-api-key', {
    right: 'reveal',
    request: `POST /api/v1/apikey: until ${dateText(expiryMs)}`,
    run: async (grant) => {
      const made = await client.createApiKey(grant, expiryMs);
      session.hide(made);
      return made;
    },
  });
  if (key === undefined) return { message: 'Dry run: no API key was created.' };
  try {
    showSecret(session, input, { label: 'API key (shown only once)', value: key, secondsLeft: newKeySeconds });
  } catch (thrown) {
    // If the key cannot be shown, it is expired, because no one could use it.
    const listed = (await client.apiKeys(session.signal)).find(({ prefix }) => prefix.includes(apiKeyPrefix(key) ?? key));
    if (listed) await dropApiKey(access, 'take-back', listed, 'which was not shown');
    throw thrown;
  }
  return {
    message: `The API key is valid until ${dateText(expiryMs)}. It allows any change in the mesh.`,
    data: { expiresAt: new Date(expiryMs).toISOString() },
  };
}

async function expire(access: MeshAccess, written: string | undefined): Promise<FlowOutcome> {
  const { session, client, target, ownKey } = access;
  const now = Date.now();
  const keys = await client.apiKeys(session.signal);
  const others = keys.filter((key) => key.id !== ownKey?.id && apiKeyStatus(key, now) === 'valid');
  if (written === undefined && others.length === 0 && session.noted('api-key').length === 0)
    return { message: 'No other valid API key to expire.' };
  const wanted =
    written ??
    session.noted('api-key').at(-1) ??
    (await session.ask.choice({
      id: 'api-key-id',
      label: 'API key',
      fresh: true,
      help: `The key of this console is not listed. To replace it: quarterdeck mesh access ${target.component.id} --renew`,
      choices: others.map((key) => ({
        value: key.id,
        label: `${key.id}  ${key.prefix}`,
        detail: `expires ${untilText(key.expiryMs, now)}, last used ${untilText(key.lastSeenMs, now)}`,
      })),
    }));
  const key = keys.find(({ id, prefix }) => id === wanted || prefix === wanted);
  if (!key)
    throw new Fault('usage.key', `No API key matches "${cleanLine(wanted)}".`, `Use one of: ${keys.map(({ id }) => id).join(', ')}.`);
  if (key.id === ownKey?.id) {
    const message = 'This console uses that API key and would lose access to the control server.';
    throw new Fault('refused.lockOut', message, `Replace the key: quarterdeck mesh access ${target.component.id} --renew`);
  }
  await session.note('api-key', key.id);
  await actOn(access, 'expire-api-key', {
    right: 'destroy',
    title: `Expire the API key ${key.prefix}`,
    request: `POST /api/v1/apikey/expire: ${key.prefix}`,
    consequences: [
      'Programs and web UIs that use the key lose access immediately.',
      key.lastSeenMs === undefined
        ? 'According to the server, the key was never used.'
        : `The key was last used ${untilText(key.lastSeenMs, now)}.`,
    ],
    done: async () =>
      (await client.apiKeys(session.signal)).some((one) => one.id === key.id && apiKeyStatus(one, Date.now()) === 'expired'),
    run: (grant) => client.expireApiKey(grant, key),
  });
  return { message: session.dryRun ? 'Dry run: the key was not changed.' : `Expired the API key ${key.prefix}.`, data: { id: key.id } };
}
