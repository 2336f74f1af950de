import { Fault } from '../../faults/fault.ts';
import { choicesOf } from '../../flows/ask-choice.ts';
import { optionOf } from '../../flows/flow-options.ts';
import { jsonTime } from '../../flows/list-table.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import { qrCode } from '../../flows/qr-code.ts';
import type { SecretName } from '../../secrets/secrets.ts';
import { parseDuration } from '../../session/answer-checks.ts';
import type { Form, FormField } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { namesLoopback } from '../../text/loopback.ts';
import { countText, dateText } from '../../text/quantities.ts';
import type { MeshKey, MeshUser } from './client/headscale-records.ts';
import { tagProblem, tagsOf } from './client/mesh-keys.ts';
import { newKeySeconds } from './flows.ts';
import { actOn, type FlowMesh, onMesh } from './mesh-session.ts';
import { loginServerOf } from './mesh-target.ts';
import { createUser } from './mesh-user.ts';
import { expirationProblem, isOneOf, isPast, keyKind, keyStatus, ownerText, showNote, untilText, wordsOf } from './mesh-words.ts';

const expiryStep = 'expires';
/** R61. */
const usualExpiration = '30d';
const nobody = 'none';
const tagsAloneSince = 28;

type Wish = Awaited<ReturnType<typeof wishOf>>;

type NewKey = { secret: string; listed: MeshKey };

export const key = onMesh(async (access) => {
  const { session, input, target } = access;
  const { id } = target.component;
  const wish = await unlessCancelled(session, 'No key was created.', async () => wishOf(access));
  const { user, tags, reusable, ephemeral } = wish;
  // Otherwise the key would only be an open way into the mesh.
  if (!session.attended && input.options.plain !== true && !wish.keep && !session.dryRun) {
    const remedy = `Add --plain to print only the key, or omit --no-keep: quarterdeck key ${id}`;
    throw new Fault('refused.unattended', 'The key would be neither shown nor stored.', remedy);
  }
  const server = await loginServerOf(target);
  const before = await earlierKey(access);
  const made = before ?? (await makeKey(access, wish));
  if (!made) return { message: 'Dry run: no key was created.' };
  if (!before && wish.keep) await keep(access, made);
  const kept = before !== undefined || wish.keep;
  const isSeen = await showOnce(access, made, server, kept);
  const { listed } = made;
  const once = reusable ? '' : ', for one node';
  const rest = `${kept ? ' The key is in the secret store.' : ''}${isSeen ? '' : ` The key was not shown. To reveal it: quarterdeck secrets reveal ${id}.join KEY`}`;
  return {
    message: `Key ${listed.id} for ${user?.name ?? tags.join(' ')} is valid until ${dateText(listed.expiryMs)}${once}.${rest}`,
    data: {
      ...{ id: listed.id, user: user?.name ?? null, tags, reusable, ephemeral },
      ...{ expiresAt: jsonTime(listed.expiryMs), loginServer: server ?? null, kept },
    },
  };
});

async function makeKey(access: FlowMesh, wish: Wish): Promise<NewKey | undefined> {
  const { session } = access;
  const expiryMs = Date.now() + wish.seconds * 1000;
  await session.note(expiryStep, String(expiryMs));
  return actOn(access, 'make-key', {
    right: 'reveal',
    request: `POST /api/v1/preauthkey: ${describe(wish)}, until ${dateText(expiryMs)}`,
    run: async (grant) => {
      const { secret, key: listed } = await access.client.createKey(grant, { ...wish, expiryMs });
      session.hide(secret);
      return { secret, listed };
    },
  });
}

async function takeBack(access: FlowMesh, actId: string, { id }: MeshKey, why: string): Promise<void> {
  const request = `POST /api/v1/preauthkey/expire: key ${id}, ${why}`;
  await actOn(access, actId, { right: 'operate', request, run: (grant) => access.client.expireKey(grant, id) });
}

/** Returns the key that an interrupted run stored. A key that it created but did not store is expired. */
async function earlierKey(access: FlowMesh): Promise<NewKey | undefined> {
  const { session, context, client, target } = access;
  const times = session.noted(expiryStep).map(Number);
  if (times.length === 0) return undefined;
  const { id, host } = target.component;
  const keys = (await client.keys(session.signal)).filter(({ expiryMs }) => isOneOf(expiryMs, times));
  const vault = await context.vault(session);
  const name = secretOf(host, id);
  const newest = (await vault.list(session.signal)).find((entry) => entry.name === name)?.versions.at(-1);
  const kept = keys.find((key) => newest?.origin.startsWith(`key ${key.id},`));
  for (const key of keys.filter((one) => one !== kept && !isPast(one.expiryMs, Date.now())))
    await takeBack(access, `take-back-${key.id}`, key, 'created by an interrupted run');
  const secret = kept && (await vault.read(name, session.signal));
  if (!kept || secret === undefined) return undefined;
  session.hide(secret);
  return { secret, listed: kept };
}

async function wishOf(access: FlowMesh) {
  const { session, input, client } = access;
  let users = await client.users(session.signal);
  const isTagged = optionOf(input, 'user') === nobody && client.version.minor >= tagsAloneSince;
  if (users.length === 0 && !isTagged) {
    if (!session.attended || session.dryRun) {
      const message = 'The control server has no users yet.';
      throw new Fault('usage.user', message, `Create the first user: quarterdeck mesh user ${access.target.component.id} create NAME`);
    }
    await createUser(access, { label: 'Name of the first user' });
    users = await client.users(session.signal);
  }
  const values = await session.fill(formOf(access, users));
  return {
    user: users.find(({ id }) => id === values['user']) ?? users.find(({ name }) => name === values['user']),
    tags: tagsOf(values['tags'] ?? ''),
    reusable: values['reusable'] === 'yes',
    ephemeral: values['ephemeral'] === 'yes',
    seconds: parseDuration(values['expiration'] ?? '') ?? 0,
    keep: values['keep'] === 'yes',
  };
}

function formOf({ input, client }: FlowMesh, users: readonly MeshUser[]): Form {
  const { options } = input;
  const text = (name: string, usual: string) => optionOf(input, name) ?? usual;
  const usual = { section: 'The key', required: true, kind: 'text' } as const;
  const field = (id: string, label: string, more: Pick<FormField, 'value'> & Partial<FormField>): FormField => ({
    id,
    label,
    ...usual,
    ...more,
  });
  const noYes = choicesOf({ no: 'no', yes: 'yes' });
  const yesNo = (id: string, label: string, value: boolean, help: string) =>
    field(id, label, { kind: 'choice', value: value ? 'yes' : 'no', choices: noYes, help });
  const withoutUser = client.version.minor >= tagsAloneSince;
  const names = users.map(({ name }) => name);
  // Users are chosen by name; the id is added only if two names are equal.
  const choices = users.map(({ id, name, displayName, email }) => {
    const detail = [displayName, email].filter((part) => part !== '' && part !== name).join(', ');
    return {
      value: name === nobody || names.filter((one) => one === name).length > 1 ? id : name,
      label: name,
      ...(detail !== '' && { detail }),
    };
  });
  return {
    id: 'key',
    title: 'Pre-auth key for a node',
    fields: [
      field('user', 'User', {
        kind: 'choice',
        // The owner of the node must not be guessed.
        value: text('user', choices.length === 1 ? (choices[0]?.value ?? '') : ''),
        choices: [...choices, ...(withoutUser ? [{ value: nobody, label: 'none', detail: 'the node belongs to its tags' }] : [])],
        help: `User that owns the nodes that join with the key.${withoutUser ? ' For servers, use tags instead of a user.' : ''}`,
      }),
      field('tags', 'Tags', {
        value: text('tags', ''),
        required: false,
        help: 'Tags of the node, comma-separated, such as tag:server,tag:media. The policy must list them under tagOwners.',
        check: (value) => tagsOf(value).map(tagProblem).find(Boolean),
      }),
      field('expiration', 'Valid for', {
        value: text('expiration', usualExpiration),
        help: 'How long the key can be used to join, such as 12h or 30d. Nodes that have joined stay in the mesh.',
        check: expirationProblem,
      }),
      yesNo('reusable', 'Reusable', options.reusable === true, 'Allow more than one node to join with the key.'),
      yesNo(
        'ephemeral',
        'Ephemeral nodes',
        options.ephemeral === true,
        'Nodes that join with the key are removed automatically after they have been offline for a while.',
      ),
      yesNo(
        'keep',
        'Store the key',
        options['no-keep'] !== true,
        'The key is shown only once. To reveal a stored key later: quarterdeck secrets reveal.',
      ),
    ],
    check: ({ user, tags }) => (user === nobody && tagsOf(tags ?? '').length === 0 ? { tags: 'A key without a user requires a tag.' } : {}),
  };
}

const secretOf = (host: string, component: string): SecretName => `${host}/${component}.join/KEY`;

async function keep(access: FlowMesh, { secret, listed }: NewKey): Promise<void> {
  const { id, host } = access.target.component;
  const vault = await access.context.vault(access.session);
  await actOn(access, 'keep-key', {
    right: 'operate',
    request: `store pre-auth key ${listed.id} of ${id} in ${vault.where}`,
    run: (grant) => vault.write(grant, secretOf(host, id), secret, `key ${listed.id}, valid until ${dateText(listed.expiryMs)},`),
  });
}

/** Shows the key. If that fails, a stored key stays, and any other is expired, because no one could use it. */
async function showOnce(access: FlowMesh, { secret, listed }: NewKey, server: string | undefined, kept: boolean): Promise<boolean> {
  const { session, input } = access;
  const isPlain = input.options.plain === true;
  if (!session.attended && !isPlain) return false;
  if (server !== undefined && namesLoopback(server) && !isPlain)
    showNote(session, `Nodes would connect to ${server}, which is the node itself. Set server_url to the https address first.`);
  const line = `tailscale up --login-server ${server ?? 'https://ADDRESS-OF-THE-CONTROL-SERVER'} --auth-key ${secret}`;
  try {
    session.show({
      kind: 'secret',
      label: `Run on the node (shown once); the QR code contains only the key`,
      value: isPlain ? secret : line,
      secondsLeft: newKeySeconds,
      ...(isPlain ? { plain: true } : { code: qrCode(secret) }),
    });
    return true;
  } catch (thrown) {
    if (kept) return false;
    await takeBack(access, 'take-back', listed, 'which was not shown');
    throw thrown;
  }
}

function describe(wish: Wish): string {
  const tags = wish.tags.length > 0 ? `, ${countText(wish.tags.length, 'tag')} (${wish.tags.join(' ')})` : '';
  return `${wish.user ? `user ${wish.user.name}` : 'no user'}, ${keyKind(wish)}${tags}`;
}

export const meshExpireKey = onMesh(async (access) => {
  const { session, input, client } = access;
  const keys = await client.keys(session.signal);
  const valid = keys.filter((key) => keyStatus(key, Date.now()) === 'valid');
  const written = wordsOf(input)[0] ?? session.noted('key').at(-1);
  if (written === undefined && valid.length === 0) return { message: 'No valid pre-auth key to expire.' };
  return unlessCancelled(session, 'No key was expired.', async () => {
    const wanted =
      written ??
      (await session.ask.choice({
        id: 'key',
        fresh: true,
        label: 'Key',
        choices: valid.map((key) => ({ value: key.id, label: labelOf(key) })),
      }));
    const key = keys.find(({ id }) => id === wanted);
    if (!key) {
      const remedy = valid.length > 0 ? `Valid keys: ${valid.map(({ id }) => id).join(', ')}.` : 'There are no valid keys.';
      throw new Fault('usage.key', `No pre-auth key has the ID "${cleanLine(wanted)}".`, remedy);
    }
    await session.note('key', key.id);
    const isOver = async () =>
      (await client.keys(session.signal)).some((one) => one.id === key.id && keyStatus(one, Date.now()) === 'expired');
    await actOn(access, 'expire-key', {
      right: 'destroy',
      title: `Expire pre-auth key ${key.id} (${ownerText(key)})`,
      request: `POST /api/v1/preauthkey/expire: ${key.id} (${key.masked})`,
      consequences: [
        'Nodes can no longer join with the key, and it cannot be reactivated.',
        'Nodes that have joined with the key stay in the mesh.',
      ],
      done: isOver,
      run: (grant) => client.expireKey(grant, key.id),
    });
    if (session.dryRun) return { message: `Dry run: key ${key.id} was not changed.` };
    if (!(await isOver())) {
      const message = `The control server still lists key ${key.id} as valid.`;
      throw new Fault('failed.mesh', message, 'Check the log of the control server.');
    }
    return { message: `Expired pre-auth key ${key.id} (${ownerText(key)}).`, data: { id: key.id } };
  });
});

function labelOf(key: MeshKey): string {
  return `${key.id}  ${ownerText(key)}  ${keyKind(key)}, expires ${untilText(key.expiryMs, Date.now())}  ${key.masked}`;
}
