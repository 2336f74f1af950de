import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Held {
  body: Buffer;
  changedMs: number;
  tag: string;
}

const leastPartBytes = 5 * 1024 * 1024;
const skewMs = 15 * 60_000;

class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message = code) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** A server with the S3 API in memory. It computes every signature anew from the bytes that came, in its own words, and refuses what the documentation refuses. */
export class ObjectStoreDouble {
  readonly accessKey = 'storage-root';
  readonly secretKey = 'geheim-geheim-4711';
  readonly region = 'us-east-1';
  readonly buckets = new Map<string, Map<string, Held>>();
  readonly uploads = new Map<string, { bucket: string; key: string; parts: Map<number, Held> }>();
  /** Method and path with query, as they came. */
  readonly requests: string[] = [];
  /** Answers with this status before it takes a body, so many requests from now. */
  refuseAt: number | undefined;
  /** Breaks the connection in the middle of what it sends, after so many bytes. */
  breakAfterBytes: number | undefined;
  /** Waits with the answer to parts from this number on. */
  holdFromPart = Number.POSITIVE_INFINITY;
  held: () => void = () => undefined;
  now = () => Date.now();
  readonly #server = createServer();
  #port = 0;

  static async open(): Promise<ObjectStoreDouble> {
    const double = new ObjectStoreDouble();
    double.#server.on('request', (request, response) => void double.#serve(request, response));
    double.#server.on('checkContinue', (request, response) => void double.#serve(request, response));
    await new Promise<void>((resolve) => double.#server.listen(0, '127.0.0.1', resolve));
    double.#port = (double.#server.address() as AddressInfo).port;
    return double;
  }

  get port(): number {
    return this.#port;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.on('error', () => undefined);
    const target = request.url ?? '';
    const [path = '', query = ''] = target.split(/\?(.*)/s);
    const asked = new URLSearchParams(query);
    this.requests.push(`${request.method} ${target.replace(/X-Amz-Signature=\w+/, 'X-Amz-Signature=...')}`);
    const answer = (status: number, headers: Record<string, string> = {}, body: string | Buffer = '') => {
      response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' });
      response.end(request.method === 'HEAD' ? undefined : body);
    };
    try {
      if (this.refuseAt !== undefined && this.refuseAt-- === 0) {
        this.refuseAt = undefined;
        throw new Refusal(507, 'XMinioStorageFull', 'Storage backend has reached its minimum free drive threshold.');
      }
      this.#check(request, path, asked);
      if (request.headers.expect) response.writeContinue();
      const pieces: Buffer[] = [];
      for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
      const body = Buffer.concat(pieces);
      const said = request.headers['x-amz-content-sha256'];
      if (said !== undefined && said !== 'UNSIGNED-PAYLOAD' && createHash('sha256').update(body).digest('hex') !== said)
        throw new Refusal(400, 'XAmzContentSHA256Mismatch');
      await this.#act(request, path, asked, body, answer, response);
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) return void response.destroy();
      const { status, code, message } = thrown;
      answer(
        status,
        { 'content-type': 'application/xml' },
        `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`,
      );
    }
  }

  /** Throws where the signature is not the one that these keys make over what came. */
  #check(request: IncomingMessage, path: string, asked: URLSearchParams): void {
    const linked = asked.get('X-Amz-Signature');
    const header = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+),\s*SignedHeaders=([^,]+),\s*Signature=(\w+)$/.exec(
      request.headers.authorization ?? '',
    );
    if (linked === null && !header) throw new Refusal(403, 'AccessDenied', 'Access Denied.');
    const [who = '', ...scope] = (linked === null ? `${header?.[1]}/${header?.[2]}` : (asked.get('X-Amz-Credential') ?? '')).split('/');
    const stamp = (linked === null ? request.headers['x-amz-date'] : asked.get('X-Amz-Date'))?.toString() ?? '';
    const names = (linked === null ? header?.[3] : asked.get('X-Amz-SignedHeaders')) ?? '';
    const given = linked ?? header?.[4] ?? '';
    if (who !== this.accessKey)
      throw new Refusal(403, 'InvalidAccessKeyId', 'The Access Key Id you provided does not exist in our records.');
    if (scope.join('/') !== `${stamp.slice(0, 8)}/${this.region}/s3/aws4_request`) throw new Refusal(400, 'AuthorizationHeaderMalformed');
    const signedMs = Date.parse(stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
    const list = names.split(';');
    const must = Object.keys(request.headers).filter((name) => name === 'host' || name.startsWith('x-amz-'));
    if (must.some((name) => !list.includes(name)))
      throw new Refusal(403, 'AccessDenied', 'There were headers present in the request which were not signed');
    const pairs = [...asked].filter(([name]) => name !== 'X-Amz-Signature').map(([name, value]) => [strict(name), strict(value)]);
    const canonical = [
      request.method,
      path,
      pairs
        .map(([name, value]) => `${name}=${value}`)
        .sort()
        .join('&'),
      ...list.map((name) => `${name}:${String(request.headers[name]).trim()}`),
      '',
      names,
      linked === null ? request.headers['x-amz-content-sha256'] : 'UNSIGNED-PAYLOAD',
    ].join('\n');
    const text = ['AWS4-HMAC-SHA256', stamp, scope.join('/'), createHash('sha256').update(canonical).digest('hex')].join('\n');
    let key = Buffer.from(`AWS4${this.secretKey}`);
    for (const part of scope) key = createHmac('sha256', key).update(part).digest();
    const right = createHmac('sha256', key).update(text).digest();
    const got = Buffer.from(given, 'hex');
    if (got.length !== right.length || !timingSafeEqual(got, right))
      throw new Refusal(403, 'SignatureDoesNotMatch', 'The request signature we calculated does not match the signature you provided.');
    if (linked === null ? Math.abs(this.now() - signedMs) > skewMs : signedMs - this.now() > skewMs)
      throw new Refusal(403, 'RequestTimeTooSkewed', 'The difference between the request time and the server time is too large.');
    if (linked !== null && this.now() >= signedMs + Number(asked.get('X-Amz-Expires')) * 1000)
      throw new Refusal(403, 'AccessDenied', 'Request has expired');
  }

  async #act(
    request: IncomingMessage,
    path: string,
    asked: URLSearchParams,
    body: Buffer,
    answer: (status: number, headers?: Record<string, string>, body?: string | Buffer) => void,
    response: ServerResponse,
  ): Promise<void> {
    const [, bucketName = '', ...rest] = path.split('/').map(decodeURIComponent);
    const key = rest.join('/');
    const { method } = request;
    if (bucketName === '')
      return answer(
        200,
        {},
        `<ListAllMyBucketsResult><Buckets>${[...this.buckets.keys()].map((name) => `<Bucket><Name>${name}</Name><CreationDate>2026-01-01T00:00:00.000Z</CreationDate></Bucket>`).join('')}</Buckets></ListAllMyBucketsResult>`,
      );
    const bucket = this.buckets.get(bucketName);
    if (!bucket) throw new Refusal(404, 'NoSuchBucket', 'The specified bucket does not exist');
    if (key === '') return method === 'HEAD' ? answer(200) : answer(200, {}, this.#listed(bucket, asked));
    const upload = asked.get('uploadId');
    const running = upload === null ? undefined : this.uploads.get(upload);
    if (upload !== null && !running) throw new Refusal(404, 'NoSuchUpload', 'The specified multipart upload does not exist.');
    if (method === 'POST' && asked.has('uploads')) {
      const id = `upload-${this.uploads.size + this.requests.length}`;
      this.uploads.set(id, { bucket: bucketName, key, parts: new Map() });
      return answer(200, {}, `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
    }
    const stored = (): Held => ({ body, changedMs: this.now(), tag: `"${createHash('md5').update(body).digest('hex')}"` });
    if (method === 'PUT' && running) {
      const number = Number(asked.get('partNumber'));
      if (number >= this.holdFromPart) return this.held();
      const part = stored();
      running.parts.set(number, part);
      return answer(200, { etag: part.tag });
    }
    if (method === 'POST' && running) return this.#joined(upload ?? '', body.toString(), answer);
    if (method === 'DELETE' && upload !== null) {
      this.uploads.delete(upload);
      return answer(204);
    }
    if (method === 'PUT') {
      const one = stored();
      bucket.set(key, one);
      return answer(200, { etag: one.tag });
    }
    if (method === 'DELETE') {
      bucket.delete(key);
      return answer(204);
    }
    const one = bucket.get(key);
    if (!one) throw new Refusal(404, 'NoSuchKey', 'The specified key does not exist.');
    const headers = { etag: one.tag, 'last-modified': new Date(one.changedMs).toUTCString() };
    if (method === 'HEAD') {
      response.writeHead(200, { ...headers, 'content-length': one.body.length, connection: 'close' });
      return void response.end();
    }
    const range = /^bytes=0-(\d+)$/.exec(request.headers.range ?? '')?.[1];
    if (range !== undefined) return answer(206, headers, one.body.subarray(0, Number(range) + 1));
    if (this.breakAfterBytes === undefined) return answer(200, headers, one.body);
    response.writeHead(200, { ...headers, 'content-length': one.body.length });
    response.write(one.body.subarray(0, this.breakAfterBytes), () => response.destroy());
  }

  #listed(bucket: ReadonlyMap<string, Held>, asked: URLSearchParams): string {
    const most = Math.min(1000, Number(asked.get('max-keys') ?? 1000));
    const from = asked.get('continuation-token') ?? '';
    const all = [...bucket].filter(([key]) => key.startsWith(asked.get('prefix') ?? '') && key > from).sort(([a], [b]) => (a < b ? -1 : 1));
    const page = all.slice(0, most);
    const name = (key: string) => encodeURIComponent(key).replaceAll('%2F', '/').replaceAll('%20', '+');
    const last = page.at(-1)?.[0] ?? '';
    return `<ListBucketResult><IsTruncated>${all.length > page.length}</IsTruncated>${all.length > page.length ? `<NextContinuationToken>${last}</NextContinuationToken>` : ''}${page
      .map(
        ([key, { body, changedMs }]) =>
          `<Contents><Key>${name(key)}</Key><LastModified>${new Date(changedMs).toISOString()}</LastModified><Size>${body.length}</Size></Contents>`,
      )
      .join('')}</ListBucketResult>`;
  }

  #joined(id: string, text: string, answer: (status: number, headers?: Record<string, string>, body?: string) => void): void {
    const upload = this.uploads.get(id);
    const named = [...text.matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>(.*?)<\/ETag>/g)].map(([, number, tag]) => ({
      number: Number(number),
      tag,
    }));
    const parts = named.map(({ number, tag }) => {
      const part = upload?.parts.get(number);
      if (!part || part.tag !== tag?.replaceAll('&quot;', '"')) throw new Refusal(400, 'InvalidPart');
      return part;
    });
    if (parts.slice(0, -1).some(({ body }) => body.length < leastPartBytes)) throw new Refusal(400, 'EntityTooSmall');
    if (!upload) throw new Refusal(404, 'NoSuchUpload');
    this.uploads.delete(id);
    this.buckets
      .get(upload.bucket)
      ?.set(upload.key, { body: Buffer.concat(parts.map(({ body }) => body)), changedMs: this.now(), tag: '"joined-1"' });
    answer(200, {}, '<CompleteMultipartUploadResult><ETag>"joined-1"</ETag></CompleteMultipartUploadResult>');
  }
}

const strict = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
