import { httpEndpointOf } from '../../calls/http-client.ts';
import { Fault } from '../../faults/fault.ts';
import { apiComponentOf } from '../../flows/api-component.ts';
import type { FlowContext, FlowInput } from '../../flows/flow.ts';
import { optionOf } from '../../flows/flow-options.ts';
import { keptSecret } from '../../flows/secrets/secret-values.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { type ObjectName, ObjectStore, type StoredObject, shown } from './client/object-storage.ts';

const longestKeyBytes = 1024;

/** Throws `usage.component` if the component has no S3 API, and `unreachable.component`. */
export async function readEndpoint(session: Session, input: FlowInput, context: FlowContext) {
  const { component, entry, api, target } = await apiComponentOf(session, input, context, { name: 's3', what: 'object storage' });
  const main = entry.services.find((service) => service.main)?.name ?? '';
  const env = new Map(target.containers.get(main)?.env ?? []);
  return { component, keys: api.keys, endpoint: httpEndpointOf(target, api.port ?? 'api'), env };
}

/** Uses the keys of the deployment if the keychain has them, else prompts. Keys sign requests and are never sent. */
export async function openObjects(session: Session, input: FlowInput, context: FlowContext) {
  const { component, endpoint, keys, env } = await readEndpoint(session, input, context);
  const named = optionOf(input, 'access-key');
  const known =
    named === undefined && keys
      ? { access: env.get(keys.access), secret: await keptSecret(session, context, component, keys.secret) }
      : undefined;
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
    store: new ObjectStore(endpoint, { accessKey, secretKey, region: optionOf(input, 'region') ?? 'us-east-1' }),
    component,
  };
}

const filled = (what: string) => (text: string) => (text.trim() === '' ? `Type the ${what}.` : undefined);

export async function objectAsked(session: Session, word: string | undefined, usage: string): Promise<ObjectName> {
  return objectNamed(word ?? (await askObject(session, 'Which object?', 'BUCKET/KEY')), usage);
}

export function askObject(session: Session, label: string, help: string): Promise<string> {
  return session.ask.text({ id: 'object', label, help, check: (text) => (text.includes('/') ? undefined : 'Write BUCKET/KEY.') });
}

export async function factsOf(store: ObjectStore, name: ObjectName, signal: AbortSignal): Promise<StoredObject> {
  const facts = await store.facts(name, signal);
  if (facts) return facts;
  throw new Fault(
    'usage.object',
    `There is no object ${shown(name)}.`,
    `"quarterdeck objects list COMPONENT ${name.bucket}" lists those that exist.`,
  );
}

export function objectNamed(word: string, usage: string): ObjectName {
  const name = splitName(word, usage);
  if (name.key === '') throw wrong(`"${cleanLine(word)}" names no object.`, usage);
  return name;
}

/** Splits the bucket from the rest: a name, a prefix, or nothing. Throws `usage.object`. */
export function splitName(word: string, usage: string): ObjectName {
  const [, bucket = '', key = ''] = /^([^/]*)\/?(.*)$/s.exec(word) ?? [];
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket))
    throw wrong(`"${cleanLine(bucket)}" can be no bucket: 3 to 63 lower case letters, digits, dots and dashes.`, usage);
  if (Buffer.byteLength(key) > longestKeyBytes) throw wrong('The name of an object has at most 1,024 bytes.', usage);
  return { bucket, key };
}

function wrong(message: string, usage: string): Fault {
  return new Fault('usage.object', message, `quarterdeck ${usage}`);
}
