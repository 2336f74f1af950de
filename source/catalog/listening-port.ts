import type { ContainerDetail, PublishedPort } from '../engine/engine.ts';
import type { CatalogEntry, CatalogPort } from './catalog.ts';
import { readInterpolation } from './interpolation.ts';
import { portVariable } from './port-mapping.ts';

/**
 * The listening port of a container in the host's own network, which publishes none: from its command or environment, where compose.yaml
 * has the variables of this port there. Otherwise the number in the catalog, and an unknown address.
 */
export function listeningOf(
  { services }: Pick<CatalogEntry, 'services'>,
  port: CatalogPort,
  container: Pick<ContainerDetail, 'argv' | 'env'> | undefined,
): { port: number; address: string | undefined } {
  // The host number belongs to a published port, which does not exist here.
  const usual = { port: port.container, address: undefined };
  const service = services.find(({ name }) => name === port.service);
  if (!service || !container) return usual;
  const env = new Map(container.env);
  const variable = portVariable(port.name);
  const written = [
    ...service.command.flatMap((text) => container.argv.map((word) => ({ text, word }))),
    ...Object.entries(service.environment).map(([key, text]) => ({ text, word: env.get(key) ?? '' })),
  ];
  const found = (name: string): string | undefined => {
    for (const { text, word } of written) {
      const value = patternOf(text, name)?.exec(word)?.[1];
      if (value !== undefined) return value;
    }
    return undefined;
  };
  const number = Number(found(variable));
  if (!Number.isInteger(number) || number < 1 || number > 65535) return usual;
  return { port: number, address: found(variable.replace(/PORT$/, 'BIND'))?.replace(/^\[(.*)\]$/, '$1') };
}

/** Matches the resolved value of a text that contains this variable. */
function patternOf(written: string, variable: string): RegExp | undefined {
  const { parts } = readInterpolation(written);
  if (!parts.some((part) => typeof part !== 'string' && part.name === variable)) return undefined;
  const escaped = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const pattern = parts.map((part) => (typeof part === 'string' ? escaped(part) : part.name === variable ? '([^\\s,]*)' : '[^\\s,]*'));
  return new RegExp(`^${pattern.join('')}$`);
}

export function publishedFor(port: CatalogPort, ports: readonly PublishedPort[]): (PublishedPort & { hostPort: number })[] {
  return ports.filter(
    (candidate): candidate is PublishedPort & { hostPort: number } =>
      candidate.containerPort === port.container && candidate.protocol === port.protocol && Boolean(candidate.hostPort),
  );
}
