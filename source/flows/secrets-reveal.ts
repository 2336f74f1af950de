import { Fault } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import { revealedSeconds, secretsRevealAbout } from './about-secrets.ts';
import type { Flow } from './flow.ts';
import { chooseKept, partsOf } from './secret-names.ts';

export const secretsReveal: Flow = {
  ...secretsRevealAbout,
  async run(session, input, world) {
    const vault = await world.vault(session);
    const { name, versions } = await chooseKept(session, input, await vault.list(session.signal));
    const shown = cleanLine(name);
    const { version: wanted, plain, copy } = input.options;
    const version = typeof wanted === 'string' ? versions.find(({ id }) => id === wanted) : versions.at(-1);
    if (!version) {
      throw new Fault({
        code: 'usage.version',
        message: `${shown} has no version "${cleanLine(String(wanted))}".`,
        remedy: `Its versions, oldest first: ${versions.map(({ id }) => id).join(', ')}.`,
      });
    }
    const revealed = await session.act({
      id: 'reveal',
      right: 'reveal',
      request: `reveal version ${version.id} of ${shown}`,
      target: { host: input.place, component: partsOf(name).component },
      run: async (grant) => {
        const value = await vault.read(name, grant.signal, version.id);
        if (value === undefined) {
          throw new Fault({
            code: 'failed.secrets',
            message: `The value of ${shown} is missing in ${vault.where}.`,
            remedy: 'Set it again, or import it from an export.',
          });
        }
        session.show({
          kind: 'secret',
          label: shown,
          value,
          secondsLeft: revealedSeconds,
          ...(plain === true && { plain }),
          ...(copy === true && { copyOnly: copy }),
        });
        return true;
      },
    });
    return {
      message: revealed ? `Revealed version ${version.id} of ${shown}.` : 'Rehearsed: nothing was revealed.',
      data: { name, version: version.id },
    };
  },
};
