import { createHash, createHmac } from 'node:crypto';

/** The keys for signing: the secret key is never sent. */
export type SigningKeys = Record<'accessKey' | 'secretKey' | 'region', string>;

export interface SignedPart {
  method: string;
  /** Path as sent: each name encoded (`encodedPath`), without query. */
  path: string;
  query: Readonly<Record<string, string>>;
  /** Headers with names in lower case, including `host`. All are signed. */
  headers: Readonly<Record<string, string>>;
}

export const hashOf = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');
export const emptyHash = hashOf('');
/** Hash in links, whose body is unknown when they are created. */
const unsigned = 'UNSIGNED-PAYLOAD';
const algorithm = 'AWS4-HMAC-SHA256';
export const longestLinkSeconds = 7 * 24 * 3600;

/** Encodes a text as S3 requires: every byte except the unreserved ones, with hex digits in upper case. */
export const encoded = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

/** Encodes a path. Slashes stay, including double ones, and so do dots: in S3 they are characters of a name. */
export const encodedPath = (path: string): string => path.split('/').map(encoded).join('/');

export const stampOf = (timeMs: number): string => new Date(timeMs).toISOString().replace(/[-:]|\.\d{3}/g, '');

export function queryText(query: Readonly<Record<string, string>>): string {
  return Object.entries(query)
    .map(([name, value]): [string, string] => [encoded(name), encoded(value)])
    .sort(([a, x], [b, y]) => (a < b ? -1 : a > b ? 1 : x < y ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

/** Signs a request with the hash of its body, by signature version 4 (R40). Returns all headers. */
export function signedHeaders(part: SignedPart, keys: SigningKeys, bodyHash: string, nowMs: number): Record<string, string> {
  const stamp = stampOf(nowMs);
  const headers = { ...part.headers, 'x-amz-content-sha256': bodyHash, 'x-amz-date': stamp };
  const names = namesOf(headers);
  const signature = sign({ ...part, headers }, names, keys, stamp, bodyHash);
  const credential = `${keys.accessKey}/${scopeOf(stamp, keys)}`;
  return { ...headers, authorization: `${algorithm} Credential=${credential},SignedHeaders=${names},Signature=${signature}` };
}

/** Returns the query of a link that is valid for this many seconds: the signature covers method, path, host and time window. */
export function linkQuery(part: SignedPart, keys: SigningKeys, { nowMs, seconds }: { nowMs: number; seconds: number }): string {
  const stamp = stampOf(nowMs);
  const names = namesOf(part.headers);
  const query = {
    ...part.query,
    'X-Amz-Algorithm': algorithm,
    'X-Amz-Credential': `${keys.accessKey}/${scopeOf(stamp, keys)}`,
    'X-Amz-Date': stamp,
    'X-Amz-Expires': String(seconds),
    'X-Amz-SignedHeaders': names,
  };
  return `${queryText(query)}&X-Amz-Signature=${sign({ ...part, query }, names, keys, stamp, unsigned)}`;
}

export function linkWindow(url: URL): { fromMs: number; untilMs: number } | undefined {
  const found = new Map([...url.searchParams].map(([name, value]) => [name.toLowerCase(), value]));
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(found.get('x-amz-date') ?? '') ?? [];
  const seconds = found.get('x-amz-expires') ?? '';
  if (second === undefined || !/^\d{1,6}$/.test(seconds) || !found.has('x-amz-signature')) return undefined;
  const fromMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(fromMs) ? undefined : { fromMs, untilMs: fromMs + Number(seconds) * 1000 };
}

const namesOf = (headers: Readonly<Record<string, string>>) => Object.keys(headers).sort().join(';');
const scopeOf = (stamp: string, { region }: SigningKeys) => `${stamp.slice(0, 8)}/${region}/s3/aws4_request`;

function sign({ method, path, query, headers }: SignedPart, names: string, keys: SigningKeys, stamp: string, bodyHash: string): string {
  const listed = names.split(';').map((name) => `${name}:${headers[name]?.trim().replace(/ +/g, ' ')}\n`);
  const request = [method, path, queryText(query), listed.join(''), names, bodyHash].join('\n');
  const text = [algorithm, stamp, scopeOf(stamp, keys), hashOf(request)].join('\n');
  const hmac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest();
  const ofDay = hmac(`AWS4${keys.secretKey}`, stamp.slice(0, 8));
  return hmac(hmac(hmac(hmac(ofDay, keys.region), 's3'), 'aws4_request'), text).toString('hex');
}
