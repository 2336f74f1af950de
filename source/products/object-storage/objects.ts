import { httpEndpointOf } from '../../calls/http-client.ts';
import { Fault } from '../../faults/fault.ts';
import { apiComponentOf } from '../../flows/api-component.ts';
import type { FlowContext, FlowInput, Procedure } from '../../flows/flow.ts';
import { optionOf, wordsUpTo } from '../../flows/flow-options.ts';
import { type Columns, showList } from '../../flows/list-table.ts';
import { keptSecret } from '../../flows/secrets/kept-secret.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { agoText, bytesText, countText } from '../../text/quantities.ts';
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
  const own = named === undefined ? keys : undefined;
  const kept = own && (await keptSecret(session, context, component, own.secret));
  const accessKey =
    named ??
    (own && env.get(own.access)) ??
    (await session.ask.text({ id: 'access-key', label: `Access key of ${component.id}`, check: filled('access key') })).trim();
  const help = 'Signs the requests. The key is neither sent nor stored.';
  const question = { id: 'secret-key', label: `Secret key of ${cleanLine(accessKey)}`, help, check: filled('secret key') };
  const secretKey = kept ?? (await session.ask.secret(question));
  session.hide(secretKey);
  return { store: new ObjectStore(endpoint, { accessKey, secretKey, region: optionOf(input, 'region') ?? 'us-east-1' }), component };
}

const filled = (what: string) => (text: string) => (text.trim() === '' ? `The ${what} is required.` : undefined);

export async function requireObject(session: Session, word: string | undefined, usage: string): Promise<ObjectName> {
  return objectNamed(word ?? (await promptObject(session, 'BUCKET/KEY')), usage);
}

export function promptObject(session: Session, help: string): Promise<string> {
  return session.ask.text({ id: 'object', label: 'Object', help, check: (text) => (text.includes('/') ? undefined : 'Enter BUCKET/KEY.') });
}

export async function factsOf(store: ObjectStore, name: ObjectName, signal: AbortSignal): Promise<StoredObject> {
  const facts = await store.facts(name, signal);
  if (facts) return facts;
  throw new Fault('usage.object', `${shown(name)} does not exist.`, `List objects: quarterdeck objects list COMPONENT ${name.bucket}`);
}

export function objectNamed(word: string, usage: string): ObjectName {
  const name = splitName(word, usage);
  if (name.key === '') throw wrong(`Objects must be written as BUCKET/KEY, not "${cleanLine(word)}".`, usage);
  return name;
}

/** Splits the bucket from the rest: a name, a prefix, or nothing. Throws `usage.object`. */
function splitName(word: string, usage: string): ObjectName {
  const [, bucket = '', key = ''] = /^([^/]*)\/?(.*)$/s.exec(word) ?? [];
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket))
    throw wrong(`Bucket names must have 3 to 63 lower case letters, digits, dots and hyphens, not "${cleanLine(bucket)}".`, usage);
  if (Buffer.byteLength(key) > longestKeyBytes) throw wrong('Object names are limited to 1,024 bytes.', usage);
  return { bucket, key };
}

const wrong = (message: string, usage: string) => new Fault('usage.object', message, `Usage: quarterdeck ${usage}`);

const usage = 'objects list COMPONENT [BUCKET[/PREFIX]]';
const mostAtFirst = 1000;
const mostAtAll = 1_000_000;

const ago = (ms: number | undefined) => (ms === undefined ? '' : agoText(Date.now() - ms));
const timeText = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());

export const objectsList: Procedure = async (session, input, context) => {
  const [word] = wordsUpTo(1, input, { takes: 'Specify one bucket at a time', remedy: `Usage: quarterdeck ${usage}` });
  const asked = word === undefined ? undefined : splitName(word, usage);
  const { store, component } = await openObjects(session, input, context);
  if (asked === undefined) {
    const buckets = await store.buckets(session.signal);
    showList(session, buckets, { BUCKET: ({ name }) => cleanLine(name), CREATED: ({ madeMs }) => ago(madeMs) });
    const message = buckets.length === 0 ? 'no buckets that these keys can list' : countText(buckets.length, 'bucket');
    return {
      message: `${component.id} has ${message}.`,
      data: { buckets: buckets.map(({ name, madeMs }) => ({ name, made: timeText(madeMs) })) },
    };
  }
  const { bucket, key: prefix } = asked;
  const { objects, more } = await store.list(bucket, prefix, input.options['all'] === true ? mostAtAll : mostAtFirst, session.signal);
  const columns: Columns<StoredObject> = {
    OBJECT: ({ key }) => cleanLine(key),
    SIZE: ({ sizeBytes }) => bytesText(sizeBytes),
    STORED: ({ changedMs }) => ago(changedMs),
  };
  showList(session, objects, columns, { right: ['SIZE'] });
  const size = bytesText(objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
  const where = prefix === '' ? bucket : `${bucket} with the prefix ${cleanLine(prefix)}`;
  return {
    message: more
      ? `Showing the first ${countText(objects.length, 'object')} in ${where}, ${size}; more exist${input.options['all'] === true ? '' : ' (use --all)'}.`
      : `${countText(objects.length, 'object')} in ${where}${objects.length === 0 ? '' : `, ${size}`}.`,
    data: { bucket, objects: objects.map(({ key, sizeBytes, changedMs }) => ({ key, sizeBytes, stored: timeText(changedMs) })), more },
  };
};
