import { parseYaml } from '../text/yaml-text.ts';

/** A service as a compose file declares it, with what tells whether a container of it is to be expected. */
export interface DeclaredService {
  name: string;
  image: string;
  /** Belongs to profiles: started only when one of them is asked for. */
  profiles: boolean;
  dependsOn: readonly string[];
}

/**
 * The services of a compose file, as far as they can be read: this is somebody else's file, and no place to complain about it. This module
 * loads the parser: import it lazily where start-up time counts.
 */
export function declaredServices(text: string): readonly DeclaredService[] {
  let document: unknown;
  try {
    // It would print what it finds odd, with the lines around it.
    document = parseYaml(text, { merge: true, maxAliasCount: 100, logLevel: 'error' });
  } catch {
    return [];
  }
  const services = asRecord(asRecord(document)?.services);
  return Object.entries(services ?? {}).map(([name, value]) => {
    const service = asRecord(value) ?? {};
    const depends = service.depends_on;
    return {
      name,
      image: typeof service.image === 'string' ? service.image : '',
      profiles: Array.isArray(service.profiles) && service.profiles.length > 0,
      dependsOn: Array.isArray(depends) ? depends.map(String) : Object.keys(asRecord(depends) ?? {}),
    };
  });
}

function asRecord(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
}
