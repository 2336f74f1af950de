import { createHash, createHmac } from 'node:crypto';

/** Who signs: the secret key is never sent. */
export interface SigningKeys {
  accessKey: string;
  secretKey: string;
  region: string;
}

export interface SignedPart {
  method: string;
  /** As it is sent: each name of it encoded (`encodedPath`), without query. */
  path: string;
  query: Readonly<Record<string, string>>;
  /** Lower case names; `host` among them. All are signed. */
  headers: Readonly<Record<string, string>>;
}

/** Signed instead of a body that is not there. */
export const emptyHash = createHash('sha256').update('').digest('hex');
/** Of a body that nobody can know when a link is made. */
const unsigned = 'UNSIGNED-PAYLOAD';
const algorithm = 'AWS4-HMAC-SHA256';
/** As long as a link can be good for. */
export const longestLinkSeconds = 7 * 24 * 3600;

/** As S3 wants it: every byte but the unreserved ones, in upper case. */
export function encoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Slashes stay, also double ones and dots: to S3 they are letters of a name. */
export const encodedPath = (path: string): string => path.split('/').map(encoded).join('/');

/** `20260101T120000Z` */
export const stampOf = (timeMs: number): string => new Date(timeMs).toISOString().replace(/[-:]|\.\d{3}/g, '');

/** In the order in which it is signed. */
export function queryText(query: Readonly<Record<string, string>>): string {
  return Object.entries(query)
    .map(([name, value]): [string, string] => [encoded(name), encoded(value)])
    .sort(([a, x], [b, y]) => (a < b ? -1 : a > b ? 1 : x < y ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

/** Signature version 4 over a request with its body's hash (R40). Answers all headers. */
export function signedHeaders(part: SignedPart, keys: SigningKeys, bodyHash: string, nowMs: number): Record<string, string> {
  const stamp = stampOf(nowMs);
  const headers = { ...part.headers, 'x-amz-content-sha256': bodyHash, 'x-amz-date': stamp };
  const names = namesOf(headers);
  const signature = sign({ ...part, headers }, names, keys, stamp, bodyHash);
  return {
    ...headers,
    authorization: `${algorithm} Credential=${keys.accessKey}/${scopeOf(stamp, keys)},SignedHeaders=${names},Signature=${signature}`,
  };
}

/** The query of a link that is good for so long from now on: its signature covers method, path, host and window. */
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

/** What a link says of its window, epoch milliseconds. Undefined where it says none, or nothing that can be read. */
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
  const text = [algorithm, stamp, scopeOf(stamp, keys), createHash('sha256').update(request).digest('hex')].join('\n');
  const hmac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest();
  const ofDay = hmac(`AWS4${keys.secretKey}`, stamp.slice(0, 8));
  return hmac(hmac(hmac(hmac(ofDay, keys.region), 's3'), 'aws4_request'), text).toString('hex');
}
