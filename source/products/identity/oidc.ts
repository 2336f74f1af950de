import type { JSONWebKeySet } from 'jose';
import { HttpClient, httpEndpointAt, httpEndpointOf } from '../../calls/http-client.ts';
import type { HttpEndpoint } from '../../calls/http-exchange.ts';
import type { CatalogEntry } from '../../catalog/catalog.ts';
import { Fault } from '../../faults/fault.ts';
import { apiComponentOf } from '../../flows/api-component.ts';
import { argumentOrPrompt } from '../../flows/argument-or-prompt.ts';
import { askChoice } from '../../flows/ask-choice.ts';
import type { FlowInput, Procedure } from '../../flows/flow.ts';
import { optionOf, wordsUpTo } from '../../flows/flow-options.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import type { Host } from '../../hosts/host.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { type JsonObject, objectOf, parsedJson } from '../../text/json-value.ts';
import { wrongText } from './client/checked-item.ts';
import { checkDiscovery, checkKeys, discoverySuffix } from './client/oidc-provider.ts';
import { claimRows, inspectToken, readToken, type TokenExpectations } from './client/token-inspector.ts';

export const oidcCheck: Procedure = async (session, input, context) => {
  const [word] = wordsUpTo(1, input, { takes: 'Check one realm or application at a time', remedy: 'Run the command once for each.' });
  const { component, entry, api, target } = await apiComponentOf(session, input, context, { name: 'oidc', what: 'OIDC provider' });
  const path = await documentPath(session, entry, word);
  const endpoint = httpEndpointOf(target, api.port ?? 'web');
  const site = component.url?.startsWith('https://') ? new URL(component.url) : undefined;
  const document = await readBehindProxy(endpoint, path, site, session.signal);
  const items = checkDiscovery(document, { address: site && `${site.origin}${path}` });
  const keysAt = document['jwks_uri'];
  if (typeof keysAt === 'string' && URL.canParse(keysAt)) {
    // The keys are fetched from the same port, whatever host name the document has.
    const { pathname, search } = new URL(keysAt);
    items.push(checkKeys(await readBehindProxy(endpoint, `${pathname}${search}`, site, session.signal), Date.now()));
  }
  for (const item of items) session.show({ kind: 'item', ...item });
  const wrong = wrongText(items);
  const odd = items.filter(({ state }) => state === 'warning');
  const data = { path, issuer: document['issuer'], items };
  if (wrong !== '') {
    const isAddress = items.some(({ id, state }) => state === 'blocked' && (id === 'issuer' || id === 'endpoints'));
    const remedy = isAddress
      ? 'Check that the public URL of the component is set, and that the reverse proxy passes X-Forwarded-Proto.'
      : 'Correct this in the settings of the provider.';
    throw new Fault('failed.discovery', `${component.id} fails the OIDC check: ${wrong}.`, remedy);
  }
  const warnings = odd.length === 0 ? '' : `, with warnings: ${odd.map(({ title }) => title.toLowerCase()).join(', ')}`;
  return { message: `The OIDC discovery document of ${component.id} is valid${warnings}.`, data };
};

async function documentPath(session: Session, entry: CatalogEntry, word: string | undefined): Promise<string> {
  const calls = Object.values(entry.calls).filter(({ http }) => http?.path.endsWith(discoverySuffix));
  const named = calls.find(({ inputs }) => Object.keys(inputs).length === 1);
  const [inputName] = Object.keys(named?.inputs ?? {});
  // The specification puts the document at the root for all providers; a different path of the product takes precedence.
  const plain =
    calls.find(({ inputs, http }) => Object.keys(inputs).length === 0 && http?.path !== discoverySuffix) ??
    calls.find(({ inputs }) => Object.keys(inputs).length === 0);
  if (named && inputName !== undefined && (word !== undefined || !plain?.http)) {
    const given = await argumentOrPrompt(session, {
      id: 'name',
      given: word,
      code: 'usage.name',
      remedy: 'Use another name.',
      label: `${inputName}`,
      help: named.inputs[inputName]?.description ?? '',
      check: (text) => (/^[\w.-]+$/.test(text) ? undefined : 'Use only letters, digits, dots, underscores and hyphens.'),
    });
    return (named.http?.path ?? '').replace(`<${inputName}>`, encodeURIComponent(given));
  }
  if (plain?.http) return plain.http.path;
  throw new Fault('usage.component', `The catalog entry of ${entry.id} has no discovery call.`, 'Add the call to its component.yaml.');
}

/** Sends the headers of the reverse proxy: products build addresses from them. */
async function readBehindProxy(endpoint: HttpEndpoint, path: string, site: URL | undefined, signal: AbortSignal): Promise<JsonObject> {
  const forwarded = site && { host: site.host, 'x-forwarded-host': site.host, 'x-forwarded-proto': 'https', 'x-forwarded-port': '443' };
  const http = new HttpClient(endpoint, { secrets: undefined });
  const { status, json } = await http.send({ method: 'GET', path, headers: { accept: 'application/json', ...forwarded } }, signal);
  if (status === 404) {
    const message = `${endpoint.shown} has nothing at ${cleanLine(path)} (status 404).`;
    throw new Fault('failed.discovery', message, 'Check the name of the realm or application, or the jwks_uri of the discovery document.');
  }
  const document = objectOf(json);
  if (status === 200 && document) return document;
  const message = `${endpoint.shown} returned status ${status} without a JSON document for ${cleanLine(path)}.`;
  throw new Fault('failed.discovery', message, 'Check the log of the provider.');
}

export const tokenInspect: Procedure = async (session, input, context) => {
  if (input.words.length > 0) {
    const message = 'A token must not be passed on the command line, where other users of this machine can read it.';
    throw new Fault('usage.token', message, 'Enter the token when prompted, or pipe {"token": "..."} to --answers -.');
  }
  const help = 'Three parts separated by dots. The token is checked locally, and neither sent nor stored.';
  const check = (text: string) => (text.trim() === '' ? 'Paste a token, or cancel.' : undefined);
  const ask = () => session.ask.secret({ id: 'token', label: 'Token', help, check });
  const typed = await unlessCancelled(session, 'No token was checked.', ask);
  const token = typed.trim().replace(/^bearer\s+/i, '');
  session.hide(token);
  const { claims } = await readToken(token);
  const issuer = optionOf(input, 'issuer');
  const keys = await keysOf(session, context.hostOf(input.engineName), input, typeof claims.iss === 'string' ? claims.iss : undefined);
  const audience = optionOf(input, 'audience');
  const seen = await inspectToken(token, { keys: undefined, ...keys, issuer, audience, nowMs: Date.now() });
  session.show({ kind: 'table', columns: ['CLAIM', 'VALUE', 'MEANING'], rows: claimRows(seen.claims) });
  for (const item of seen.items) session.show({ kind: 'item', ...item });
  if (seen.verdict === 'refused')
    throw new Fault('refused.token', `Do not trust this token: ${wrongText(seen.items)}.`, 'Request a new one from its issuer.');
  const message =
    seen.verdict === 'valid'
      ? 'The token is valid: signed by its issuer and not expired.'
      : 'No problems were found, but the signature was not verified. Do not trust the token yet.';
  return { message, data: { verdict: seen.verdict, header: seen.header, claims: seen.claims, items: seen.items } };
};

/** The author of a token can name any address in it, so that address is fetched only if the operator requests it. */
async function keysOf(session: Session, host: Host, input: FlowInput, named?: string): Promise<Partial<TokenExpectations>> {
  const direct = optionOf(input, 'keys');
  if (direct !== undefined) return { keys: await fetchKeys(host, direct, session.signal) };
  const issuer = optionOf(input, 'issuer') ?? (await trusted(session, named));
  if (issuer === undefined) return { withoutKeys: 'the keys of the issuer are unknown; pass --issuer or --keys' };
  const document = objectOf(await fetchJson(host, `${issuer.replace(/\/$/, '')}${discoverySuffix}`, session.signal));
  const at = document?.['jwks_uri'];
  if (typeof at !== 'string') return { withoutKeys: 'the discovery document of the issuer has no jwks_uri' };
  return { keys: await fetchKeys(host, at, session.signal) };
}

async function trusted(session: Session, named: string | undefined): Promise<string | undefined> {
  if (named === undefined || !named.startsWith('https://') || !session.attended || session.dryRun) return undefined;
  const chosen = await askChoice(session, {
    id: 'fetch',
    label: `Fetch the keys from ${cleanLine(named)}`,
    help: 'The address is from the token itself, which anyone could have created. That server will see the request.',
    choices: { no: 'No, do not verify the signature', yes: ['Yes, fetch the keys', `GET ${cleanLine(named)}${discoverySuffix}`] },
    initial: 'no',
  });
  return chosen === 'yes' ? named : undefined;
}

/** Redirects are not followed. Throws `usage.url` if the address is neither https nor loopback, `unreachable.page` and `failed.page`. */
async function fetchJson(host: Host, address: string, signal: AbortSignal): Promise<unknown> {
  const endpoint = httpEndpointAt(host, address);
  if (!endpoint || !(endpoint.tls || endpoint.address.near))
    throw new Fault('usage.url', `${cleanLine(address)} is not a valid https URL.`, 'For example: https://auth.example.org');
  const { url, shown } = endpoint;
  const http = new HttpClient(endpoint, {
    secrets: undefined,
    unreachable: { code: 'unreachable.page', who: shown, remedy: 'Check the address, and that this machine can reach it.' },
  });
  const headers = { accept: 'application/json', host: url.host };
  const answer = await http.send({ method: 'GET', path: `${url.pathname}${url.search}`, headers }, signal);
  const refused = (why: string) => new Fault('failed.page', `${cleanLine(url.href)} returned ${why}.`, 'Check the address.');
  if (answer.status !== 200 || !answer.whole) throw refused(`status ${answer.status}${answer.whole ? '' : ', response too large'}`);
  const document = parsedJson(answer.text);
  if (document === undefined) throw refused('a response that is not JSON');
  return document;
}

async function fetchKeys(host: Host, at: string, signal: AbortSignal): Promise<JSONWebKeySet> {
  const keys = objectOf(await fetchJson(host, at, signal))?.['keys'];
  if (Array.isArray(keys)) return { keys };
  throw new Fault('failed.page', `No keys found at ${cleanLine(at)}.`, 'Pass the URL of the key set: --keys URL');
}
