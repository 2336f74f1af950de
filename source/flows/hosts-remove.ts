import { dropHost } from '../config/hosts-file.ts';
import { hostsRemoveAbout } from './about-hosts.ts';
import type { Flow } from './flow.ts';
import { bookOf, chooseHost } from './host-choice.ts';

export const hostsRemove: Flow = {
  ...hostsRemoveAbout,
  async run(session, input, world) {
    const book = bookOf(world);
    const [name, { ssh }] = await chooseHost(session, input, await book.list());
    await session.act({
      id: 'remove',
      right: 'operate',
      request: `take out of ${book.file}: hosts: ${name}: ssh: ${ssh}`,
      target: { host: name },
      run: async (grant) => {
        await dropHost(grant, book.file, name);
        await book.changed();
        await book.forget(name);
      },
    });
    if (session.rehearsing) return { message: 'Rehearsed: nothing was written.' };
    return { message: `${name} is no longer listed. Nothing was changed on it.`, data: { name } };
  },
};
