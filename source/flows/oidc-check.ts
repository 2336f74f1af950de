import type { CatalogEntry } from '../catalog/catalog.ts';
import { Fault } from '../faults/fault.ts';
import { type HttpPlace, httpPlaceOf, sendTo } from '../products/component-http.ts';
import { checkDiscovery, checkKeys, discoverySuffix } from '../products/oidc-provider.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { parseJson } from '../text/json-value.ts';
import { oidcCheckAbout } from './about-identity.ts';
import type { Flow } from './flow.ts';
import { wordsUpTo } from './flow-options.ts';
import { entryOf, targetOf } from './secret-proof.ts';
import { componentOf } from './service-targets.ts';

export const oidcCheck: Flow = {
  ...oidcCheckAbout,
  async run(session, input, world) {
    const component = componentOf(input);
    const entry = entryOf(world, component);
    if (entry?.speaks?.api !== 'oidc') {
      throw new Fault({
        code: 'usage.component',
        message: `${component.id} is no OIDC provider that is known here.`,
        remedy: 'Name one: quarterdeck catalog list',
      });
    }
    const [word] = wordsUpTo(1, input, { takes: 'One realm or application at a time', remedy: 'Run it once for each.' });
    const path = await documentPath(session, entry, word);
    const place = httpPlaceOf(await targetOf(world, input.place, entry, session.signal, component), entry.speaks.port ?? 'web');
    const site = component.url?.startsWith('https://') ? new URL(component.url) : undefined;
    const document = await read(place, path, site, session.signal);
    const items = checkDiscovery(document, { address: site && `${site.origin}${path}` });
    const keysAt = document['jwks_uri'];
    if (typeof keysAt === 'string' && URL.canParse(keysAt)) {
      // Its keys are behind the same port, whatever name it goes by.
      const { pathname, search } = new URL(keysAt);
      items.push(checkKeys(await read(place, `${pathname}${search}`, site, session.signal), Date.now()));
    }
    for (const { id, title, state, evidence } of items) session.show({ kind: 'item', id, title, state, evidence });
    const wrong = items.filter(({ state }) => state === 'blocked');
    const odd = items.filter(({ state }) => state === 'warning');
    const data = { path, issuer: document['issuer'], items };
    if (wrong.length > 0) {
      throw new Fault({
        code: 'failed.discovery',
        message: `Clients will refuse ${component.id}: ${wrong.map(({ title, evidence }) => `${title.toLowerCase()}: ${evidence}`).join('; ')}.`,
        remedy: 'Most often its public address is not set, or the proxy does not pass X-Forwarded-Proto.',
      });
    }
    return {
      message:
        odd.length === 0
          ? `The discovery of ${component.id} is right.`
          : `The discovery of ${component.id} works; worth a look: ${odd.map(({ title }) => title.toLowerCase()).join(', ')}.`,
      data,
    };
  },
};

/** Of the calls that the catalog declares: the one without a question, or the one that takes the realm or application that was named. */
async function documentPath(session: Session, entry: CatalogEntry, word: string | undefined): Promise<string> {
  const calls = Object.values(entry.calls).filter(({ http }) => http?.path.endsWith(discoverySuffix));
  const named = calls.find(({ inputs }) => Object.keys(inputs).length === 1);
  const [inputName] = Object.keys(named?.inputs ?? {});
  // What the specification lists for all of them is at the root; where the product has another place, that one is meant.
  const plain =
    calls.find(({ inputs, http }) => Object.keys(inputs).length === 0 && http?.path !== discoverySuffix) ??
    calls.find(({ inputs }) => Object.keys(inputs).length === 0);
  if (named && inputName !== undefined && (word !== undefined || !plain?.http)) {
    const given =
      word ??
      (await session.ask.text({
        id: 'name',
        label: `Which ${inputName}?`,
        help: named.inputs[inputName]?.meaning ?? '',
        check: nameProblem,
      }));
    const problem = nameProblem(given);
    if (problem !== undefined) throw new Fault({ code: 'usage.name', message: problem, remedy: 'Name another one.' });
    return (named.http?.path ?? '').replace(`<${inputName}>`, encodeURIComponent(given));
  }
  if (plain?.http) return plain.http.path;
  throw new Fault({
    code: 'usage.component',
    message: `The catalog does not say where ${entry.id} has its discovery document.`,
    remedy: 'Add the call to its component.yaml.',
  });
}

function nameProblem(text: string): string | undefined {
  return /^[\w.-]+$/.test(text) ? undefined : 'Letters, digits, dots and dashes only.';
}

/** As the reverse proxy asks: products make addresses of what it passes on. */
async function read(place: HttpPlace, path: string, site: URL | undefined, signal: AbortSignal): Promise<Record<string, unknown>> {
  const forwarded = site && { host: site.host, 'x-forwarded-host': site.host, 'x-forwarded-proto': 'https', 'x-forwarded-port': '443' };
  const { status, body, whole } = await sendTo(
    place,
    { method: 'GET', path, headers: { accept: 'application/json', ...forwarded } },
    signal,
  );
  if (status === 404) {
    throw new Fault({
      code: 'failed.discovery',
      message: `There is nothing at ${cleanLine(path)}.`,
      remedy: 'Name the realm or the application: it may be another one.',
    });
  }
  try {
    const parsed = parseJson(body.toString('utf8')) as unknown;
    if (status === 200 && whole && typeof parsed === 'object' && parsed !== null) return parsed as Record<string, unknown>;
  } catch {
    // Said below, with the status.
  }
  throw new Fault({
    code: 'failed.discovery',
    message: `${place.shown} answers ${cleanLine(path)} with status ${status}, and not with a JSON document.`,
    remedy: 'Look at its log.',
  });
}
