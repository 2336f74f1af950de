import { Fault } from '../faults/fault.ts';
import type { MeshKey } from '../products/headscale-things.ts';
import { cleanLine } from '../text/clean.ts';
import { meshExpireKeyAbout } from './about-mesh.ts';
import type { Flow } from './flow.ts';
import { meshOf } from './mesh-session.ts';
import { keyKind, keyStanding, leavingSays, ownerText, untilText, wordsOf } from './mesh-words.ts';

export const meshExpireKey: Flow = {
  ...meshExpireKeyAbout,
  async run(session, input, world) {
    const { client, target } = await meshOf(session, input, world);
    const { id: component, host } = target.component;
    const keys = await client.keys(session.signal);
    const valid = keys.filter((key) => keyStanding(key, Date.now()) === 'valid');
    const written = wordsOf(input)[0] ?? session.noted('key').at(-1);
    if (written === undefined && valid.length === 0) return { message: 'No pre-auth key is valid: there is nothing to expire.' };
    return leavingSays(session, 'No key was expired.', async () => {
      const wanted =
        written ??
        (await session.ask.choice({
          id: 'key',
          fresh: true,
          label: 'Which key?',
          choices: valid.map((key) => ({ value: key.id, label: labelOf(key) })),
        }));
      const key = keys.find(({ id }) => id === wanted);
      if (!key) {
        throw new Fault({
          code: 'usage.key',
          message: `There is no pre-auth key "${cleanLine(wanted)}".`,
          remedy: valid.length > 0 ? `Valid ones: ${valid.map(({ id }) => id).join(', ')}.` : 'None is valid.',
        });
      }
      await session.note('key', key.id);
      const isOver = async () =>
        (await client.keys(session.signal)).some((one) => one.id === key.id && keyStanding(one, Date.now()) === 'expired');
      await session.act({
        id: 'expire-key',
        right: 'destroy',
        title: `Expire pre-auth key ${key.id} of ${ownerText(key)}`,
        request: `POST /api/v1/preauthkey/expire: ${key.id} (${key.masked})`,
        target: { host, component },
        consequences: ['No node joins with it any more, and it cannot be made valid again.', 'Nodes that joined with it stay.'],
        done: isOver,
        run: (grant) => client.expireKey(grant, key.id),
      });
      if (session.rehearsing) return { message: `Rehearsed: key ${key.id} is as before.` };
      if (!(await isOver())) {
        throw new Fault({
          code: 'failed.mesh',
          message: `The control server was asked to expire key ${key.id}, and still lists it as valid.`,
          remedy: 'Look at its log.',
        });
      }
      return { message: `Pre-auth key ${key.id} of ${ownerText(key)} is expired.`, data: { id: key.id } };
    });
  },
};

function labelOf(key: MeshKey): string {
  return `${key.id}  ${ownerText(key)}  ${keyKind(key)}, ends ${untilText(key.expiryMs, Date.now())}  ${key.masked}`;
}
