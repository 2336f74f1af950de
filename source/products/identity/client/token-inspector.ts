import type { JSONWebKeySet, JWTPayload, ProtectedHeaderParameters } from 'jose';
import { Fault } from '../../../faults/fault.ts';
import { cleanLine } from '../../../text/clean.ts';
import { isTooDeep, nestingProblem } from '../../../text/nesting.ts';
import { durationText } from '../../../text/quantities.ts';
import { type CheckedItem, itemOf } from './checked-item.ts';

export interface TokenExpectations {
  /** Keys of the issuer; undefined if they were not fetched. */
  keys: JSONWebKeySet | undefined;
  withoutKeys?: string;
  issuer: string | undefined;
  audience: string | undefined;
  nowMs: number;
}

const toleranceSeconds = 60;
const longLifeSeconds = 24 * 3600;
/** Anyone who has a token can read it (R43). */
const sensitive = /passw|secret|private|credit|iban|ssn|social_security|api_?key|cvv/i;

/** Decodes a token without verifying it. Throws `usage.token` if the text is not a token. */
export async function readToken(token: string): Promise<{ header: ProtectedHeaderParameters; claims: JWTPayload }> {
  const { decodeJwt, decodeProtectedHeader } = await import('jose');
  const parts = token.split('.').length;
  if (parts === 5)
    throw notToken('The token is encrypted (five parts), so only its recipient can read it.', 'Inspect the token at its recipient.');
  if (parts !== 3) throw notToken('A signed token has three parts separated by dots.');
  const texts = token.split('.').map((one) => Buffer.from(one, 'base64url').toString('utf8'));
  if (texts.some(isTooDeep)) throw notToken(nestingProblem);
  try {
    return { header: decodeProtectedHeader(token), claims: decodeJwt(token) };
  } catch {
    throw notToken('The parts are not JSON encoded as base64url, so the token is truncated or of another type.');
  }
}

/** Checks all parts of a token (R43). The verdict is `unproved` if nothing is wrong but the signature could not be checked. */
export async function inspectToken(token: string, expectations: TokenExpectations) {
  const { header, claims } = await readToken(token);
  const items = [
    algorithmItem(header),
    await signatureItem(token, header, expectations),
    ...timeItems(claims, expectations.nowMs / 1000),
    issuerItem(claims, expectations.issuer),
    audienceItem(claims, expectations.audience),
    contentItem(claims),
  ].filter((item) => item !== undefined);
  const isRefused = items.some(({ state }) => state === 'blocked');
  const isProved = items.some(({ id, state }) => id === 'signature' && state === 'ok');
  const verdict = isRefused ? 'refused' : isProved ? 'valid' : 'unproved';
  return { header: { ...header }, claims, items, verdict } as const;
}

function algorithmItem({ alg }: ProtectedHeaderParameters): CheckedItem {
  const item = itemOf('algorithm', 'Algorithm');
  const shown = cleanLine(String(alg ?? 'missing'));
  if (isUnsigned(alg)) return item.blocked(`${shown}: not signed, so anyone could have created it`);
  if (/^HS\d+$/.test(String(alg)))
    return item.warning(`${shown}: signed with a shared secret, so anyone who can verify the token can also forge it`);
  return item.ok(shown);
}

const isUnsigned = (alg: unknown) => alg === undefined || /^none$/i.test(String(alg));

async function signatureItem(
  token: string,
  { alg, kid }: ProtectedHeaderParameters & { kid?: string },
  { keys, withoutKeys = 'no keys provided' }: TokenExpectations,
): Promise<CheckedItem> {
  const item = itemOf('signature', 'Signature');
  if (isUnsigned(alg)) return item.blocked('none');
  if (/^HS/.test(String(alg))) return item.warning('not checked: verification requires the shared secret');
  if (!keys) return item.warning(`not checked: ${withoutKeys}`);
  const { compactVerify, createLocalJWKSet, errors } = await import('jose');
  const by = kid === undefined ? '' : ` (key ${cleanLine(kid)})`;
  try {
    await compactVerify(token, createLocalJWKSet(keys));
    return item.ok(`valid, signed by the issuer${by}`);
  } catch (thrown) {
    if (thrown instanceof errors.JWSSignatureVerificationFailed)
      return item.blocked(`invalid: the token was modified, or signed by another issuer${by}`);
    if (thrown instanceof errors.JWKSNoMatchingKey) return item.blocked(`signed with a key that the issuer does not list${by}`);
    if (thrown instanceof errors.JWKSMultipleMatchingKeys) return item.blocked('not verified: several keys of the issuer match the token');
    if (thrown instanceof errors.JOSEError) return item.blocked(cleanLine(thrown.message));
    throw thrown;
  }
}

function timeItems({ exp, nbf, iat }: JWTPayload, now: number): CheckedItem[] {
  const span = (seconds: number) => durationText(Math.abs(seconds) * 1000);
  const [end, begin] = [itemOf('expiry', 'Expiry'), itemOf('begin', 'Not before')];
  const [made, life] = [itemOf('made', 'Issued'), itemOf('life', 'Lifetime')];
  const items: CheckedItem[] = [];
  if (typeof exp !== 'number') items.push(end.blocked('never (no exp)'));
  else if (exp + toleranceSeconds < now) items.push(end.blocked(`expired ${span(now - exp)} ago, ${dateText(exp)}`));
  else items.push(end.ok(`${exp < now ? `${span(now - exp)} ago, within the tolerance` : `in ${span(exp - now)}`}, ${dateText(exp)}`));
  if (typeof nbf === 'number' && nbf - toleranceSeconds > now) items.push(begin.blocked(`not valid yet (valid in ${span(nbf - now)})`));
  if (typeof iat !== 'number') return items;
  if (iat - toleranceSeconds > now)
    items.push(made.blocked(`in the future, ${dateText(iat)}: the clock of the issuer or of this machine is wrong`));
  else items.push(made.ok(`${span(Math.max(0, now - iat))} ago, ${dateText(iat)}`));
  if (typeof exp === 'number' && exp - iat > longLifeSeconds)
    items.push(life.warning(`${span(exp - iat)} in total, so a leaked token can be used for a long time`));
  return items;
}

function issuerItem({ iss }: JWTPayload, wanted: string | undefined): CheckedItem {
  const item = itemOf('issuer', 'Issuer');
  const shown = cleanLine(String(iss ?? ''));
  if (shown === '') return item[wanted === undefined ? 'warning' : 'blocked']('no issuer (no iss)');
  if (wanted === undefined) return item.warning(`${shown}; no expected issuer was set (--issuer)`);
  // Compared exactly: with a slash at the end it is a different issuer.
  return iss === wanted ? item.ok(shown) : item.blocked(`${shown}, expected ${cleanLine(wanted)}`);
}

function audienceItem({ aud }: JWTPayload, wanted: string | undefined): CheckedItem {
  const item = itemOf('audience', 'Audience');
  const all = (Array.isArray(aud) ? aud : aud === undefined ? [] : [aud]).map(String);
  const shown = all.map(cleanLine).join(', ');
  if (wanted === undefined) return item.warning(`${shown || 'none (no aud)'}; no expected audience was set (--audience)`);
  return all.includes(wanted) ? item.ok(shown) : item.blocked(`${shown || 'none (no aud)'}, expected ${cleanLine(wanted)}`);
}

function contentItem(claims: JWTPayload): CheckedItem | undefined {
  const found = Object.keys(claims).filter((name) => sensitive.test(name));
  if (found.length === 0) return undefined;
  return itemOf('content', 'Content').warning(
    `${found.map(cleanLine).join(', ')}: tokens are signed but not encrypted, so anyone who has the token can read it`,
  );
}

const meanings: Readonly<Record<string, string>> = {
  iss: 'issuer',
  sub: 'subject',
  aud: 'audience',
  exp: 'valid until',
  nbf: 'valid from',
  iat: 'issued at',
  jti: 'unique ID of the token',
  azp: 'client that requested it',
  client_id: 'client that requested it',
  scope: 'permissions',
  scp: 'permissions',
  nonce: 'ties the token to a login request',
  auth_time: 'logged in at',
  acr: 'authentication level',
  amr: 'authentication method',
  sid: 'session',
  at_hash: 'hash of the access token',
  c_hash: 'hash of the authorization code',
  email: 'email address',
  email_verified: 'whether the email address was verified',
  name: 'name',
  preferred_username: 'login name',
  groups: 'groups',
  roles: 'roles',
  realm_access: 'roles in the realm',
  resource_access: 'roles per client',
  typ: 'kind',
};

/** Returns claims as rows of name, value and meaning. Times are shown as dates. */
export function claimRows(claims: Readonly<Record<string, unknown>>): string[][] {
  return Object.entries(claims).map(([name, value]) => {
    const isTime = /^(?:exp|nbf|iat|auth_time|updated_at)$/.test(name) && typeof value === 'number';
    const text = isTime ? dateText(value) : typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
    return [cleanLine(name), cleanLine(text.length > 200 ? `${text.slice(0, 200)}...` : text), meanings[name] ?? ''];
  });
}

function dateText(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? `${seconds}` : `${date.toISOString().slice(0, 19)}Z`;
}

const notToken = (why: string, remedy = 'Copy the whole token again.') =>
  new Fault('usage.token', `Cannot read the JSON Web Token (JWT). ${why}`, remedy);
