import { Fault } from '../faults/fault.ts';
import { apiKeyPrefix } from '../products/mesh-keys.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { meshApiKeyAbout, newKeySeconds } from './about-mesh.ts';
import type { Flow, FlowInput, FlowOutcome } from './flow.ts';
import { type MeshAccess, meshOf } from './mesh-session.ts';
import { apiKeyStanding, dateText, expirationOf, isOneOf, leavingSays, untilText, wordsOf } from './mesh-words.ts';

export const meshApiKey: Flow = {
  ...meshApiKeyAbout,
  async run(session, input, world) {
    const access = await meshOf(session, input, world);
    const [written, id] = wordsOf(input);
    return leavingSays(session, 'No API key was changed.', async () => {
      const action =
        written ??
        (await session.ask.choice({
          id: 'action',
          label: 'What is to be done?',
          choices: [
            { value: 'create', label: 'Make an API key', detail: 'for a program, or for the web page' },
            { value: 'expire', label: 'Expire an API key' },
          ],
        }));
      if (action === 'create') return create(session, input, access);
      if (action === 'expire') return expire(session, access, id);
      throw new Fault({
        code: 'usage.action',
        message: `"${cleanLine(action)}" is nothing that is done with an API key.`,
        remedy: 'One of create, expire.',
      });
    });
  },
};

async function create(session: Session, input: FlowInput, { client, target, ownKey }: MeshAccess): Promise<FlowOutcome> {
  const { id, host } = target.component;
  const { seconds } = expirationOf(input, '90d');
  const { plain } = input.options;
  if (!session.attended && plain !== true && !session.rehearsing) {
    throw new Fault({
      code: 'refused.unattended',
      message: 'Nobody would see the key: it is shown once.',
      remedy: 'Add --plain for the key alone, into a pipe.',
    });
  }
  const times = session.noted('expires').map(Number);
  const lost =
    times.length === 0 ? [] : (await client.apiKeys(session.signal)).filter((one) => one.id !== ownKey?.id && isOneOf(one.expiryMs, times));
  for (const one of lost.filter((each) => apiKeyStanding(each, Date.now()) === 'valid')) {
    await session.act({
      id: `take-back-${one.id}`,
      right: 'operate',
      request: `POST /api/v1/apikey/expire: ${one.prefix}, which a run that broke off made, and nobody has`,
      target: { host, component: id },
      run: (grant) => client.expireApiKey(grant, one),
    });
  }
  const expiryMs = Date.now() + seconds * 1000;
  await session.note('expires', String(expiryMs));
  const key = await session.act({
    id: 'create-api-key',
    right: 'reveal',
    request: `POST /api/v1/apikey: until ${dateText(expiryMs)}`,
    target: { host, component: id },
    run: async (grant) => {
      const made = await client.createApiKey(grant, expiryMs);
      session.hide(made);
      return made;
    },
  });
  if (key === undefined) return { message: 'Rehearsed: no API key was made.' };
  try {
    session.show({
      kind: 'secret',
      label: 'API key (shown this once)',
      value: key,
      secondsLeft: newKeySeconds,
      ...(plain === true && { plain }),
    });
  } catch (thrown) {
    // Where it can go nowhere, it is taken back: nobody has it.
    const listed = (await client.apiKeys(session.signal)).find(({ prefix }) => prefix.includes(apiKeyPrefix(key) ?? key));
    if (listed) {
      await session.act({
        id: 'take-back',
        right: 'operate',
        request: `POST /api/v1/apikey/expire: ${listed.prefix}, which nobody saw`,
        target: { host, component: id },
        run: (grant) => client.expireApiKey(grant, listed),
      });
    }
    throw thrown;
  }
  return {
    message: `The API key is valid until ${dateText(expiryMs)}. Whoever has it may change everything in the mesh.`,
    data: { expiresAt: new Date(expiryMs).toISOString() },
  };
}

async function expire(session: Session, { client, target, ownKey }: MeshAccess, written: string | undefined): Promise<FlowOutcome> {
  const { id: component, host } = target.component;
  const now = Date.now();
  const keys = await client.apiKeys(session.signal);
  const others = keys.filter((key) => key.id !== ownKey?.id && apiKeyStanding(key, now) === 'valid');
  if (written === undefined && others.length === 0 && session.noted('api-key').length === 0)
    return { message: 'No other API key is valid: there is nothing to expire.' };
  const wanted =
    written ??
    session.noted('api-key').at(-1) ??
    (await session.ask.choice({
      id: 'api-key-id',
      label: 'Which API key?',
      fresh: true,
      help: 'The one of this console is not among them: "mesh access --renew" replaces it.',
      choices: others.map((key) => ({
        value: key.id,
        label: `${key.id}  ${key.prefix}`,
        detail: `ends ${untilText(key.expiryMs, now)}, last used ${untilText(key.lastSeenMs, now)}`,
      })),
    }));
  const key = keys.find(({ id, prefix }) => id === wanted || prefix === wanted);
  if (!key)
    throw new Fault({
      code: 'usage.key',
      message: `There is no API key "${cleanLine(wanted)}".`,
      remedy: `There are ${keys.map(({ id }) => id).join(', ')}.`,
    });
  if (key.id === ownKey?.id) {
    throw new Fault({
      code: 'refused.lockOut',
      message: 'That is the API key of this console: without it, it could not undo that.',
      remedy: `Replace it: quarterdeck mesh access ${component} --renew`,
    });
  }
  await session.note('api-key', key.id);
  await session.act({
    id: 'expire-api-key',
    right: 'destroy',
    title: `Expire the API key ${key.prefix}`,
    request: `POST /api/v1/apikey/expire: ${key.prefix}`,
    target: { host, component },
    consequences: [
      'Whoever logs in with it, a program or the web page, is locked out at once.',
      key.lastSeenMs === undefined
        ? 'It was never used, as far as the server says.'
        : `It was last used ${untilText(key.lastSeenMs, now)}.`,
    ],
    done: async () =>
      (await client.apiKeys(session.signal)).some((one) => one.id === key.id && apiKeyStanding(one, Date.now()) === 'expired'),
    run: (grant) => client.expireApiKey(grant, key),
  });
  return {
    message: session.rehearsing ? 'Rehearsed: the key is as before.' : `The API key ${key.prefix} is expired.`,
    data: { id: key.id },
  };
}
