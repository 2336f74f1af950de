import { cleanLine } from '../text/clean.ts';
import { agoText, countText } from '../text/quantities.ts';
import { secretsListAbout } from './about-secrets.ts';
import type { Flow } from './flow.ts';
import { isInstanceOfOthers, partsOf } from './secret-names.ts';
import { enginePlaces, vaultPlace } from './secret-places.ts';

export const secretsList: Flow = {
  ...secretsListAbout,
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
    if (vault.passedOver !== undefined) session.show({ kind: 'text', text: `${vault.passedOver} Secrets in it are not listed.` });
    if (secrets.length === 0)
      return {
        message: `No secret ${wanted === undefined ? '' : `of ${cleanLine(wanted)} `}is kept in ${vault.where}${wanted !== undefined && isInstanceOfOthers(wanted) ? ': Quarterdeck did not deploy it' : ''}.`,
        data: { secrets },
      };
    // Not a table: where and who are sentences, and none of them may be cut.
    for (const { name, versions, rests } of secrets) {
      const newest = versions.at(-1);
      const age = newest ? `, the newest ${newest.origin} ${agoText(now - newest.createdMs)}` : '';
      const places = rests.map(({ where, readableBy }) => `  ${where}: ${readableBy}`);
      session.show({ kind: 'text', text: [`${cleanLine(name)}  ${countText(versions.length, 'version')}${age}`, ...places].join('\n') });
    }
    const away = snapshot.places.filter(({ engine }) => !engine.reachable).map(({ name }) => name);
    const note = away.length > 0 ? ` What the engine of ${away.map(cleanLine).join(', ')} keeps is not known: it does not answer.` : '';
    return { message: `${countText(secrets.length, 'secret')} in ${vault.where}.${note}`, data: { secrets } };
  },
};
