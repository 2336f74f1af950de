import type { Readable } from 'node:stream';
import { HttpClient, type StreamedAnswer } from '../../../calls/http-client.ts';
import type { HttpAnswer, HttpEndpoint } from '../../../calls/http-exchange.ts';
import { Fault, type FaultCode } from '../../../faults/fault.ts';
import type { Grant } from '../../../grants/grant.ts';
import { authority } from '../../../text/authority.ts';
import { cleanLine } from '../../../text/clean.ts';
import { unlessThrown } from '../../../text/unless-thrown.ts';
import { emptyHash, encodedPath, hashOf, linkQuery, queryText, type SigningKeys, signedHeaders } from './request-signature.ts';

/** Larger objects are sent in parts (R40, line 403 of the specification). */
export const partsAboveBytes = 100_000_000;
const leastPartBytes = 16 * 1024 * 1024;
const mostParts = 10_000;
/** Time limit without any data in either direction. */
const stillLimitMs = 60_000;
/** Joining the parts takes a server a long time. */
const joinLimitMs = 10 * 60_000;
const answerLimitBytes = 8 * 1024 * 1024;

export interface StoredObject {
  key: string;
  sizeBytes: number;
  changedMs: number | undefined;
  versioned?: boolean;
}

export type ObjectName = Record<'bucket' | 'key', string>;

/** The content to store. It is read twice, once for its hash and once to send it, so that memory use stays constant. */
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
 * A server with the S3 API, addressed by path (R40). Throws `unreachable.component`, `refused.login` for unknown keys, `refused.clock`,
 * `refused.expired`, `refused.object`, `usage.bucket`, `usage.object` and `failed.objects`.
 */
export class ObjectStore {
  readonly #http: HttpClient;

  constructor(
    readonly endpoint: HttpEndpoint,
    private readonly keys: SigningKeys,
    private readonly now: () => number = Date.now,
  ) {
    this.#http = clientOf(endpoint);
  }

  async buckets(signal: AbortSignal): Promise<{ name: string; madeMs: number | undefined }[]> {
    const { text } = await this.#expect({ method: 'GET', path: '/', signal }, 'list the buckets');
    return textsIn(text, 'Bucket').map((one) => ({ name: textIn(one, 'Name') ?? '', madeMs: timeOf(textIn(one, 'CreationDate')) }));
  }

  /** Lists up to `most` objects, sorted by name. `more` is true if there are others. */
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
      // A server that returns the same token again would cause an endless loop.
      next = token === next ? undefined : token;
    } while (next !== undefined && objects.length < most);
    return { objects, more: next !== undefined };
  }

  async facts(name: ObjectName, signal: AbortSignal): Promise<StoredObject | undefined> {
    const answer = await this.#ask({ method: 'HEAD', path: pathOf(name), signal });
    if (answer.status === 404) {
      // The answer to HEAD has no body that could say whether the bucket is missing.
      await this.#expect({ method: 'HEAD', path: `/${encodedPath(name.bucket)}`, signal }, `read ${name.bucket}`, name);
      return undefined;
    }
    if (answer.status !== 200) throw refusalOf(this.endpoint, answer, `read ${shown(name)}`, name);
    return {
      key: name.key,
      sizeBytes: Number(answer.headers['content-length'] ?? 0),
      changedMs: timeOf(answer.headers['last-modified']),
      versioned: (answer.headers['x-amz-version-id'] ?? 'null') !== 'null',
    };
  }

  /** Streams the object to `take`; it is complete if that ends without a fault. */
  async read<T>(name: ObjectName, signal: AbortSignal, take: (body: Readable, sizeBytes: number) => Promise<T>): Promise<T> {
    return this.#send({ method: 'GET', path: pathOf(name), signal }, async (response) => {
      if (response.status !== 200) throw refusalOf(this.endpoint, await response.all(), `read ${shown(name)}`, name);
      return take(response.body, Number(response.headers['content-length'] ?? 0));
    });
  }

  remove = (grant: Grant, name: ObjectName) =>
    this.#expect({ method: 'DELETE', path: pathOf(name), signal: grant.signal }, `remove ${shown(name)}`, name);

  /** Starts an upload in parts and returns its id. Until it is completed or aborted, its parts use space that no list shows. */
  async begin(grant: Grant, name: ObjectName): Promise<string> {
    // The request is not cancelled with the run: an upload whose id is lost could not be aborted.
    const signal = AbortSignal.timeout(stillLimitMs);
    grant.signal.throwIfAborted();
    const what = `start the upload of ${shown(name)}`;
    const request = { method: 'POST', path: pathOf(name), query: { uploads: '' }, body: Buffer.alloc(0), signal };
    const id = textIn((await this.#expect(request, what, name)).text, 'UploadId');
    if (!id) throw this.#strange(what, 'the upload ID is missing');
    return id;
  }

  async putParts(grant: Grant, name: ObjectName, upload: string, source: ObjectSource, parted: (part: number, parts: number) => void) {
    const partBytes = Math.max(leastPartBytes, Math.ceil(source.sizeBytes / mostParts));
    const parts = Math.ceil(source.sizeBytes / partBytes);
    const tags: string[] = [];
    for (let at = 0; at < parts; at++) {
      const from = at * partBytes;
      const range = { from, count: Math.min(partBytes, source.sizeBytes - from) };
      const { etag } = await this.put(grant, name, source, range, { partNumber: String(at + 1), uploadId: upload });
      if (etag === undefined) throw this.#strange(`upload part ${at + 1} of ${shown(name)}`, 'the ETag is missing');
      tags.push(etag);
      parted(at + 1, parts);
    }
    const listed = tags.map((tag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${escaped(tag)}</ETag></Part>`);
    const body = Buffer.from(`<CompleteMultipartUpload>${listed.join('')}</CompleteMultipartUpload>`);
    const what = `complete the multipart upload of ${shown(name)}`;
    const request = { method: 'POST', path: pathOf(name), query: { uploadId: upload }, body, signal: grant.signal, stillMs: joinLimitMs };
    const { text } = await this.#expect(request, what, name);
    // The server sends 200 before it joins the parts, and may fail afterwards.
    if (textIn(text, 'Code') !== undefined) throw refusalOf(this.endpoint, { status: 500, text }, what, name);
  }

  /** Aborts an upload, which deletes its parts. Returns without a fault if it no longer exists. */
  async giveUp(grant: Grant, name: ObjectName, upload: string): Promise<void> {
    const answer = await this.#ask({ method: 'DELETE', path: pathOf(name), query: { uploadId: upload }, signal: grant.signal });
    if (answer.status !== 204 && answer.status !== 404) throw refusalOf(this.endpoint, answer, `abort the upload of ${shown(name)}`, name);
  }

  /** Returns a link with which anyone can read the object. `base` is the address of the server for its users, without a path. */
  link(name: ObjectName, seconds: number, base: URL): { url: string; untilMs: number } {
    const nowMs = this.now();
    const path = pathOf(name);
    const query = linkQuery({ method: 'GET', path, query: {}, headers: { host: base.host } }, this.keys, { nowMs, seconds });
    return { url: `${base.protocol}//${base.host}${path}?${query}`, untilMs: Math.floor(nowMs / 1000) * 1000 + seconds * 1000 };
  }

  /** Stores an object in one request, or one part of it. Returns the headers of the answer. */
  async put(
    grant: Grant,
    name: ObjectName,
    source: ObjectSource,
    { from, count } = { from: 0, count: source.sizeBytes },
    query: Readonly<Record<string, string>> = {},
  ): Promise<Readonly<Record<string, string>>> {
    const { signal } = grant;
    const hash = await source.hash(from, count, signal);
    const body = count === 0 ? { body: Buffer.alloc(0) } : { source: { hash, sizeBytes: count, open: () => source.open(from, count) } };
    const { headers } = await this.#expect({ method: 'PUT', path: pathOf(name), query, ...body, signal }, `store ${shown(name)}`, name);
    return headers;
  }

  async #expect(asking: Asking, what: string, name?: ObjectName): Promise<HttpAnswer> {
    const answer = await this.#ask(asking);
    if (answer.status >= 200 && answer.status <= 299) return answer;
    throw refusalOf(this.endpoint, answer, what, name);
  }

  #ask = (asking: Asking) => this.#send(asking, (answer) => answer.all());

  async #send<T>(asking: Asking, take: (answer: StreamedAnswer) => Promise<T>): Promise<T> {
    const { method, path, query = {}, body, source, signal } = asking;
    const part = { method, path, query, headers: { host: authority(this.endpoint.address) } };
    const hash = source?.hash ?? (body && body.length > 0 ? hashOf(body) : emptyHash);
    const length = source && { 'content-length': String(source.sizeBytes) };
    const headers = { ...signedHeaders(part, this.keys, hash, this.now()), ...length };
    const asked = queryText(query);
    const request = { method, path: asked === '' ? path : `${path}?${asked}`, headers, body, source: source?.open };
    return this.#http.stream(request, asking.stillMs ?? stillLimitMs, signal, take);
  }

  #strange(what: string, why: string): Fault {
    const message = `${this.endpoint.shown} returned an unexpected response to the request to ${what}: ${why}.`;
    return new Fault('failed.objects', message, 'Check that the server provides the S3 API, and check the log of the server.');
  }
}

/** Reads only the first byte. The Host header is the link's own, wherever the connection goes. Returns the server's refusal. */
export async function tryLink(endpoint: HttpEndpoint, url: URL, signal: AbortSignal): Promise<Fault | undefined> {
  // Unchanged: `URL` keeps the spelling of the path and the query.
  const path = `${url.pathname}${url.search}`;
  const request = { method: 'GET', path, headers: { host: url.host, range: 'bytes=0-0' } };
  const { status, text } = await clientOf(endpoint).stream(request, stillLimitMs, signal, (answer) => answer.all());
  // Status 416: an empty object has no first byte.
  if (status === 200 || status === 206 || status === 416) return undefined;
  const refusal = refusalOf(endpoint, { status, text }, 'open the link');
  if (refusal.code !== 'refused.login') return refusal;
  const remedy = `The link was changed, or its keys are no longer valid. ${newLink}`;
  return new Fault('refused.login', `${endpoint.shown} does not accept the signature of the link.`, remedy);
}

const newLink = 'Create a new link: quarterdeck objects link COMPONENT BUCKET/KEY';

/** The keys sign requests and are never sent. */
const clientOf = (endpoint: HttpEndpoint) => new HttpClient(endpoint, { secrets: undefined, limits: { limitBytes: answerLimitBytes } });

type Refused = Pick<HttpAnswer, 'status' | 'text'>;

function refusalOf({ shown: where }: HttpEndpoint, { status, text }: Refused, what: string, name?: ObjectName): Fault {
  const code = cleanLine(textIn(text, 'Code') ?? '');
  const said = cleanLine(textIn(text, 'Message') ?? '').replace(/\.$/, '');
  const isBare = status === 404 && text === '' && name !== undefined;
  const fault = (as: FaultCode, message: string, remedy: string) => new Fault(as, `${where} ${message}.`, remedy);
  if (/expired/i.test(said) && ['AccessDenied', 'ExpiredToken', ''].includes(code))
    return fault('refused.expired', 'reports that the link has expired', newLink);
  if (code === 'RequestTimeTooSkewed' || code === 'RequestNotReadyYet') {
    const message = `The clocks of ${where} and this machine differ too much for signed requests.`;
    return new Fault('refused.clock', message, 'Synchronize both clocks. They must not differ by more than 15 minutes.');
  }
  if (code === 'InvalidAccessKeyId' || code === 'SignatureDoesNotMatch') {
    const remedy = 'Check the access key and the secret key. To list stored secrets: quarterdeck secrets list COMPONENT';
    return fault('refused.login', `does not accept these keys: ${said || code}`, remedy);
  }
  if (code === 'NoSuchBucket' || isBare) {
    const bucket = name ? `bucket ${cleanLine(name.bucket)}` : 'such bucket';
    return fault('usage.bucket', `has no ${bucket}`, 'List the buckets: quarterdeck objects list COMPONENT');
  }
  if (code === 'NoSuchKey') {
    const object = name ? `object ${shown(name)}` : 'such object';
    return fault('usage.object', `has no ${object}`, 'List the objects: quarterdeck objects list COMPONENT BUCKET');
  }
  const reason = said === '' ? '' : `: ${said}`;
  const policy = 'Check the policy of the user whose access key is used.';
  if (status === 403) return fault('refused.object', `refused to ${cleanLine(what)}${reason}`, policy);
  const answer = `status ${status}${code === '' ? '' : `, ${code}`}${reason}`;
  return fault('failed.objects', `did not ${cleanLine(what)}: ${answer}`, 'Check the log of the server.');
}

const pathOf = ({ bucket, key }: ObjectName) => `/${encodedPath(bucket)}/${encodedPath(key)}`;
export const shown = ({ bucket, key }: ObjectName): string => cleanLine(`${bucket}/${key}`);
const escaped = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');

function timeOf(text: string | undefined): number | undefined {
  const ms = Date.parse(text ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}

/** Names are encoded, a space as plus, so that no character breaks the XML. */
const plainName = (name: string) => unlessThrown(() => decodeURIComponent(name.replaceAll('+', ' ')), name);

/** The subset of XML in answers of the S3 API: elements without relevant attributes, none nested in one of the same name. */
const textsIn = (xml: string, name: string) =>
  [...xml.matchAll(new RegExp(`<${name}(?:\\s[^>]*)?>(.*?)</${name}>`, 'gs'))].map(([, inner = '']) => inner);

function textIn(xml: string, name: string): string | undefined {
  const [found] = textsIn(xml, name);
  return found === undefined ? undefined : plain(found);
}

const named: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

function plain(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|(\w+));/g, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return named[name] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
