import { Fault } from '../faults/fault.ts';
import { shown } from '../products/object-storage.ts';
import { objectsRemoveAbout } from './about-objects.ts';
import type { Flow } from './flow.ts';
import { wordsUpTo } from './flow-options.ts';
import { factsOf, objectAsked, openObjects } from './objects-open.ts';
import { replaced } from './objects-put.ts';

const usage = 'objects remove COMPONENT BUCKET/KEY';

export const objectsRemove: Flow = {
  ...objectsRemoveAbout,
  async run(session, input, world) {
    const [word] = wordsUpTo(1, input, { takes: 'One object at a time', remedy: `quarterdeck ${usage}` });
    const name = await objectAsked(session, word, usage);
    const { store, target } = await openObjects(session, input, world);
    const there = await factsOf(store, name, session.signal);
    const removed = await session.act({
      id: 'remove',
      right: 'destroy',
      title: `Remove ${shown(name)}`,
      request: `DELETE ${shown(name)}`,
      target,
      consequences: [replaced(there)],
      done: async () => (await store.facts(name, session.signal)) === undefined,
      run: async (grant) => {
        await store.remove(grant, name);
        return true;
      },
    });
    if (!removed) return { message: 'Rehearsed: nothing was removed.' };
    if (await store.facts(name, session.signal))
      throw new Fault({
        code: 'failed.objects',
        message: `${shown(name)} is still there.`,
        remedy: 'Somebody else may write it too, or the bucket locks what is in it.',
      });
    return { message: `${shown(name)} is removed.`, data: name };
  },
};
