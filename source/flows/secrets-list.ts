import { cleanLine } from '../text/clean.ts';
import { agoText, countText } from '../text/quantities.ts';
import type { Flow } from './flow.ts';
import { partsOf } from './secret-names.ts';
import { enginePlaces, vaultPlace } from './secret-places.ts';

export const secretsList: Flow = {
  id: 'secrets-list',
  verb: 'secrets list',
  title: 'List the secrets and where they rest',
  summary: 'Lists every secret that is kept, without its value: versions, age, every place where it rests, and who can read it there.',
  right: 'read',
  about: 'host',
  offline: true,
  usage: '[COMPONENT]',
  async run(session, input, world) {
    const vault = await world.vault(session);
    const wanted = input.words[0];
    const entries = (await vault.list(session.signal)).filter(({ name }) => wanted === undefined || partsOf(name).component === wanted);
    const snapshot = world.fleet.snapshot();
    const now = Date.now();
    const secrets = entries.map(({ name, versions }) => ({
      name,
      versions,
      rests: [vaultPlace(vault), ...enginePlaces(name, world.catalog.get(partsOf(name).component), snapshot)],
    }));
    const left = await vault.care?.leftIn();
    if (left !== undefined) {
      session.show({
        kind: 'text',
        text: `Copies are still in ${left}: a migration was interrupted. Run "quarterdeck secrets migrate" again.`,
      });
    }
    if (secrets.length === 0)
      return {
        message: `No secret ${wanted === undefined ? '' : `of ${cleanLine(wanted)} `}is kept in ${vault.where}.`,
        data: { secrets },
      };
    session.show({
      kind: 'table',
      title: 'Secrets',
      columns: ['NAME', 'VERSIONS', 'NEWEST', 'RESTS IN', 'WHO CAN READ IT THERE'],
      align: ['left', 'right'],
      rows: secrets.flatMap(({ name, versions, rests }) =>
        rests.map(({ where, readableBy }, index) =>
          index > 0
            ? ['', '', '', where, readableBy]
            : [
                name,
                String(versions.length),
                `${agoText(now - (versions.at(-1)?.createdMs ?? now))}, ${versions.at(-1)?.origin ?? ''}`,
                where,
                readableBy,
              ],
        ),
      ),
    });
    const away = snapshot.places.filter(({ engine }) => !engine.reachable).map(({ name }) => name);
    const note = away.length > 0 ? ` What the engine of ${away.map(cleanLine).join(', ')} keeps is not known: it does not answer.` : '';
    return { message: `${countText(secrets.length, 'secret')} in ${vault.where}.${note}`, data: { secrets } };
  },
};
