import { X509Certificate } from 'node:crypto';
import { cleanLine } from '../text/clean.ts';
import { type JsonObject, listOf, objectOf, textOf } from '../text/json-value.ts';
import { durationText } from '../text/quantities.ts';
import type { CheckedItem } from './checked-item.ts';

export const discoverySuffix = '/.well-known/openid-configuration';

export interface DiscoveryExpectations {
  /** Where a client would fetch the document: the address of the component's site, where it has one. */
  address: string | undefined;
}

/** What a client relies on in a discovery document (OpenID Connect Discovery 1.0), item by item (R37, R44). */
export function checkDiscovery(document: JsonObject, { address }: DiscoveryExpectations): CheckedItem[] {
  const issuer = textOf(document['issuer']);
  return [issuerItem(issuer, address), endpointsItem(document, issuer), flowsItem(document), pkceItem(document), algorithmsItem(document)];
}

function issuerItem(issuer: string, address: string | undefined): CheckedItem {
  const item = { id: 'issuer', title: 'Issuer' };
  const shown = cleanLine(issuer);
  if (issuer === '' || !URL.canParse(issuer)) return { ...item, state: 'blocked', evidence: `"${shown}" is no address` };
  if (!issuer.startsWith('https://')) return { ...item, state: 'blocked', evidence: `${shown} is not https: clients refuse it` };
  if (/[?#]/.test(issuer)) return { ...item, state: 'blocked', evidence: `${shown} has a query or a fragment, which an issuer may not` };
  if (address === undefined)
    return {
      ...item,
      state: 'warning',
      evidence: `${shown}; it has no site in the reverse proxy here, so nobody can say whether clients find it there`,
    };
  const expected = address.slice(0, -discoverySuffix.length);
  if (issuer === expected) return { ...item, state: 'ok', evidence: shown };
  const almost = issuer.replace(/\/$/, '') === expected.replace(/\/$/, '');
  return {
    ...item,
    state: almost ? 'ok' : 'blocked',
    evidence: almost
      ? shown
      : `${shown}, and clients that are given ${cleanLine(expected)} refuse it: both have to be the same to the letter`,
  };
}

const needed = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'];
const other = [
  'userinfo_endpoint',
  'end_session_endpoint',
  'device_authorization_endpoint',
  'revocation_endpoint',
  'introspection_endpoint',
];

function endpointsItem(document: JsonObject, issuer: string): CheckedItem {
  const item = { id: 'endpoints', title: 'Endpoints' };
  const missing = needed.filter((name) => textOf(document[name]) === '');
  if (missing.length > 0) return { ...item, state: 'blocked', evidence: `missing: ${missing.join(', ')}` };
  const there = [...needed, ...other].map((name) => [name, textOf(document[name])] as const).filter(([, url]) => url !== '');
  const plain = there.filter(([, url]) => !url.startsWith('https://'));
  if (plain.length > 0)
    return { ...item, state: 'blocked', evidence: `not on https: ${plain.map(([name, url]) => `${name} ${cleanLine(url)}`).join(', ')}` };
  const origin = URL.canParse(issuer) ? new URL(issuer).origin : '';
  const elsewhere = there.filter(([, url]) => !URL.canParse(url) || new URL(url).origin !== origin);
  if (elsewhere.length > 0)
    return {
      ...item,
      state: 'warning',
      evidence: `on another name than the issuer: ${elsewhere.map(([name, url]) => `${name} ${cleanLine(url)}`).join(', ')}`,
    };
  return { ...item, state: 'ok', evidence: `${there.length}, all on ${cleanLine(origin)}` };
}

function flowsItem(document: JsonObject): CheckedItem {
  const item = { id: 'flows', title: 'Flows' };
  const types = textsOf(document['response_types_supported']);
  if (!types.includes('code')) return { ...item, state: 'blocked', evidence: 'the authorization code is not offered' };
  const implicit = types.filter((type) => /\btoken\b|\bid_token\b/.test(type) && !/\bcode\b/.test(type));
  if (implicit.length > 0)
    return {
      ...item,
      state: 'warning',
      evidence: `offers the implicit flow too (${implicit.map(cleanLine).join(', ')}): switch it off for every client`,
    };
  return { ...item, state: 'ok', evidence: 'authorization code; no implicit flow' };
}

function pkceItem(document: JsonObject): CheckedItem {
  const item = { id: 'pkce', title: 'PKCE' };
  const methods = textsOf(document['code_challenge_methods_supported']);
  if (methods.length === 0)
    return { ...item, state: 'warning', evidence: 'the document does not say that it is there: clients that look for it do without' };
  if (!methods.includes('S256')) return { ...item, state: 'blocked', evidence: `${methods.map(cleanLine).join(', ')}, without S256` };
  return { ...item, state: 'ok', evidence: methods.map(cleanLine).join(', ') };
}

function algorithmsItem(document: JsonObject): CheckedItem {
  const item = { id: 'algorithms', title: 'Signatures' };
  const algorithms = textsOf(document['id_token_signing_alg_values_supported']);
  if (algorithms.some((one) => /^none$/i.test(one)))
    return { ...item, state: 'blocked', evidence: 'offers "none": tokens that nobody has signed' };
  if (algorithms.length === 0) return { ...item, state: 'blocked', evidence: 'it does not say with what it signs' };
  const shown = algorithms.map(cleanLine).join(', ');
  if (algorithms.every((one) => /^HS/.test(one)))
    return { ...item, state: 'warning', evidence: `${shown}: with secrets that are shared alone` };
  return { ...item, state: 'ok', evidence: shown };
}

const leastModulusBits = 2048;
const oldKeyDays = 365;

/** The keys that a provider publishes (JWKS). */
export function checkKeys(document: unknown, nowMs: number): CheckedItem {
  const item = { id: 'keys', title: 'Keys' };
  const all = listOf(objectOf(document)?.['keys']).flatMap((key): JsonObject[] => {
    const read = objectOf(key);
    return read ? [read] : [];
  });
  if (all.length === 0) return { ...item, state: 'blocked', evidence: 'there are none: no token can be checked' };
  // A private key among them is the end of all trust.
  const leaked = all.filter((key) => ['d', 'p', 'q', 'k'].some((part) => key[part] !== undefined));
  if (leaked.length > 0)
    return {
      ...item,
      state: 'blocked',
      evidence: `PRIVATE KEYS ARE PUBLISHED (${leaked.map(nameOf).join(', ')}): replace them now, everybody can forge tokens`,
    };
  const weak = all.filter((key) => key['kty'] === 'RSA' && Buffer.from(textOf(key['n']), 'base64url').length * 8 < leastModulusBits);
  if (weak.length > 0)
    return { ...item, state: 'blocked', evidence: `shorter than ${leastModulusBits} bits: ${weak.map(nameOf).join(', ')}` };
  const nameless = all.length > 1 && all.some((key) => textOf(key['kid']) === '');
  if (nameless)
    return { ...item, state: 'warning', evidence: 'several, and not all have a name (kid): clients cannot tell which one to take' };
  const ages = all.flatMap((key) => ageOf(key, nowMs));
  const oldest = Math.max(0, ...ages);
  const shown = `${all.map((key) => `${textOf(key['kty'])} ${nameOf(key)}`).join(', ')}`;
  if (oldest > oldKeyDays * 86_400_000)
    return { ...item, state: 'warning', evidence: `${shown}; the oldest is ${durationText(oldest)} old: rotate it` };
  return { ...item, state: 'ok', evidence: oldest > 0 ? `${shown}; the oldest is ${durationText(oldest)} old` : shown };
}

/** The certificate that comes with a key says when it was made; a key alone does not. */
function ageOf(key: JsonObject, nowMs: number): number[] {
  const [first] = textsOf(key['x5c']);
  if (first === undefined) return [];
  try {
    return [nowMs - Date.parse(new X509Certificate(Buffer.from(first, 'base64')).validFrom)];
  } catch {
    return [];
  }
}

function nameOf(key: JsonObject): string {
  return cleanLine(textOf(key['kid'])).slice(0, 16) || 'without a name';
}

function textsOf(value: unknown): readonly string[] {
  return listOf(value).map(textOf).filter(Boolean);
}
