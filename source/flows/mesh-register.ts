import { Fault } from '../faults/fault.ts';
import { registrationKeyOf, registrationProblem } from '../products/mesh-keys.ts';
import { meshRegisterAbout } from './about-mesh.ts';
import type { Flow } from './flow.ts';
import { meshOf } from './mesh-session.ts';
import { chosenUser } from './mesh-user.ts';
import { createUser } from './mesh-user-acts.ts';
import { leavingSays, wordsOf } from './mesh-words.ts';

export const meshRegister: Flow = {
  ...meshRegisterAbout,
  async run(session, input, world) {
    const access = await meshOf(session, input, world);
    const { client, target } = access;
    const words = wordsOf(input);
    return leavingSays(session, 'No node was let in. It goes on waiting for a while.', async () => {
      const written =
        words.length > 0
          ? words.join(' ')
          : await session.ask.text({
              id: 'key',
              label: 'What does the client show?',
              help: 'The address that it names, the command of the page behind that, or the key alone. On the node: tailscale up --login-server ...',
              check: registrationProblem,
            });
      const key = registrationKeyOf(written);
      if (key === undefined)
        throw new Fault({
          code: 'usage.key',
          message: registrationProblem(written) ?? 'There is no key in that.',
          remedy: 'Copy it again.',
        });
      const { user: named } = input.options;
      const users = await client.users(session.signal);
      const isFirst = users.length === 0 && session.attended && !session.rehearsing && typeof named !== 'string';
      const name = isFirst ? await createUser(session, access, { label: 'There is no user yet. What is the first one called?' }) : named;
      const user = await chosenUser(session, access, typeof name === 'string' ? name : users.length === 1 ? users[0]?.id : undefined);
      const [before] = session.noted('nodes');
      const nodes = await client.nodes(session.signal);
      // Whoever is new since then, by hand and of this user, is the one that the run let in before it broke off.
      const came =
        before === undefined
          ? undefined
          : nodes.find(({ id, owner, joined }) => owner === user.name && joined === 'by hand' && !before.split(' ').includes(id));
      if (before === undefined) await session.note('nodes', nodes.map(({ id }) => id).join(' '));
      const made = await session.act({
        id: 'register',
        right: 'operate',
        request: `POST ${client.version.minor >= 29 ? '/api/v1/auth/register' : '/api/v1/node/register'}: ${key} for ${user.name}`,
        target: { host: target.component.host, component: target.component.id },
        done: async () => came !== undefined,
        run: (grant) => client.register(grant, key, user),
      });
      const node = made ?? came;
      if (!node) return { message: 'Rehearsed: no node was let in.' };
      const address = node.addresses[0];
      return {
        message: `${node.name} is in the mesh${address === undefined ? '' : ` as ${address}`}, and belongs to ${user.name}.`,
        data: { id: node.id, name: node.name, user: user.name, addresses: node.addresses },
      };
    });
  },
};
