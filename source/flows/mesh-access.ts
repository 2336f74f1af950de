import { meshAccessAbout } from './about-mesh.ts';
import type { Flow, FlowOutcome } from './flow.ts';
import { enterWith, entranceOf, giveAccess, type MeshAccess, makeAccess, usualKeyDays } from './mesh-session.ts';
import { dateText, expirationOf, leavingSays } from './mesh-words.ts';

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
    const access = await leavingSays(session, 'Nothing was made, and nothing was kept.', () =>
      // The command counts in its own units, hours are in all of them.
      give === true ? giveAccess(session, entrance) : makeAccess(session, entrance, `${Math.ceil(seconds / 60)}m`),
    );
    const old = before?.ownKey;
    if (old && old.id !== access.ownKey?.id) {
      await session.act({
        id: 'expire-old',
        right: 'operate',
        request: `POST /api/v1/apikey/expire: ${old.prefix}, which this console had before`,
        target: { host, component: id },
        run: (grant) => access.client.expireApiKey(grant, old),
      });
    }
    return outcomeOf(access, `This console is let in, until ${dateText(access.ownKey?.expiryMs)}.`);
  },
};

function outcomeOf({ target, ownKey }: MeshAccess, message: string): FlowOutcome {
  const expiresAt = ownKey?.expiryMs === undefined ? null : new Date(ownKey.expiryMs).toISOString();
  return { message, data: { component: target.component.id, version: target.version.shown, apiKey: ownKey?.prefix ?? null, expiresAt } };
}
