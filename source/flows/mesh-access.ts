import type { MeshApiKey } from '../products/headscale-things.ts';
import type { Session } from '../session/session.ts';
import { meshAccessAbout } from './about-mesh.ts';
import type { Flow, FlowOutcome } from './flow.ts';
import { enterWith, entranceOf, giveAccess, type MeshAccess, makeAccess, usualKeyDays } from './mesh-session.ts';
import { dateText, expirationOf, isPast, leavingSays } from './mesh-words.ts';

export const meshAccess: Flow = {
  ...meshAccessAbout,
  async run(session, input, world): Promise<FlowOutcome> {
    const { seconds } = expirationOf(input, `${usualKeyDays}d`);
    const entrance = await entranceOf(session, input, world);
    const { target, kept } = entrance;
    const { id, host } = target.component;
    const before = kept === undefined ? undefined : await enterWith(target, kept, session.signal);
    const { give, renew } = input.options;
    if (before && give !== true && renew !== true)
      return outcomeOf(before, `This console is let in already, until ${dateText(before.ownKey?.expiryMs)}.`);
    if (session.rehearsing) {
      const what =
        give === true ? 'Would ask for an API key, try it, and keep it' : 'Would make an API key in the container, try it, and keep it';
      session.show({ kind: 'text', text: `${what} in ${entrance.vault.where}.` });
      return { message: 'Rehearsed: nothing was made.' };
    }
    const [earlier] = session.noted('own-key');
    if (earlier === undefined) await session.note('own-key', before?.ownKey?.id ?? '');
    // A run that broke off may have made the new one already: then the one before it is all that is left to expire.
    const isNew = before !== undefined && earlier !== undefined && before.ownKey !== undefined && before.ownKey.id !== earlier;
    const access = isNew
      ? before
      : await leavingSays(session, 'Nothing was made, and nothing was kept.', () =>
          // The command counts in its own units, hours are in all of them.
          give === true ? giveAccess(session, entrance) : makeAccess(session, entrance, `${Math.ceil(seconds / 60)}m`),
        );
    const old = await oldKeyOf(session, access, earlier ?? before?.ownKey?.id);
    if (old && old.id !== access.ownKey?.id) {
      await session.act({
        id: 'expire-old',
        right: 'operate',
        request: `POST /api/v1/apikey/expire: ${old.prefix}, which this console had before`,
        target: { host, component: id },
        done: async () => isPast((await oldKeyOf(session, access, old.id))?.expiryMs, Date.now()),
        run: (grant) => access.client.expireApiKey(grant, old),
      });
    }
    return outcomeOf(access, `This console is let in, until ${dateText(access.ownKey?.expiryMs)}.`);
  },
};

async function oldKeyOf(session: Session, { client }: MeshAccess, id: string | undefined): Promise<MeshApiKey | undefined> {
  if (id === undefined || id === '') return undefined;
  return (await client.apiKeys(session.signal)).find((one) => one.id === id);
}

function outcomeOf({ target, ownKey }: MeshAccess, message: string): FlowOutcome {
  const expiresAt = ownKey?.expiryMs === undefined ? null : new Date(ownKey.expiryMs).toISOString();
  return { message, data: { component: target.component.id, version: target.version.shown, apiKey: ownKey?.prefix ?? null, expiresAt } };
}
