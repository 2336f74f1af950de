import { fieldText, type YamlDocument, type YamlPath } from '../config/yaml-document.ts';
import { nameRemedy } from '../text/nearest-name.ts';
import { interpolate, readInterpolation, variablesIn } from './interpolation.ts';
import { readPort } from './port-mapping.ts';

/** A published port as compose.yaml has it, defaults filled in. */
export interface ComposePort {
  service: string;
  /** `web` of `${WEB_PORT:-8180}`; undefined where the host port is no variable. */
  name: string | undefined;
  /** Undefined where the engine chooses one. */
  host: number | undefined;
  container: number;
  /** Container ports of the whole entry: a range is described by its first. */
  range: { first: number; last: number };
  protocol: 'tcp' | 'udp';
  /** Default address; empty means all. */
  address: string;
  /** Names of those in its three parts. */
  variables: { address: readonly string[]; host: readonly string[]; container: readonly string[] };
  path: YamlPath;
}

export interface ComposeMount {
  source: string;
  target: string;
  readOnly: boolean;
  /** A tmpfs: gone with the container. */
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
  keys: readonly string[];
}

export interface ComposeFile {
  services: ReadonlyMap<string, ComposeService>;
  topLevel: readonly string[];
  /** Variables of the whole file: name to where each stands. */
  variables: ReadonlyMap<string, readonly { operator: string; word: string; path: YamlPath }[]>;
}

export interface ComposeProblem {
  path: YamlPath;
  part: 'key' | 'value';
  field: string;
  message: string;
  remedy: string;
}

type Json = Readonly<Record<string, unknown>>;

/** Reads a compose file as far as the catalog needs it; whether compose accepts the rest is compose's to say. */
export function readCompose(document: YamlDocument): { compose: ComposeFile; problems: ComposeProblem[] } {
  const reader = new Reader(document);
  const compose = reader.read();
  return { compose, problems: reader.problems };
}

class Reader {
  readonly problems: ComposeProblem[] = [];
  readonly #document: YamlDocument;

  constructor(document: YamlDocument) {
    this.#document = document;
  }

  read(): ComposeFile {
    const file = this.#map(this.#document.value, []) ?? {};
    const variables = this.#variables(this.#document);
    const services = new Map<string, ComposeService>();
    if (file['services'] === undefined) this.#problem(['services'], '"services" is missing.', 'Add the map of services.');
    for (const [name, value] of Object.entries(this.#map(file['services'], ['services']) ?? {})) {
      if (value === null) this.#problem(['services', name], `The service "${name}" is empty.`, 'Add image: name:tag, or remove it.');
      const service = this.#map(value, ['services', name]);
      if (service) services.set(name, this.#service(name, service));
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
    return { services, topLevel: Object.keys(file), variables };
  }

  #variables(document: YamlDocument): ComposeFile['variables'] {
    const variables = new Map<string, { operator: string; word: string; path: YamlPath }[]>();
    for (const { path, text } of document.scalars()) {
      const { error } = readInterpolation(text);
      if (error) this.#problem(path, `${error.message}.`, 'Correct it; compose refuses the whole file.');
      for (const { name, operator, word } of variablesIn(text)) {
        const places = variables.get(name) ?? [];
        places.push({ operator, word, path });
        variables.set(name, places);
      }
    }
    return variables;
  }

  #service(name: string, service: Json): ComposeService {
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
      dependsOn: this.#names(service['depends_on'], [...path, 'depends_on']),
      profiles: this.#names(service['profiles'], [...path, 'profiles']),
      devices: this.#names(service['devices'], [...path, 'devices']).map((device) => interpolate(device)),
      capAdd: this.#names(service['cap_add'], [...path, 'cap_add']),
      command: typeof service['command'] === 'string' ? [service['command']] : this.#names(service['command'], [...path, 'command']),
      keys: Object.keys(service),
    };
  }

  #ports(service: string, value: unknown, path: YamlPath): ComposePort[] {
    return this.#list(value, path).flatMap((entry, index): ComposePort[] => {
      const at = [...path, index];
      const read = readPort(entry);
      if ('problem' in read) {
        this.#problem(
          at,
          `This port cannot be read: ${read.problem}.`,
          'Write "${WEB_BIND:-127.0.0.1}:${WEB_PORT:-8180}:80", with /udp behind it for UDP.',
        );
        return [];
      }
      return read.ports.map((port) => ({ ...port, service, path: at }));
    });
  }

  #environment(value: unknown, path: YamlPath): ComposeService['environment'] {
    const environment = new Map<string, { value: string; path: YamlPath }>();
    if (Array.isArray(value)) {
      for (const [index, entry] of value.entries()) {
        if (typeof entry !== 'string') {
          this.#problem([...path, index], 'An entry of the environment list must be text.', 'Write NAME=value.');
          continue;
        }
        const equals = entry.indexOf('=');
        // A bare name takes its value from the environment of compose itself.
        environment.set(equals < 0 ? entry : entry.slice(0, equals), {
          value: equals < 0 ? `\${${entry}}` : entry.slice(equals + 1),
          path: [...path, index],
        });
      }
      return environment;
    }
    // 1.20 is the number 1.2, and TRUE is true: what was meant is what was written.
    const written = (at: YamlPath, entry: unknown) => this.#document.scalar(at)?.written ?? String(entry);
    for (const [name, entry] of Object.entries(this.#map(value, path) ?? {})) {
      const at = [...path, name];
      if (typeof entry === 'boolean') {
        this.#problem(
          at,
          `${name} is a YAML boolean, which compose refuses in an environment.`,
          `Put it into quotes: "${written(at, entry)}".`,
        );
      } else if (typeof entry === 'number') {
        this.#problem(at, `${name} is a YAML number; environment values are text.`, `Put it into quotes: "${written(at, entry)}".`);
      } else if (entry !== null && typeof entry !== 'string') {
        this.#problem(at, `${name} must be text.`, 'Put the value into quotes.');
      }
      environment.set(name, { value: entry === null ? `\${${name}}` : String(entry), path: at });
    }
    return environment;
  }

  #mounts(value: unknown, path: YamlPath): ComposeMount[] {
    return this.#list(value, path).flatMap((entry, index): ComposeMount[] => {
      const at = [...path, index];
      if (typeof entry === 'string') {
        const [source = '', target, mode = ''] = interpolate(entry).split(':');
        return [
          {
            source: target === undefined ? '' : source,
            target: target ?? source,
            readOnly: mode.split(',').includes('ro'),
            inMemory: false,
            path: at,
          },
        ];
      }
      const mount = this.#map(entry, at);
      if (!mount) return [];
      const target = textOf(mount['target']);
      if (target === undefined) {
        this.#problem(at, 'This mount has no target.', 'Add the path inside the container as target.');
        return [];
      }
      return [
        {
          source: interpolate(textOf(mount['source']) ?? ''),
          target: interpolate(target),
          readOnly: mount['read_only'] === true,
          inMemory: mount['type'] === 'tmpfs',
          path: at,
        },
      ];
    });
  }

  /** A list of names, or the names of a map (the long form of depends_on). */
  #names(value: unknown, path: YamlPath): string[] {
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return Object.keys(value);
    return this.#list(value, path).map(String);
  }

  #list(value: unknown, path: YamlPath): unknown[] {
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) return value;
    this.#problem(path, `"${String(path.at(-1))}" must be a list.`, 'Begin each entry with a dash.');
    return [];
  }

  #map(value: unknown, path: YamlPath): Json | undefined {
    if (value === undefined || value === null) return undefined;
    if (typeof value === 'object' && !Array.isArray(value)) return value as Json;
    this.#problem(
      path,
      `${path.length === 0 ? 'The file' : `"${String(path.at(-1))}"`} must be a map of names to values.`,
      'Write each entry as NAME: value.',
    );
    return undefined;
  }

  #problem(path: YamlPath, message: string, remedy: string): void {
    this.problems.push({
      path,
      part: 'value',
      field: fieldText(path),
      message: message.charAt(0).toUpperCase() + message.slice(1),
      remedy,
    });
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? interpolate(value) : undefined;
}
