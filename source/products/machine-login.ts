import { YAMLParseError } from 'yaml';
import { parseYaml } from '../text/yaml-text.ts';
import type { MachineLogin } from './crowdsec-api.ts';

/** Reads the credentials that CrowdSec keeps for its own machine; undefined where they are not whole. */
export function parseMachineLogin(text: string): (MachineLogin & { url: string }) | undefined {
  let read: unknown;
  try {
    read = parseYaml(text);
  } catch (thrown) {
    if (thrown instanceof YAMLParseError) return undefined;
    throw thrown;
  }
  const { url, login, password } = (typeof read === 'object' && read !== null ? read : {}) as Record<string, unknown>;
  return typeof url === 'string' && typeof login === 'string' && typeof password === 'string' ? { url, login, password } : undefined;
}
