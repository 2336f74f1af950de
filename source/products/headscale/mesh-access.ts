import { dryRunOf } from '../../flows/dry-run.ts';
import type { FlowOutcome, Procedure } from '../../flows/flow.ts';
import { jsonTime } from '../../flows/list-table.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import type { Session } from '../../session/session.ts';
import { dateText } from '../../text/quantities.ts';
import type { MeshApiKey } from './client/headscale-records.ts';
import { actOn, enterWith, entranceOf, giveAccess, type MeshAccess, makeAccess, usualKeyDays } from './mesh-session.ts';
import { expirationOf, isPast } from './mesh-words.ts';

export const meshAccess: Procedure = async (session, input, context) => {
  const seconds = expirationOf(input, `${usualKeyDays}d`);
  const entrance = await entranceOf(session, input, context);
  const { target, kept } = entrance;
  const before = kept === undefined ? undefined : await enterWith(target, kept, session.signal);
  const { give, renew } = input.options;
  if (before && give !== true && renew !== true)
    return outcomeOf(before, `This console is let in already, until ${dateText(before.ownKey?.expiryMs)}.`);
  if (session.dryRun) {
    const what = give === true ? 'ask for an API key' : 'make an API key in the container';
    return dryRunOf(session, `${what}, try it, and keep it in ${entrance.vault.where}.`, 'nothing was made.');
  }
  const [earlier] = session.noted('own-key');
  if (earlier === undefined) await session.note('own-key', before?.ownKey?.id ?? '');
  // An interrupted run may have created the new key already: then only the previous key is left to expire.
  const isNew = before !== undefined && earlier !== undefined && before.ownKey !== undefined && before.ownKey.id !== earlier;
  const access = isNew
    ? before
    : await unlessCancelled(session, 'Nothing was made, and nothing was kept.', () =>
        // The command has its own duration units; all its versions accept minutes.
        give === true ? giveAccess(session, entrance) : makeAccess(session, entrance, `${Math.ceil(seconds / 60)}m`),
      );
  const old = await oldKeyOf(session, access, earlier ?? before?.ownKey?.id);
  if (old && old.id !== access.ownKey?.id) {
    await actOn(session, access, {
      id: 'expire-old',
      right: 'operate',
      request: `POST /api/v1/apikey/expire: ${old.prefix}, which this console had before`,
      done: async () => isPast((await oldKeyOf(session, access, old.id))?.expiryMs, Date.now()),
      run: (grant) => access.client.expireApiKey(grant, old),
    });
  }
  return outcomeOf(access, `This console is let in, until ${dateText(access.ownKey?.expiryMs)}.`);
};

async function oldKeyOf(session: Session, { client }: MeshAccess, id: string | undefined): Promise<MeshApiKey | undefined> {
  if (id === undefined || id === '') return undefined;
  return (await client.apiKeys(session.signal)).find((one) => one.id === id);
}

function outcomeOf({ target, ownKey }: MeshAccess, message: string): FlowOutcome {
  const expiresAt = jsonTime(ownKey?.expiryMs);
  return { message, data: { component: target.component.id, version: target.version.shown, apiKey: ownKey?.prefix ?? null, expiresAt } };
}
