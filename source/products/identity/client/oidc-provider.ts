import { X509Certificate } from 'node:crypto';
import { cleanLine } from '../../../text/clean.ts';
import { type JsonObject, listOf, objectOf, objectsOf, textOf } from '../../../text/json-value.ts';
import { durationText } from '../../../text/quantities.ts';
import { unlessThrown } from '../../../text/unless-thrown.ts';
import { type CheckedItem, itemOf } from './checked-item.ts';

export const discoverySuffix = '/.well-known/openid-configuration';

/** Checks a discovery document (OpenID Connect Discovery 1.0, R37, R44), which clients fetch at `address`, on the component's site. */
export function checkDiscovery(document: JsonObject, { address }: { address: string | undefined }): CheckedItem[] {
  const issuer = textOf(document['issuer']);
  return [issuerItem(issuer, address), endpointsItem(document, issuer), flowsItem(document), pkceItem(document), algorithmsItem(document)];
}

function issuerItem(issuer: string, address: string | undefined): CheckedItem {
  const item = itemOf('issuer', 'Issuer');
  const shown = cleanLine(issuer);
  if (issuer === '' || !URL.canParse(issuer)) return item.blocked(`must be a URL, not "${shown}"`);
  if (!issuer.startsWith('https://')) return item.blocked(`${shown} does not use https, so clients reject it`);
  if (/[?#]/.test(issuer)) return item.blocked(`${shown} has a query or a fragment, which is not allowed in an issuer URL`);
  if (address === undefined)
    return item.warning(`${shown}; the provider has no https site, so it is unknown whether clients can reach the issuer`);
  const expected = address.slice(0, -discoverySuffix.length);
  if (issuer.replace(/\/$/, '') === expected.replace(/\/$/, '')) return item.ok(shown);
  return item.blocked(`${shown}, but clients that use ${cleanLine(expected)} reject it, because both must be identical`);
}

const needed = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'];
const other = ['userinfo', 'end_session', 'device_authorization', 'revocation', 'introspection'].map((name) => `${name}_endpoint`);

function endpointsItem(document: JsonObject, issuer: string): CheckedItem {
  const item = itemOf('endpoints', 'Endpoints');
  const missing = needed.filter((name) => textOf(document[name]) === '');
  if (missing.length > 0) return item.blocked(`missing: ${missing.join(', ')}`);
  const there = [...needed, ...other].map((name) => [name, textOf(document[name])] as const).filter(([, url]) => url !== '');
  const plain = there.filter(([, url]) => !url.startsWith('https://'));
  const listed = (urls: typeof there) => urls.map(([name, url]) => `${name} ${cleanLine(url)}`).join(', ');
  if (plain.length > 0) return item.blocked(`without https: ${listed(plain)}`);
  const origin = URL.canParse(issuer) ? new URL(issuer).origin : '';
  const elsewhere = there.filter(([, url]) => !URL.canParse(url) || new URL(url).origin !== origin);
  if (elsewhere.length > 0) return item.warning(`on a different origin than the issuer: ${listed(elsewhere)}`);
  return item.ok(`${there.length}, all on ${cleanLine(origin)}`);
}

function flowsItem(document: JsonObject): CheckedItem {
  const item = itemOf('flows', 'Flows');
  const types = textsOf(document['response_types_supported']);
  if (!types.includes('code')) return item.blocked('the authorization code flow is not offered');
  const implicit = types.filter((type) => /\btoken\b|\bid_token\b/.test(type) && !/\bcode\b/.test(type));
  if (implicit.length > 0)
    return item.warning(`also offers the implicit flow (${implicit.map(cleanLine).join(', ')}): disable it for every client`);
  return item.ok('authorization code; no implicit flow');
}

function pkceItem(document: JsonObject): CheckedItem {
  const item = itemOf('pkce', 'PKCE');
  const methods = textsOf(document['code_challenge_methods_supported']);
  if (methods.length === 0) return item.warning('not listed in the discovery document, so clients may not use it');
  if (!methods.includes('S256')) return item.blocked(`${methods.map(cleanLine).join(', ')}, without S256`);
  return item.ok(methods.map(cleanLine).join(', '));
}

function algorithmsItem(document: JsonObject): CheckedItem {
  const item = itemOf('algorithms', 'Signatures');
  const algorithms = textsOf(document['id_token_signing_alg_values_supported']);
  if (algorithms.some((one) => /^none$/i.test(one))) return item.blocked('offers "none", which allows unsigned tokens');
  if (algorithms.length === 0) return item.blocked('no signature algorithms are listed');
  const shown = algorithms.map(cleanLine).join(', ');
  if (algorithms.every((one) => /^HS/.test(one))) return item.warning(`${shown}: all use a shared secret`);
  return item.ok(shown);
}

const leastModulusBits = 2048;
const oldKeyDays = 365;

export function checkKeys(document: unknown, nowMs: number): CheckedItem {
  const item = itemOf('keys', 'Keys');
  const all = objectsOf(objectOf(document)?.['keys']);
  if (all.length === 0) return item.blocked('none, so no token can be verified');
  // If a private key is published, no token can be trusted.
  const leaked = all.filter((key) => ['d', 'p', 'q', 'k'].some((part) => key[part] !== undefined));
  if (leaked.length > 0)
    return item.blocked(`PRIVATE KEYS ARE PUBLISHED (${leaked.map(nameOf).join(', ')}): replace them now, because anyone can forge tokens`);
  const weak = all.filter((key) => key['kty'] === 'RSA' && Buffer.from(textOf(key['n']), 'base64url').length * 8 < leastModulusBits);
  if (weak.length > 0) return item.blocked(`shorter than ${leastModulusBits} bits: ${weak.map(nameOf).join(', ')}`);
  if (all.length > 1 && all.some((key) => textOf(key['kid']) === ''))
    return item.warning('several, some without an ID (kid), so clients cannot select the right one');
  const ages = all.flatMap((key) => ageOf(key, nowMs));
  const oldest = Math.max(0, ...ages);
  const shown = all.map((key) => `${textOf(key['kty'])} ${nameOf(key)}`).join(', ');
  if (oldest > oldKeyDays * 86_400_000) return item.warning(`${shown}; the oldest is ${durationText(oldest)} old: rotate it`);
  return item.ok(oldest > 0 ? `${shown}; the oldest is ${durationText(oldest)} old` : shown);
}

function ageOf(key: JsonObject, nowMs: number): number[] {
  const [first] = textsOf(key['x5c']);
  if (first === undefined) return [];
  return unlessThrown(() => [nowMs - Date.parse(new X509Certificate(Buffer.from(first, 'base64')).validFrom)], []);
}

const nameOf = (key: JsonObject) => cleanLine(textOf(key['kid'])).slice(0, 16) || 'unnamed';
const textsOf = (value: unknown) => listOf(value).map(textOf).filter(Boolean);
