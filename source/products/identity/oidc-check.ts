import { HttpClient, httpEndpointOf } from '../../calls/http-client.ts';
import type { HttpEndpoint } from '../../calls/http-exchange.ts';
import type { CatalogEntry } from '../../catalog/catalog.ts';
import { Fault } from '../../faults/fault.ts';
import { apiComponentOf } from '../../flows/api-component.ts';
import type { Procedure } from '../../flows/flow.ts';
import { wordsUpTo } from '../../flows/flow-options.ts';
import { givenOrAsked } from '../../flows/given-or-asked.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { wrongText } from './client/checked-item.ts';
import { checkDiscovery, checkKeys, discoverySuffix } from './client/oidc-provider.ts';

export const oidcCheck: Procedure = async (session, input, context) => {
  const [word] = wordsUpTo(1, input, { takes: 'One realm or application at a time', remedy: 'Run it once for each.' });
  const { component, entry, api, target } = await apiComponentOf(session, input, context, { name: 'oidc', what: 'OIDC provider' });
  const path = await documentPath(session, entry, word);
  const endpoint = httpEndpointOf(target, api.port ?? 'web');
  const site = component.url?.startsWith('https://') ? new URL(component.url) : undefined;
  const document = await read(endpoint, path, site, session.signal);
  const items = checkDiscovery(document, { address: site && `${site.origin}${path}` });
  const keysAt = document['jwks_uri'];
  if (typeof keysAt === 'string' && URL.canParse(keysAt)) {
    // The keys are fetched from the same port, whatever host name the document has.
    const { pathname, search } = new URL(keysAt);
    items.push(checkKeys(await read(endpoint, `${pathname}${search}`, site, session.signal), Date.now()));
  }
  for (const item of items) session.show({ kind: 'item', ...item });
  const wrong = wrongText(items);
  const odd = items.filter(({ state }) => state === 'warning');
  const data = { path, issuer: document['issuer'], items };
  if (wrong !== '') {
    const remedy = 'Most often its public address is not set, or the proxy does not pass X-Forwarded-Proto.';
    throw new Fault('failed.discovery', `Clients will refuse ${component.id}: ${wrong}.`, remedy);
  }
  return {
    message:
      odd.length === 0
        ? `The discovery of ${component.id} is right.`
        : `The discovery of ${component.id} works; worth a look: ${odd.map(({ title }) => title.toLowerCase()).join(', ')}.`,
    data,
  };
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
    const given = await givenOrAsked(session, {
      id: 'name',
      given: word,
      code: 'usage.name',
      remedy: 'Name another one.',
      label: `Which ${inputName}?`,
      help: named.inputs[inputName]?.description ?? '',
      check: (text) => (/^[\w.-]+$/.test(text) ? undefined : 'Letters, digits, dots and dashes only.'),
    });
    return (named.http?.path ?? '').replace(`<${inputName}>`, encodeURIComponent(given));
  }
  if (plain?.http) return plain.http.path;
  throw new Fault(
    'usage.component',
    `The catalog does not say where ${entry.id} has its discovery document.`,
    'Add the call to its component.yaml.',
  );
}

/** Sends the headers of the reverse proxy: products build addresses from them. */
async function read(endpoint: HttpEndpoint, path: string, site: URL | undefined, signal: AbortSignal): Promise<Record<string, unknown>> {
  const forwarded = site && { host: site.host, 'x-forwarded-host': site.host, 'x-forwarded-proto': 'https', 'x-forwarded-port': '443' };
  const http = new HttpClient(endpoint, { secrets: undefined });
  const { status, json } = await http.send({ method: 'GET', path, headers: { accept: 'application/json', ...forwarded } }, signal);
  if (status === 404)
    throw new Fault(
      'failed.discovery',
      `There is nothing at ${cleanLine(path)}.`,
      'Name the realm or the application: it may be another one.',
    );
  if (status === 200 && typeof json === 'object' && json !== null) return json as Record<string, unknown>;
  throw new Fault(
    'failed.discovery',
    `${endpoint.shown} answers ${cleanLine(path)} with status ${status}, and not with a JSON document.`,
    'Look at its log.',
  );
}
