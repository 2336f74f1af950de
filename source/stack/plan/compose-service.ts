import { isMap, isPair, isScalar, isSeq, type YAMLMap } from 'yaml';
import { keyText } from '../../yaml/aliases.ts';

interface EnvironmentEntry {
  name: string;
  value: string;
  write(value: string): void;
  remove(): void;
}

export const listIn = (node: unknown): unknown[] => (isSeq(node) ? (node.toJSON() as unknown[]) : []);

/** Reads both forms: a map of names, and a list of NAME=value. */
export function environmentOf(service: YAMLMap): EnvironmentEntry[] {
  const environment = service.get('environment');
  if (!isMap(environment) && !isSeq(environment)) return [];
  const items: unknown[] = environment.items;
  return [...items].flatMap((item): EnvironmentEntry[] => {
    const remove = () => void items.splice(items.indexOf(item), 1);
    const scalar = isPair(item) ? item.value : item;
    if (!isScalar(scalar) || typeof scalar.value !== 'string') return [];
    const [, listed, value = ''] = /^([^=]*)=(.*)$/s.exec(scalar.value) ?? [];
    const write = (text: string) => {
      scalar.value = text;
    };
    if (isPair(item)) return [{ name: keyText(item.key), value: scalar.value, write, remove }];
    return listed === undefined ? [] : [{ name: listed, value, write: (text) => write(`${listed}=${text}`), remove }];
  });
}

export function mountSources(volumes: unknown): string[] {
  if (!Array.isArray(volumes)) return [];
  return volumes.flatMap((volume: unknown) => {
    if (typeof volume === 'string') return [volume.split(':')[0] ?? ''];
    const source = (volume as { source?: unknown } | null)?.source;
    return typeof source === 'string' ? [source] : [];
  });
}

/** A file of the component's folder may be mounted by itself, or with a folder above it. */
export function isMounted(path: string, sources: readonly string[]): boolean {
  return sources.some((source) => {
    const inside = source.replace(/^\.\//, '').replace(/\/$/, '');
    return path === inside || path.startsWith(`${inside}/`);
  });
}

export function networkMap(service: YAMLMap): Record<string, { aliases?: string[] } | null> {
  const networks = service.get('networks');
  if (isMap(networks)) return networks.toJSON() as Record<string, { aliases?: string[] } | null>;
  return Object.fromEntries((isSeq(networks) ? listIn(networks).map(String) : ['default']).map((name) => [name, {}]));
}
