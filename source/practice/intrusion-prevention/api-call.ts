import type { IncomingMessage } from 'node:http';
import { IntakeRefusal } from './intake.ts';
import type { RequestCounts } from './metrics.ts';
import type { Dialect } from './queries.ts';
import type { Store } from './store.ts';

/** What the local API works on. `run` is what begins anew with every start. */
export interface ApiSurroundings {
  store: Store;
  dialect: Dialect;
  run(): { secret: Buffer; counts: RequestCounts } | undefined;
  log(level: string, message: string, fields?: Readonly<Record<string, string>>): void;
}

/** A request, read whole. */
export interface Ask {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  body: string;
  address: string;
}

/** `json` undefined: an empty body. `text` is for HEAD, which gin answers as text. */
export interface Answer {
  status: number;
  json?: unknown;
  text?: true;
  headers?: Readonly<Record<string, string>>;
}

/** The usual failure: one key. */
export const message = (status: number, words: string): Answer => ({ status, json: { message: words } });

/** The failure of the log-in layer, which has a form of its own. */
export const unauthorised = (words: string): Answer => ({
  status: 401,
  json: { code: 401, message: words },
  headers: { 'Www-Authenticate': 'JWT realm=Crowdsec API local' },
});

/** Throws the 400 of a body that is no JSON. */
export function parseBody(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new IntakeRefusal(400, decodingFault(body));
  }
}

/** What Go's decoder says about a body that is no JSON. */
export function decodingFault(body: string): string {
  const trimmed = body.trim();
  if (trimmed === '') return 'EOF';
  const sign = /^[^\s[{"\dtfn-]/.exec(trimmed)?.[0];
  return sign === undefined ? 'unexpected EOF' : `invalid character '${sign}' looking for beginning of value`;
}
