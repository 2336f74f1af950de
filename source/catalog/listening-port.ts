import type { ContainerDetail } from '../engine/engine.ts';
import type { CatalogEntry, CatalogPort } from './catalog.ts';
import { readInterpolation } from './interpolation.ts';
import { portVariable } from './port-mapping.ts';

export interface Listening {
  port: number;
  /** Undefined where nothing tells. */
  address: string | undefined;
}

/**
 * Where a container in the host's own network listens. Nothing is published there, so what it was started with tells: the words of its command, or values of its
 * environment, in which compose.yaml has the variables of this port. Otherwise the number of the catalog.
 */
export function listeningOf(
  { services }: Pick<CatalogEntry, 'services'>,
  port: CatalogPort,
  container: Pick<ContainerDetail, 'argv' | 'env'> | undefined,
): Listening {
  // The number on the host is that of a publication, of which there is none.
  const usual = { port: port.container, address: undefined };
  const service = services.find(({ name }) => name === port.service);
  if (!service || !container) return usual;
  const env = new Map(container.env);
  const variable = portVariable(port.name);
  const found = (name: string): string | undefined => {
    for (const written of service.command) {
      const pattern = patternOf(written, name);
      for (const word of pattern ? container.argv : []) {
        const [, value] = pattern?.exec(word) ?? [];
        if (value !== undefined) return value;
      }
    }
    for (const [key, written] of Object.entries(service.environment)) {
      const [, value] = patternOf(written, name)?.exec(env.get(key) ?? '') ?? [];
      if (value !== undefined) return value;
    }
    return undefined;
  };
  const number = Number(found(variable));
  if (!Number.isInteger(number) || number < 1 || number > 65535) return usual;
  return { port: number, address: found(variable.replace(/PORT$/, 'BIND'))?.replace(/^\[(.*)\]$/, '$1') };
}

/** What a text with this variable in it has become; undefined for one without it. */
function patternOf(written: string, variable: string): RegExp | undefined {
  const { parts } = readInterpolation(written);
  if (!parts.some((part) => typeof part !== 'string' && part.name === variable)) return undefined;
  const escaped = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const pattern = parts.map((part) => (typeof part === 'string' ? escaped(part) : part.name === variable ? '([^\\s,]*)' : '[^\\s,]*'));
  return new RegExp(`^${pattern.join('')}$`);
}
