import type { Readable } from 'node:stream';
import type { ExchangeRequest } from '../calls/exchange.ts';
import { streamedExchange, type TakeAnswer, type WholeAnswer } from '../calls/streamed-exchange.ts';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import { cleanLine } from '../text/clean.ts';
import { doesNotAnswer, type HttpPlace } from './component-http.ts';
import { emptyHash, encodedPath, linkQuery, queryText, type SigningKeys, signedHeaders } from './request-signature.ts';
import { textIn, textsIn } from './xml-text.ts';

/** Larger ones are sent in parts (R40, line 403 of the specification). */
export const partsAboveBytes = 100_000_000;
const leastPartBytes = 16 * 1024 * 1024;
const mostParts = 10_000;
/** So long nothing at all may come or go. */
const stillLimitMs = 60_000;
/** Putting the parts together takes a server as long as it takes. */
const joinLimitMs = 10 * 60_000;
const answerLimitBytes = 8 * 1024 * 1024;

export interface StoredObject {
  key: string;
  sizeBytes: number;
  /** Epoch milliseconds. */
  changedMs: number | undefined;
  /** The bucket keeps what was there before. */
  versioned?: boolean;
}

export interface ObjectName {
  bucket: string;
  key: string;
}

/** What is stored: read twice, once for its hash and once to send it, so that memory stays flat. */
export interface ObjectSource {
  sizeBytes: number;
  hash(from: number, count: number, signal: AbortSignal): Promise<string>;
  open(from: number, count: number): Readable;
}

interface Asking {
  method: string;
  path: string;
  query?: Readonly<Record<string, string>>;
  body?: Buffer;
  source?: { hash: string; sizeBytes: number; open: () => Readable };
  signal: AbortSignal;
  stillMs?: number;
}

/**
 * A server that speaks the S3 API, addressed by path (R40). Throws `unreachable.component`, `refused.login` for keys it does not know, `refused.clock`, `refused.expired`,
 * `refused.object`, `usage.bucket`, `usage.object` and `failed.objects`.
 */
export class ObjectStore {
  readonly place: HttpPlace;
  readonly #keys: SigningKeys;
  readonly #now: () => number;

  constructor(place: HttpPlace, keys: SigningKeys, now: () => number = Date.now) {
    this.place = place;
    this.#keys = keys;
    this.#now = now;
  }

  async buckets(signal: AbortSignal): Promise<{ name: string; madeMs: number | undefined }[]> {
    const { text } = await this.#expect({ method: 'GET', path: '/', signal }, 'list the buckets');
    return textsIn(text, 'Bucket').map((one) => ({ name: textIn(one, 'Name') ?? '', madeMs: timeOf(textIn(one, 'CreationDate')) }));
  }

  /** At most so many, in the order of their names. `more`: there are others. */
  async list(bucket: string, prefix: string, most: number, signal: AbortSignal): Promise<{ objects: StoredObject[]; more: boolean }> {
    const objects: StoredObject[] = [];
    let next: string | undefined;
    do {
      const query = {
        ...{ 'list-type': '2', 'encoding-type': 'url', 'max-keys': String(Math.min(1000, most - objects.length)) },
        ...(prefix !== '' && { prefix }),
        ...(next !== undefined && { 'continuation-token': next }),
      };
      const { text } = await this.#expect({ method: 'GET', path: `/${encodedPath(bucket)}`, query, signal }, `list ${bucket}`);
      for (const one of textsIn(text, 'Contents'))
        objects.push({
          key: plainName(textIn(one, 'Key') ?? ''),
          sizeBytes: Number(textIn(one, 'Size') ?? 0),
          changedMs: timeOf(textIn(one, 'LastModified')),
        });
      const token = textIn(text, 'IsTruncated') === 'true' ? textIn(text, 'NextContinuationToken') : undefined;
      // One that gives the same token again would keep us for ever.
      next = token === next ? undefined : token;
    } while (next !== undefined && objects.length < most);
    return { objects, more: next !== undefined };
  }

  /** Undefined where there is no such object. */
  async facts(name: ObjectName, signal: AbortSignal): Promise<StoredObject | undefined> {
    const answer = await this.#ask({ method: 'HEAD', path: pathOf(name), signal });
    if (answer.status === 404) {
      // An answer to HEAD has no body that would say whether the bucket is missing.
      await this.#expect({ method: 'HEAD', path: `/${encodedPath(name.bucket)}`, signal }, `look at ${name.bucket}`, name);
      return undefined;
    }
    if (answer.status !== 200) throw this.#refusal(answer, `look at ${shown(name)}`, name);
    return {
      key: name.key,
      sizeBytes: Number(answer.headers['content-length'] ?? 0),
      changedMs: timeOf(answer.headers['last-modified']),
      versioned: (answer.headers['x-amz-version-id'] ?? 'null') !== 'null',
    };
  }

  /** Has `take` read it while it comes; it is whole when that ends without a fault. */
  async read<T>(name: ObjectName, signal: AbortSignal, take: (body: Readable, sizeBytes: number) => Promise<T>): Promise<T> {
    return this.#send({ method: 'GET', path: pathOf(name), signal }, async (response, all) => {
      if (response.status !== 200) throw this.#refusal(await all(), `read ${shown(name)}`, name);
      return take(response.body, Number(response.headers['content-length'] ?? 0));
    });
  }

  async remove(grant: Grant, name: ObjectName): Promise<void> {
    await this.#expect({ method: 'DELETE', path: pathOf(name), signal: grant.signal }, `remove ${shown(name)}`, name);
  }

  /** In one request. */
  async put(grant: Grant, name: ObjectName, source: ObjectSource): Promise<void> {
    await this.#putRange(grant, name, source, { from: 0, count: source.sizeBytes });
  }

  /** Begins an upload in parts. Answers its id: until it is joined or given up, its parts take room that nobody sees. */
  async begin(grant: Grant, name: ObjectName): Promise<string> {
    // An answer that nobody waits for any more would be an upload that nobody can give up.
    const signal = AbortSignal.timeout(stillLimitMs);
    grant.signal.throwIfAborted();
    const { text } = await this.#expect(
      { method: 'POST', path: pathOf(name), query: { uploads: '' }, body: Buffer.alloc(0), signal },
      `begin to store ${shown(name)}`,
      name,
    );
    const id = textIn(text, 'UploadId');
    if (id === undefined || id === '') throw this.#strange(`begin to store ${shown(name)}`, 'it names no upload');
    return id;
  }

  /** All parts, one after the other, and their joining. */
  async putParts(
    grant: Grant,
    name: ObjectName,
    upload: string,
    source: ObjectSource,
    parted: (part: number, parts: number) => void,
  ): Promise<void> {
    const partBytes = Math.max(leastPartBytes, Math.ceil(source.sizeBytes / mostParts));
    const parts = Math.ceil(source.sizeBytes / partBytes);
    const tags: string[] = [];
    for (let at = 0; at < parts; at++) {
      const from = at * partBytes;
      const range = { from, count: Math.min(partBytes, source.sizeBytes - from) };
      const { etag } = await this.#putRange(grant, name, source, range, { partNumber: String(at + 1), uploadId: upload });
      if (etag === undefined) throw this.#strange(`store part ${at + 1} of ${shown(name)}`, 'it names no tag');
      tags.push(etag);
      parted(at + 1, parts);
    }
    const listed = tags.map((tag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${escaped(tag)}</ETag></Part>`);
    const body = Buffer.from(`<CompleteMultipartUpload>${listed.join('')}</CompleteMultipartUpload>`);
    const what = `join the parts of ${shown(name)}`;
    const answer = await this.#expect(
      { method: 'POST', path: pathOf(name), query: { uploadId: upload }, body, signal: grant.signal, stillMs: joinLimitMs },
      what,
      name,
    );
    // It has said 200 before it began, and may find out later that it cannot.
    if (textIn(answer.text, 'Code') !== undefined) throw this.#refusal({ ...answer, status: 500 }, what, name);
  }

  /** Gives an upload up: its parts go. One that is gone already is fine. */
  async giveUp(grant: Grant, name: ObjectName, upload: string): Promise<void> {
    const answer = await this.#ask({ method: 'DELETE', path: pathOf(name), query: { uploadId: upload }, signal: grant.signal });
    if (answer.status !== 204 && answer.status !== 404) throw this.#refusal(answer, `give up the upload of ${shown(name)}`, name);
  }

  /** A link with which everybody may read it, for so long from now on. `base`: the address at which they find the server, without a path. */
  link(name: ObjectName, seconds: number, base: URL): { url: string; untilMs: number } {
    const nowMs = this.#now();
    const path = pathOf(name);
    const query = linkQuery({ method: 'GET', path, query: {}, headers: { host: base.host } }, this.#keys, { nowMs, seconds });
    return { url: `${base.protocol}//${base.host}${path}?${query}`, untilMs: Math.floor(nowMs / 1000) * 1000 + seconds * 1000 };
  }

  async #putRange(
    grant: Grant,
    name: ObjectName,
    source: ObjectSource,
    { from, count }: { from: number; count: number },
    query: Readonly<Record<string, string>> = {},
  ): Promise<Readonly<Record<string, string>>> {
    const { signal } = grant;
    const hash = await source.hash(from, count, signal);
    const body = count === 0 ? { body: Buffer.alloc(0) } : { source: { hash, sizeBytes: count, open: () => source.open(from, count) } };
    const { headers } = await this.#expect({ method: 'PUT', path: pathOf(name), query, ...body, signal }, `store ${shown(name)}`, name);
    return headers;
  }

  async #expect(asking: Asking, what: string, name?: ObjectName): Promise<WholeAnswer> {
    const answer = await this.#ask(asking);
    if (answer.status >= 200 && answer.status <= 299) return answer;
    throw this.#refusal(answer, what, name);
  }

  #ask(asking: Asking): Promise<WholeAnswer> {
    return this.#send(asking, (_, all) => all());
  }

  async #send<T>(asking: Asking, take: TakeAnswer<T>): Promise<T> {
    const { method, path, query = {}, body, source, signal } = asking;
    const { host: name, port } = this.place.address;
    const part = { method, path, query, headers: { host: `${name.includes(':') ? `[${name}]` : name}:${port}` } };
    const hash = source?.hash ?? (body && body.length > 0 ? await hashOf(body) : emptyHash);
    const headers = {
      ...signedHeaders(part, this.#keys, hash, this.#now()),
      ...(source && { 'content-length': String(source.sizeBytes) }),
    };
    const asked = queryText(query);
    return talk(
      this.place,
      {
        request: { method, path: asked === '' ? path : `${path}?${asked}`, headers, body, source: source?.open },
        signal,
        stillMs: asking.stillMs ?? stillLimitMs,
      },
      take,
    );
  }

  #refusal({ status, text }: WholeAnswer, what: string, name?: ObjectName): Fault {
    return refusalOf(this.place, { status, text }, what, name);
  }

  #strange(what: string, why: string): Fault {
    return new Fault({
      code: 'failed.objects',
      message: `${this.place.shown} answers strangely when asked to ${what}: ${why}.`,
      remedy: 'Is it a server with the S3 API? Look at its log.',
    });
  }
}

/** Asks with a link whether it still holds, and takes only its first byte. The link's own host is named, wherever the server is dialled. Answers what the server says, undefined where it lets one in. */
export async function tryLink(place: HttpPlace, url: URL, signal: AbortSignal): Promise<Fault | undefined> {
  // As it was written: `URL` keeps the path's letters, and the query's.
  const path = `${url.pathname}${url.search}`;
  const request = { method: 'GET', path, headers: { host: url.host, range: 'bytes=0-0' } };
  const { status, text } = await talk(place, { request, signal, stillMs: stillLimitMs }, (_, all) => all());
  // 416: an empty object has no first byte.
  return status === 200 || status === 206 || status === 416 ? undefined : refusalOf(place, { status, text }, 'follow the link');
}

async function talk<T>(
  place: HttpPlace,
  { request, signal, stillMs }: { request: ExchangeRequest; signal: AbortSignal; stillMs: number },
  take: TakeAnswer<T>,
): Promise<T> {
  const { host, address, tls, shown: where } = place;
  try {
    return await streamedExchange(host, { request, address, tls, signal, stillMs, answerLimitBytes }, take);
  } catch (thrown) {
    signal.throwIfAborted();
    throw thrown instanceof Fault ? thrown : doesNotAnswer(where, thrown);
  }
}

function refusalOf(
  { shown: where }: HttpPlace,
  { status, text }: Pick<WholeAnswer, 'status' | 'text'>,
  what: string,
  name?: ObjectName,
): Fault {
  const code = cleanLine(textIn(text, 'Code') ?? '');
  const said = cleanLine(textIn(text, 'Message') ?? '').replace(/\.$/, '');
  const of = (kind: Fault['code'], message: string, remedy: string) => new Fault({ code: kind, message, remedy });
  if (/expired/i.test(said) && (code === 'AccessDenied' || code === 'ExpiredToken' || code === ''))
    return of(
      'refused.expired',
      `${where} says that the link has expired.`,
      'Make a new one: quarterdeck objects link COMPONENT BUCKET/KEY',
    );
  if (code === 'RequestTimeTooSkewed' || code === 'RequestNotReadyYet')
    return of(
      'refused.clock',
      `The clocks of ${where} and of this machine are too far apart for a signature.`,
      'Set both right: 15 minutes are the most.',
    );
  if (code === 'InvalidAccessKeyId' || code === 'SignatureDoesNotMatch')
    return of(
      'refused.login',
      `${where} does not accept these keys: ${said || code}.`,
      'Look at access key and secret key: quarterdeck secrets list COMPONENT',
    );
  if (code === 'NoSuchBucket')
    return of(
      'usage.bucket',
      `There is no bucket ${cleanLine(name?.bucket ?? '')} at ${where}.`,
      '"quarterdeck objects list COMPONENT" lists those that exist.',
    );
  if (code === 'NoSuchKey')
    return of(
      'usage.object',
      `There is no object ${name ? shown(name) : ''} at ${where}.`,
      '"quarterdeck objects list COMPONENT BUCKET" lists those that exist.',
    );
  if (status === 404 && text === '' && name)
    return of(
      'usage.bucket',
      `There is no bucket ${cleanLine(name.bucket)} at ${where}.`,
      '"quarterdeck objects list COMPONENT" lists those that exist.',
    );
  if (status === 403)
    return of(
      'refused.object',
      `${where} does not let these keys ${cleanLine(what)}${said === '' ? '' : `: ${said}`}.`,
      'Look at the policy of the user that they are of.',
    );
  return of(
    'failed.objects',
    `${where} did not ${cleanLine(what)}: status ${status}${code === '' ? '' : `, ${code}`}${said === '' ? '' : `: ${said}`}.`,
    'Look at its log.',
  );
}

async function hashOf(body: Buffer): Promise<string> {
  const { createHash } = await import('node:crypto');
  return createHash('sha256').update(body).digest('hex');
}

const pathOf = ({ bucket, key }: ObjectName) => `/${encodedPath(bucket)}/${encodedPath(key)}`;
export const shown = ({ bucket, key }: ObjectName): string => cleanLine(`${bucket}/${key}`);
const escaped = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');

function timeOf(text: string | undefined): number | undefined {
  const ms = Date.parse(text ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}

/** Names come encoded, a blank as plus, so that no character breaks the XML. */
function plainName(name: string): string {
  try {
    return decodeURIComponent(name.replaceAll('+', ' '));
  } catch {
    return name;
  }
}
