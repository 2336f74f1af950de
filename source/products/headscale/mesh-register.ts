import { Fault } from '../../faults/fault.ts';
import type { Procedure } from '../../flows/flow.ts';
import { optionOf } from '../../flows/flow-options.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import type { Session } from '../../session/session.ts';
import type { MeshUser } from './client/headscale-records.ts';
import { registrationKeyOf, registrationProblem } from './client/mesh-keys.ts';
import { actOn, type MeshAccess, meshOf } from './mesh-session.ts';
import { chosenUser, createUser } from './mesh-user.ts';
import { wordsOf } from './mesh-words.ts';

export const meshRegister: Procedure = async (session, input, context) => {
  const access = await meshOf(session, input, context);
  const { client } = access;
  return unlessCancelled(session, 'No node was let in. It goes on waiting for a while.', async () => {
    const key = await askKey(session, wordsOf(input));
    const user = await askUser(session, access, optionOf(input, 'user'));
    const [before] = session.noted('nodes');
    const nodes = await client.nodes(session.signal);
    // A new node of this user that was registered by hand is the one that the interrupted run registered.
    const came =
      before === undefined
        ? undefined
        : nodes.find(({ id, owner, joined }) => owner === user.name && joined === 'by hand' && !before.split(' ').includes(id));
    if (before === undefined) await session.note('nodes', nodes.map(({ id }) => id).join(' '));
    const made = await actOn(session, access, {
      id: 'register',
      right: 'operate',
      request: `POST ${client.version.minor >= 29 ? '/api/v1/auth/register' : '/api/v1/node/register'}: ${key} for ${user.name}`,
      done: async () => came !== undefined,
      run: (grant) => client.register(grant, key, user),
    });
    const node = made ?? came;
    if (!node) return { message: 'Dry run: no node was let in.' };
    const address = node.addresses[0];
    return {
      message: `${node.name} is in the mesh${address === undefined ? '' : ` as ${address}`}, and belongs to ${user.name}.`,
      data: { id: node.id, name: node.name, user: user.name, addresses: node.addresses },
    };
  });
};

async function askKey(session: Session, words: readonly string[]): Promise<string> {
  const question = {
    id: 'key',
    label: 'What does the client show?',
    help: 'The address that it names, the command of the page behind that, or the key alone. On the node: tailscale up --login-server ...',
    check: registrationProblem,
  };
  const written = words.length > 0 ? words.join(' ') : await session.ask.text(question);
  const key = registrationKeyOf(written);
  if (key !== undefined) return key;
  throw new Fault('usage.key', registrationProblem(written) ?? 'There is no key in that.', 'Copy it again.');
}

async function askUser(session: Session, access: MeshAccess, named: string | undefined): Promise<MeshUser> {
  const users = await access.client.users(session.signal);
  const isFirst = users.length === 0 && session.attended && !session.dryRun && named === undefined;
  const name = isFirst ? await createUser(session, access, { label: 'There is no user yet. What is the first one called?' }) : named;
  return chosenUser(session, access, name ?? (users.length === 1 ? users[0]?.id : undefined));
}
