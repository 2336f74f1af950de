import { Fault, type FaultCode } from '../../../faults/fault.ts';
import { type JsonObject, listOf, objectOf } from '../../../text/json-value.ts';

export interface VaultAnswer {
  status: number;
  json: unknown;
  /** The server's message, cleaned: `permission denied`. Empty if there is none. */
  words: string;
}

/** Returns a refusal as a sentence. `what` completes "It did not": `read secret/apps/x`. */
export function vaultRefusal({ status, words }: Pick<VaultAnswer, 'status' | 'words'>, what: string): Fault {
  if (status === 503 && /sealed/i.test(words)) return vaultFault(`It cannot ${what}: it is sealed.`, 'Unseal it first.');
  if (status === 403 && /invalid token|bad token/i.test(words))
    return vaultFault('It does not know that token.', 'Log in again, or give another token.');
  if (status === 403)
    return vaultFault(
      `The token may not ${what}, or it is none.`,
      'Look at what it may: quarterdeck vault token COMPONENT. Or give another.',
    );
  if (status === 429) return vaultFault(`It turns requests away for now, and did not ${what}.`, 'Try again in a moment.');
  if (/standby/i.test(words)) return vaultFault(`This node stands by, and did not ${what}.`, 'Ask the one that leads.');
  return vaultFault(`It did not ${what}: ${words || `it answered with status ${status}`}.`, 'Look at its log.');
}

export function vaultFault(message: string, remedy: string, code: FaultCode = 'failed.vault'): Fault {
  return new Fault(code, message, remedy);
}

/** The fault for an answer that is not from a secrets manager, such as a proxy's page: nothing may be concluded from it. */
export function strangeAnswer(what: string): Fault {
  return vaultFault(
    `Asked to ${what}, it answered as no secrets manager does.`,
    'Look whether something stands in front of it, and at its log.',
  );
}

export function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

/** Returns the object under `data`, or the whole answer of old calls without an envelope. */
export function dataOf({ json }: Pick<VaultAnswer, 'json'>): JsonObject {
  const body = objectOf(json) ?? {};
  return objectOf(body['data']) ?? body;
}

export const numberIn = (data: JsonObject, name: string): number => {
  const value = data[name];
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
};
export const textsIn = (data: JsonObject, name: string): string[] => listOf(data[name]).filter((one) => typeof one === 'string');
