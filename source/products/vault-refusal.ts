import { Fault, type FaultInit } from '../faults/fault.ts';
import type { VaultAnswer } from './vault-api.ts';

/** A refusal as a sentence. `what` goes on "It did not": `read secret/apps/x`. */
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

export function vaultFault(message: string, remedy: string, code: FaultInit['code'] = 'failed.vault'): Fault {
  return new Fault({ code, message, remedy });
}

export function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

/** What is under `data`, or at the top where old calls answer without an envelope. */
export function dataOf({ json }: Pick<VaultAnswer, 'json'>): Record<string, unknown> {
  const body = isRecord(json) ? json : {};
  return isRecord(body['data']) ? body['data'] : body;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What answers there is something else: a proxy's page, another product. Nothing may be concluded from it. */
export function strangeAnswer(what: string): Fault {
  return vaultFault(
    `Asked to ${what}, it answered as no secrets manager does.`,
    'Look whether something stands in front of it, and at its log.',
  );
}

export const textIn = (data: Readonly<Record<string, unknown>>, name: string): string => {
  const value = data[name];
  return typeof value === 'string' ? value : '';
};
export const numberIn = (data: Readonly<Record<string, unknown>>, name: string): number => {
  const value = data[name];
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
};
export const textsIn = (data: Readonly<Record<string, unknown>>, name: string): string[] => {
  const value = data[name];
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
};
