import { Fault } from '../faults/fault.ts';
import type { MeshKey, MeshUser } from '../products/headscale-things.ts';
import { tagProblem, tagsOf } from '../products/mesh-keys.ts';
import type { SecretName } from '../secrets/vault.ts';
import { parseDuration } from '../session/answer-checks.ts';
import type { Form, Session } from '../session/session.ts';
import { countText } from '../text/quantities.ts';
import { keyAbout, newKeySeconds } from './about-mesh.ts';
import type { Flow, FlowInput, FlowOutcome, FlowWorld } from './flow.ts';
import { type MeshAccess, meshOf } from './mesh-session.ts';
import { loginServerOf } from './mesh-target.ts';
import { createUser } from './mesh-user-acts.ts';
import { dateText, expirationProblem, isOneOf, isPast, keyKind, leavingSays, tellAside } from './mesh-words.ts';
import { qrCode } from './qr-code.ts';

/** What is noted before a key is made: when it is to end. */
const expiryStep = 'expires';
/** R61. */
const usualExpiration = '30d';
/** In the place of a user: the key belongs to its tags. */
const nobody = 'none';
/** From this version on a key needs no user. */
const tagsAloneSince = 28;

interface Wish {
  user: MeshUser | undefined;
  tags: readonly string[];
  reusable: boolean;
  ephemeral: boolean;
  seconds: number;
  keep: boolean;
}

export const key: Flow = {
  ...keyAbout,
  async run(session, input, world) {
    const access = await meshOf(session, input, world);
    const { client, target } = access;
    const { id, host } = target.component;
    const wish = await leavingSays(session, 'No key was made.', async () => wishOf(session, input, access));
    throwIfNobodySees(session, input, wish, id);
    const server = await loginServerOf(target);
    const before = await earlierKey(session, world, access);
    if (before) {
      const isSeen = await showOnce(session, input, { access, made: before, server, kept: true });
      return outcomeOf(id, wish, { listed: before.listed, server, kept: true, isSeen });
    }
    const expiryMs = Date.now() + wish.seconds * 1000;
    await session.note(expiryStep, String(expiryMs));
    const made = await session.act({
      id: 'make-key',
      right: 'reveal',
      request: `POST /api/v1/preauthkey: ${describe(wish)}, until ${dateText(expiryMs)}`,
      target: { host, component: id },
      run: async (grant) => {
        const { secret, key: listed } = await client.createKey(grant, { ...wish, expiryMs });
        session.hide(secret);
        return { secret, listed };
      },
    });
    if (!made) return { message: 'Rehearsed: no key was made.' };
    const kept = wish.keep && (await keep(session, world, { access, made }));
    const isSeen = await showOnce(session, input, { access, made, server, kept });
    return outcomeOf(id, wish, { listed: made.listed, server, kept, isSeen });
  },
};

interface Became {
  listed: MeshKey;
  server: string | undefined;
  kept: boolean;
  isSeen: boolean;
}

function outcomeOf(id: string, wish: Wish, { listed, server, kept, isSeen }: Became): FlowOutcome {
  const { user, tags, reusable, ephemeral } = wish;
  const once = reusable ? '' : ', for one node';
  const rest = `${kept ? ' It is kept among the secrets.' : ''}${isSeen ? '' : ` It was not shown: quarterdeck secrets reveal ${id}.join KEY`}`;
  return {
    message: `Key ${listed.id} for ${ownerOf(wish)} is valid until ${dateText(listed.expiryMs)}${once}.${rest}`,
    data: {
      id: listed.id,
      user: user?.name ?? null,
      tags,
      reusable,
      ephemeral,
      expiresAt: listed.expiryMs === undefined ? null : new Date(listed.expiryMs).toISOString(),
      loginServer: server ?? null,
      kept,
    },
  };
}

/**
 * What a run that broke off left: the key that it kept, or one that nobody has, which is taken back. It is known by the very moment at which it was to
 * end.
 */
async function earlierKey(session: Session, world: FlowWorld, access: MeshAccess): Promise<Made['made'] | undefined> {
  const times = session.noted(expiryStep).map(Number);
  if (times.length === 0) return undefined;
  const { client, target } = access;
  const { id, host } = target.component;
  const keys = (await client.keys(session.signal)).filter(({ expiryMs }) => isOneOf(expiryMs, times));
  const vault = await world.vault(session);
  const name = secretOf(host, id);
  const newest = (await vault.list(session.signal)).find((entry) => entry.name === name)?.versions.at(-1);
  const kept = keys.find((key) => newest?.origin.startsWith(`key ${key.id},`));
  for (const key of keys.filter((one) => one !== kept && !isPast(one.expiryMs, Date.now()))) {
    await session.act({
      id: `take-back-${key.id}`,
      right: 'operate',
      request: `POST /api/v1/preauthkey/expire: key ${key.id}, which a run that broke off made, and nobody has`,
      target: { host, component: id },
      run: (grant) => client.expireKey(grant, key.id),
    });
  }
  const secret = kept && (await vault.read(name, session.signal));
  if (!kept || secret === undefined) return undefined;
  session.hide(secret);
  return { secret, listed: kept };
}

/** One screen for all of it, with what the command line said already in its place. */
async function wishOf(session: Session, input: FlowInput, access: MeshAccess): Promise<Wish> {
  const { client } = access;
  let users = await client.users(session.signal);
  if (users.length === 0) {
    if (!session.attended || session.rehearsing)
      throw new Fault({
        code: 'usage.user',
        message: 'The control server has no user yet, and a key belongs to one.',
        remedy: `Create the first one: quarterdeck mesh user ${access.target.component.id} create NAME`,
      });
    await createUser(session, access, { label: 'There is no user yet. What is the first one called?' });
    users = await client.users(session.signal);
  }
  const values = await session.fill(formOf(input, access, users));
  return {
    user: users.find(({ id }) => id === values['user']) ?? users.find(({ name }) => name === values['user']),
    tags: tagsOf(values['tags'] ?? ''),
    reusable: values['reusable'] === 'yes',
    ephemeral: values['ephemeral'] === 'yes',
    seconds: parseDuration(values['expiration'] ?? '') ?? 0,
    keep: values['keep'] === 'yes',
  };
}

function formOf({ options }: FlowInput, { client }: MeshAccess, users: readonly MeshUser[]): Form {
  const text = (name: string, usual: string) => (typeof options[name] === 'string' ? options[name] : usual);
  const yesNo = [
    { value: 'no', label: 'no' },
    { value: 'yes', label: 'yes' },
  ];
  const withoutUser = client.version.minor >= tagsAloneSince;
  const names = users.map(({ name }) => name);
  // Names are what people write; only where two are alike the number is needed.
  const choices = users.map(({ id, name, displayName, email }) => {
    const detail = [displayName, email].filter((part) => part !== '' && part !== name).join(', ');
    return {
      value: name === nobody || names.filter((one) => one === name).length > 1 ? id : name,
      label: name,
      ...(detail !== '' && { detail }),
    };
  });
  const section = 'The key';
  return {
    id: 'key',
    title: 'A pre-auth key for a node',
    fields: [
      {
        id: 'user',
        label: 'Whose node',
        kind: 'choice',
        // Whose node it will be is nobody's guess.
        value: text('user', choices.length === 1 ? (choices[0]?.value ?? '') : ''),
        choices: [...choices, ...(withoutUser ? [{ value: nobody, label: 'nobody', detail: 'it belongs to its tags' }] : [])],
        required: true,
        help: 'The user whom a node belongs to that joins with the key. A server belongs to its tags rather than to a person.',
        section,
      },
      {
        id: 'tags',
        label: 'Tags',
        kind: 'text',
        value: text('tags', ''),
        required: false,
        help: 'Tags that the node gets, with commas: tag:server,tag:media. The policy has to know them under tagOwners.',
        section,
        check: (value) => tagsOf(value).map(tagProblem).find(Boolean),
      },
      {
        id: 'expiration',
        label: 'Valid for',
        kind: 'text',
        value: text('expiration', usualExpiration),
        required: true,
        help: 'So long nodes can join with it; those that did stay afterwards. 12h, 30d.',
        section,
        check: expirationProblem,
      },
      {
        id: 'reusable',
        label: 'More than one node',
        kind: 'choice',
        value: options.reusable === true ? 'yes' : 'no',
        choices: yesNo,
        required: true,
        help: 'Otherwise it is worth nothing after the first node joined with it.',
        section,
      },
      {
        id: 'ephemeral',
        label: 'Ephemeral nodes',
        kind: 'choice',
        value: options.ephemeral === true ? 'yes' : 'no',
        choices: yesNo,
        required: true,
        help: 'Nodes that joined with it are removed by themselves when they have been away for a while: for what comes and goes.',
        section,
      },
      {
        id: 'keep',
        label: 'Keep among secrets',
        kind: 'choice',
        value: options['no-keep'] === true ? 'no' : 'yes',
        choices: yesNo,
        required: true,
        help: 'The server never shows it again. Kept, it can be revealed here until it is removed: quarterdeck secrets reveal.',
        section,
      },
    ],
    check: ({ user, tags }) =>
      user === nobody && tagsOf(tags ?? '').length === 0 ? { tags: 'A key that belongs to nobody needs a tag.' } : {},
  };
}

/** A key that nobody sees and nobody keeps is only a way in that is left open. */
function throwIfNobodySees(session: Session, { options }: FlowInput, wish: Wish, id: string): void {
  if (session.attended || options.plain === true || wish.keep || session.rehearsing) return;
  throw new Fault({
    code: 'refused.unattended',
    message: 'Nobody would see the key, and it would be kept nowhere.',
    remedy: `Add --plain for the key alone, into a pipe, or leave --no-keep away: quarterdeck key ${id}`,
  });
}

function secretOf(host: string, component: string): SecretName {
  return `${host}/${component}.join/KEY`;
}

interface Made {
  access: MeshAccess;
  made: { secret: string; listed: MeshKey };
}

async function keep(session: Session, world: FlowWorld, { access, made }: Made): Promise<boolean> {
  const { id, host } = access.target.component;
  const vault = await world.vault(session);
  await session.act({
    id: 'keep-key',
    right: 'operate',
    request: `keep pre-auth key ${made.listed.id} of ${id} in ${vault.where}`,
    target: { host, component: id },
    run: (grant) =>
      vault.write(grant, secretOf(host, id), made.secret, `key ${made.listed.id}, valid until ${dateText(made.listed.expiryMs)},`),
  });
  return true;
}

/** Where it can go nowhere, a key that is kept stays, and any other is taken back: nobody has it. */
async function showOnce(
  session: Session,
  { options }: FlowInput,
  { access, made, server, kept }: Made & { server: string | undefined; kept: boolean },
): Promise<boolean> {
  const { secret, listed } = made;
  if (!session.attended && options.plain !== true) return false;
  const isLocal = server !== undefined && /^https?:\/\/(?:localhost|127\.|\[::1\])/.test(server);
  if (isLocal && options.plain !== true)
    tellAside(session, `Nodes are told ${server}, which leads to this machine alone. Set server_url to the https address first.`);
  const line = `tailscale up --login-server ${server ?? 'https://ADDRESS-OF-THE-CONTROL-SERVER'} --auth-key ${secret}`;
  try {
    session.show({
      kind: 'secret',
      label: `On the node (shown this once); the QR code holds the key alone`,
      value: options.plain === true ? secret : line,
      secondsLeft: newKeySeconds,
      ...(options.plain === true ? { plain: true } : { code: qrCode(secret) }),
    });
    return true;
  } catch (thrown) {
    if (kept) return false;
    const { id, host } = access.target.component;
    await session.act({
      id: 'take-back',
      right: 'operate',
      request: `POST /api/v1/preauthkey/expire: key ${listed.id}, which nobody saw`,
      target: { host, component: id },
      run: (grant) => access.client.expireKey(grant, listed.id),
    });
    throw thrown;
  }
}

function ownerOf({ user, tags }: Wish): string {
  return user?.name ?? tags.join(' ');
}

function describe(wish: Wish): string {
  const parts = [
    wish.user ? `user ${wish.user.name}` : 'no user',
    keyKind(wish),
    ...(wish.tags.length > 0 ? [`${countText(wish.tags.length, 'tag')} (${wish.tags.join(' ')})`] : []),
  ];
  return parts.join(', ');
}
