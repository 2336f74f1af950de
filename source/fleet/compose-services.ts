import { objectOf } from '../text/json-value.ts';
import { unlessThrown } from '../text/unless-thrown.ts';
import { parseYaml } from '../yaml/text.ts';

export interface DeclaredService {
  name: string;
  image: string;
  profiles: boolean;
  dependsOn: readonly string[];
}

/** Problems in the file are not reported here: it belongs to the user. Loads the parser: import it lazily where start-up time counts. */
export function declaredServices(text: string): readonly DeclaredService[] {
  // Prevents the parser from printing warnings with the lines around them.
  const options = { merge: true, maxAliasCount: 100, logLevel: 'error' } as const;
  const document = unlessThrown(() => parseYaml(text, options), undefined);
  const services = objectOf(objectOf(document)?.['services']);
  return Object.entries(services ?? {}).map(([name, value]) => {
    const service = objectOf(value) ?? {};
    const depends = service['depends_on'];
    return {
      name,
      image: typeof service['image'] === 'string' ? service['image'] : '',
      profiles: Array.isArray(service['profiles']) && service['profiles'].length > 0,
      dependsOn: Array.isArray(depends) ? depends.map(String) : Object.keys(objectOf(depends) ?? {}),
    };
  });
}
