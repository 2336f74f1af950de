import { isMap, isScalar, isSeq, type YAMLMap } from 'yaml';

/** An entry of a service's environment, where it stands. */
export interface EnvironmentEntry {
  name: string;
  value: string;
  write(value: string): void;
  remove(): void;
}

/** Both forms: a map of names, and a list of NAME=value. */
export function environmentOf(service: YAMLMap): EnvironmentEntry[] {
  const environment = service.get('environment');
  if (isMap(environment)) {
    return environment.items.flatMap((pair): EnvironmentEntry[] => {
      const { key, value } = pair;
      if (!isScalar(value) || typeof value.value !== 'string') return [];
      return [
        {
          name: String(isScalar(key) ? key.value : key),
          value: value.value,
          write: (text) => {
            value.value = text;
          },
          remove: () => {
            environment.items.splice(environment.items.indexOf(pair), 1);
          },
        },
      ];
    });
  }
  if (!isSeq(environment)) return [];
  return environment.items.flatMap((item): EnvironmentEntry[] => {
    if (!isScalar(item) || typeof item.value !== 'string' || !item.value.includes('=')) return [];
    const equals = item.value.indexOf('=');
    const name = item.value.slice(0, equals);
    return [
      {
        name,
        value: item.value.slice(equals + 1),
        write: (text) => {
          item.value = `${name}=${text}`;
        },
        remove: () => {
          environment.items.splice(environment.items.indexOf(item), 1);
        },
      },
    ];
  });
}

/** What its mounts are of: names of volumes, paths. */
export function mountsOf(service: YAMLMap): string[] {
  const volumes = service.get('volumes');
  if (!isSeq(volumes)) return [];
  return (volumes.toJSON() as unknown[]).flatMap((volume) => {
    if (typeof volume === 'string') return [volume.split(':')[0] ?? ''];
    const source = (volume as { source?: unknown } | null)?.source;
    return typeof source === 'string' ? [source] : [];
  });
}
