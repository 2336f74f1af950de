import { type JsonObject, listOf, objectOf } from '../text/json-value.ts';
import { nameRemedy } from '../text/nearest-name.ts';
import { fieldText, type YamlDocument, type YamlPath } from '../yaml/document.ts';
import type { SchemaIssue } from '../yaml/schema-issues.ts';
import { interpolate, readInterpolation, variablesIn } from './interpolation.ts';
import { type PortMapping, readPort } from './port-mapping.ts';

export interface ComposePort extends PortMapping {
  service: string;
  path: YamlPath;
}

export interface ComposeMount {
  source: string;
  target: string;
  readOnly: boolean;
  /** A tmpfs: removed with the container. */
  inMemory: boolean;
  path: YamlPath;
}

export interface ComposeService {
  name: string;
  image: string;
  restart: string | undefined;
  networkMode: string | undefined;
  ports: readonly ComposePort[];
  /** Values as written, variables included. */
  environment: ReadonlyMap<string, { value: string; path: YamlPath }>;
  mounts: readonly ComposeMount[];
  dependsOn: readonly string[];
  profiles: readonly string[];
  devices: readonly string[];
  capAdd: readonly string[];
  command: readonly string[];
  written: JsonObject;
}

export interface ComposeFile {
  services: ReadonlyMap<string, ComposeService>;
  written: JsonObject;
  variables: ReadonlyMap<string, readonly { operator: string; word: string; path: YamlPath }[]>;
}

export type ComposeProblem = Pick<SchemaIssue, 'path' | 'part' | 'field' | 'message' | 'remedy'>;

/** Reads the parts of a compose file that the catalog needs; compose itself validates the rest. */
export function readCompose(document: YamlDocument): { compose: ComposeFile; problems: ComposeProblem[] } {
  const reader = new Reader(document);
  return { compose: reader.read(), problems: reader.problems };
}

class Reader {
  readonly problems: ComposeProblem[] = [];

  constructor(private readonly document: YamlDocument) {}

  read(): ComposeFile {
    const file = objectOf(this.document.value) ?? {};
    const variables = this.#variables();
    const services = new Map<string, ComposeService>();
    const written = objectOf(file['services']);
    if (written === undefined) this.#problem(['services'], '"services" is missing.', 'Add a map of services.');
    for (const [name, value] of Object.entries(written ?? {})) {
      const service = objectOf(value);
      if (service) services.set(name, this.#service(name, service));
      else if (value === null) this.#problem(['services', name], `The service "${name}" is empty.`, 'Add an image, or remove the service.');
    }
    for (const service of services.values()) {
      for (const needed of service.dependsOn) {
        if (services.has(needed)) continue;
        this.#problem(
          ['services', service.name, 'depends_on'],
          `"${service.name}" depends on the unknown service "${needed}".`,
          nameRemedy(needed, services.keys(), 'Remove it.'),
        );
      }
    }
    return { services, written: file, variables };
  }

  #variables(): ComposeFile['variables'] {
    const uses = [...this.document.scalars()].flatMap(({ path, text }) => {
      const { error } = readInterpolation(text);
      if (error) this.#problem(path, `${error.message}.`, 'Fix the variable, or compose rejects the whole file.');
      return variablesIn(text).map(({ name, operator, word }) => ({ name, operator, word, path }));
    });
    return Map.groupBy(uses, ({ name }) => name);
  }

  #service(name: string, service: JsonObject): ComposeService {
    const path = ['services', name];
    const image = service['image'];
    return {
      name,
      image: typeof image === 'string' ? interpolate(image) : '',
      restart: textOf(service['restart']),
      networkMode: textOf(service['network_mode']),
      ports: this.#ports(name, service['ports'], [...path, 'ports']),
      environment: this.#environment(service['environment'], [...path, 'environment']),
      mounts: this.#mounts(service['volumes'], [...path, 'volumes']),
      dependsOn: namesIn(service['depends_on']),
      profiles: namesIn(service['profiles']),
      devices: namesIn(service['devices']).map((device) => interpolate(device)),
      capAdd: namesIn(service['cap_add']),
      command: typeof service['command'] === 'string' ? [service['command']] : namesIn(service['command']),
      written: service,
    };
  }

  #ports(service: string, value: unknown, path: YamlPath): ComposePort[] {
    return listOf(value).flatMap((entry, index): ComposePort[] => {
      const at = [...path, index];
      const read = readPort(entry);
      if ('problem' in read) {
        this.#problem(at, `Invalid port: ${read.problem}.`, 'Use "${WEB_BIND:-127.0.0.1}:${WEB_PORT:-8180}:80", followed by /udp for UDP.');
        return [];
      }
      return read.ports.map((port) => ({ ...port, service, path: at }));
    });
  }

  #environment(value: unknown, path: YamlPath): ComposeService['environment'] {
    const environment = new Map<string, { value: string; path: YamlPath }>();
    if (Array.isArray(value)) {
      for (const [index, entry] of value.entries()) {
        const [, name = '', written] = /^([^=]*)(?:=(.*))?$/s.exec(String(entry)) ?? [];
        // A bare name uses the value from the environment of compose itself.
        environment.set(name, { value: written ?? `\${${name}}`, path: [...path, index] });
      }
      return environment;
    }
    for (const [name, entry] of Object.entries(objectOf(value) ?? {})) {
      const at = [...path, name];
      if (typeof entry === 'boolean' || typeof entry === 'number') {
        const why = typeof entry === 'boolean' ? 'boolean, which docker-compose 1.29 rejects' : 'number, but the value must be a string';
        // 1.20 is the number 1.2, and TRUE is true: the original text counts.
        const written = this.document.scalar(at)?.written ?? String(entry);
        this.#problem(at, `${name} is a YAML ${why}.`, `Quote it: "${written}".`);
      }
      environment.set(name, { value: entry === null ? `\${${name}}` : String(entry), path: at });
    }
    return environment;
  }

  #mounts(value: unknown, path: YamlPath): ComposeMount[] {
    return listOf(value).flatMap((entry, index): ComposeMount[] => {
      const at = [...path, index];
      if (typeof entry === 'string') {
        const [first = '', second, mode = ''] = interpolate(entry).split(':');
        const [source, target] = second === undefined ? ['', first] : [first, second];
        return [{ source, target, readOnly: mode.split(',').includes('ro'), inMemory: false, path: at }];
      }
      const { source, target, type, read_only: readOnly } = objectOf(entry) ?? {};
      if (typeof target !== 'string') {
        this.#problem(at, 'This mount has no target.', 'Set target to the path inside the container.');
        return [];
      }
      const inMemory = type === 'tmpfs';
      return [{ source: textOf(source) ?? '', target: interpolate(target), readOnly: readOnly === true, inMemory, path: at }];
    });
  }

  #problem(path: YamlPath, text: string, remedy: string): void {
    const message = text.charAt(0).toUpperCase() + text.slice(1);
    this.problems.push({ path, part: 'value', field: fieldText(path), message, remedy });
  }
}

/** Or the names of a map: the long form of depends_on. */
function namesIn(value: unknown): string[] {
  return objectOf(value) ? Object.keys(value as object) : listOf(value).map(String);
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? interpolate(value) : undefined);
