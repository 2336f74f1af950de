import { Fault } from '../faults/fault.ts';
import type { ComponentView } from '../fleet/model.ts';
import { type HttpPlace, httpPlaceOf } from '../products/component-http.ts';
import { type ObjectName, ObjectStore, type StoredObject, shown } from '../products/object-storage.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import type { FlowInput, FlowWorld } from './flow.ts';
import { optionOf } from './flow-options.ts';
import { entryOf, targetOf } from './secret-proof.ts';
import { componentOf } from './service-targets.ts';
import { secretName } from './stack-facts.ts';

export interface OpenObjects {
  store: ObjectStore;
  component: ComponentView;
  /** For acts. */
  target: { host: string; component: string };
}

const longestKeyBytes = 1024;

/** Throws `usage.component` for what has no S3 API, and `unreachable.component`. */
export async function objectsPlace(session: Session, input: FlowInput, world: FlowWorld): Promise<HttpPlace> {
  return (await reach(session, input, world)).place;
}

async function reach(session: Session, input: FlowInput, world: FlowWorld) {
  const component = componentOf(input);
  const entry = entryOf(world, component);
  const { api, port, keys } = entry?.speaks ?? {};
  if (!entry || api !== 's3' || port === undefined)
    throw new Fault({
      code: 'usage.component',
      message: `${component.id} is no object storage that is known here.`,
      remedy: 'Name one that is: quarterdeck catalog list',
    });
  const target = await targetOf(world, component.host, entry, session.signal, component);
  const main = entry.services.find((service) => service.main)?.name ?? '';
  return { component, keys, place: httpPlaceOf(target, port), env: new Map(target.containers.get(main)?.env ?? []) };
}

/** With the keys that it was deployed with, where the keychain has them; otherwise they are asked for. They sign, and are never sent. */
export async function openObjects(session: Session, input: FlowInput, world: FlowWorld): Promise<OpenObjects> {
  const { component, place, keys, env } = await reach(session, input, world);
  const named = optionOf(input, 'access-key');
  const known =
    named === undefined && keys ? { access: env.get(keys.access), secret: await kept(session, world, component, keys.secret) } : undefined;
  const accessKey =
    named ??
    known?.access ??
    (await session.ask.text({ id: 'access-key', label: `Access key of ${component.id}`, check: filled('access key') })).trim();
  const secretKey =
    known?.secret ??
    (await session.ask.secret({
      id: 'secret-key',
      label: `Secret key of ${cleanLine(accessKey)}`,
      help: 'Requests are signed with it. It is not sent, and not kept.',
      check: filled('secret key'),
    }));
  session.hide(secretKey);
  return {
    store: new ObjectStore(place, { accessKey, secretKey, region: optionOf(input, 'region') ?? 'us-east-1' }),
    component,
    target: { host: input.place, component: component.key },
  };
}

const filled = (what: string) => (text: string) => (text.trim() === '' ? `Type the ${what}.` : undefined);

/** A vault that cannot be opened is no reason to give up: the operator may know the key. */
async function kept(session: Session, world: FlowWorld, { host, id }: ComponentView, variable: string): Promise<string | undefined> {
  try {
    return await (await world.vault(session)).read(secretName(host, id, variable), session.signal);
  } catch (thrown) {
    if (session.signal.aborted || !(thrown instanceof Fault) || thrown.kind === 'interrupted') throw thrown;
    return undefined;
  }
}

/** The object that a word names, asked for where there is none. Throws `usage.object`. */
export async function objectAsked(session: Session, word: string | undefined, usage: string): Promise<ObjectName> {
  const asked = () =>
    session.ask.text({
      id: 'object',
      label: 'Which object?',
      help: 'BUCKET/KEY',
      check: (text) => (text.includes('/') ? undefined : 'Write BUCKET/KEY.'),
    });
  return objectNamed(word ?? (await asked()), usage);
}

/** What the store knows of an object that has to be there. Throws `usage.object`. */
export async function factsOf(store: ObjectStore, name: ObjectName, signal: AbortSignal): Promise<StoredObject> {
  const facts = await store.facts(name, signal);
  if (facts) return facts;
  throw new Fault({
    code: 'usage.object',
    message: `There is no object ${shown(name)}.`,
    remedy: `"quarterdeck objects list COMPONENT ${name.bucket}" lists those that exist.`,
  });
}

/** `photos/2026/a.jpg`. Throws `usage.object`. */
export function objectNamed(word: string | undefined, usage: string): ObjectName {
  const { bucket, key } = splitName(word ?? '', usage);
  if (key === '') throw wrong(`"${cleanLine(word ?? '')}" names no object.`, usage);
  return { bucket, key };
}

/** The bucket, and what stands behind it: a name, the beginning of one, or nothing. Throws `usage.object`. */
export function splitName(word: string, usage: string): ObjectName {
  const [, bucket = '', key = ''] = /^([^/]*)\/?(.*)$/s.exec(word) ?? [];
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket))
    throw wrong(`"${cleanLine(bucket)}" can be no bucket: 3 to 63 lower case letters, digits, dots and dashes.`, usage);
  if (Buffer.byteLength(key) > longestKeyBytes) throw wrong('The name of an object has at most 1,024 bytes.', usage);
  return { bucket, key };
}

function wrong(message: string, usage: string): Fault {
  return new Fault({ code: 'usage.object', message, remedy: `quarterdeck ${usage}` });
}
