import { cleanLine } from '../text/clean.ts';
import { countText } from '../text/quantities.ts';
import { secretsRemoveAbout } from './about-secrets.ts';
import type { Flow } from './flow.ts';
import { chooseKept, partsOf } from './secret-names.ts';
import { enginePlaces } from './secret-places.ts';

export const secretsRemove: Flow = {
  ...secretsRemoveAbout,
  async run(session, input, world) {
    const vault = await world.vault(session);
    const { name, versions } = await chooseKept(session, input, await vault.list(session.signal));
    const shown = cleanLine(name);
    const { component } = partsOf(name);
    const copies = enginePlaces(name, world.catalog.get(component), world.fleet.snapshot());
    const removed = await session.act({
      id: 'remove',
      right: 'destroy',
      title: `Forget ${shown}`,
      request: `remove ${shown} from ${vault.where}`,
      target: { host: input.place, component },
      consequences: [
        `${countText(versions.length, 'version')} of it, and with them the way back to what was deployed with them.`,
        ...(copies.length > 0
          ? [`It is in use: the next deploy of ${component} will ask for it, or make up another that does not fit its data.`]
          : []),
      ],
      run: async (grant) => {
        await vault.remove(grant, name);
        return true;
      },
    });
    return { message: removed ? `${shown} is forgotten.` : 'Rehearsed: nothing was removed.' };
  },
};
