import type { CatalogEntry, CatalogPort } from '../catalog/catalog.ts';
import { type ComposeFile, readCompose } from '../catalog/compose-file.ts';
import { readInterpolation, type Variable, variablesIn } from '../catalog/interpolation.ts';
import type { ComponentField } from '../catalog/schema.ts';
import { templateEnding } from '../catalog/template-names.ts';
import type { YamlDocument } from '../config/yaml-document.ts';
import { Fault } from '../faults/fault.ts';
import type { ComponentSource } from './component-source.ts';
import { composeDocument } from './compose-document.ts';

/**
 * A variable of compose.yaml, or of a file that is filled in, with what the catalog says of it. `port` and `bind` are the two halves of a published port; `profiles` is
 * `COMPOSE_PROFILES`, where the file has optional services.
 */
export interface ComponentVariable {
  name: string;
  kind: 'setting' | 'secret' | 'port' | 'bind' | 'profiles';
  field: ComponentField | undefined;
  /** Of `port` and `bind`. */
  port: CatalogPort | undefined;
  /** What compose.yaml says when nothing is set, or for a file the field. */
  default: string;
  /** compose refuses to run without a value. */
  required: boolean;
  /** Of a required one: set, but empty, will do. */
  mayBeEmpty: boolean;
  /** Of a required setting: what compose says when it is missing. */
  message: string;
  /** Services it goes into. */
  services: readonly string[];
  /** Of `profiles`: those that there are. */
  profiles: readonly string[];
}

/** How compose.yaml marks a secret: a keychain, or a sealed file, has its value. */
const secretMark = 'kept by Quarterdeck';

/** compose.yaml of the catalog, read. Throws `catalog.compose` with file and line. */
export function composeOf(text: string, file: string): { document: YamlDocument; compose: ComposeFile } {
  const document = composeDocument(text);
  const broken = document.problems[0];
  if (broken) {
    throw new Fault({
      code: 'catalog.compose',
      message: `${file} cannot be read: ${broken.message}`,
      remedy: broken.remedy,
      where: { file, line: broken.line, column: broken.column },
    });
  }
  const { compose, problems } = readCompose(document);
  const problem = problems[0];
  if (problem) {
    const { line, column } = document.place(problem.path, problem.part);
    throw new Fault({
      code: 'catalog.compose',
      message: problem.message,
      remedy: problem.remedy,
      where: { file, line, column, field: problem.field },
    });
  }
  return { document, compose };
}

const known = new WeakMap<ComponentSource, readonly ComponentVariable[]>();

/** Every variable of compose.yaml and of the files that are filled in, in the order in which a person wants to read them: as component.yaml declares them, then those it does not know. */
export function variablesOf(entry: CatalogEntry, source: ComponentSource): readonly ComponentVariable[] {
  let variables = known.get(source);
  if (variables === undefined) {
    variables = readVariables(entry, source);
    known.set(source, variables);
  }
  return variables;
}

function readVariables(entry: CatalogEntry, source: ComponentSource): ComponentVariable[] {
  const { document, compose } = composeOf(source.compose, `${source.folder}/compose.yaml`);
  const found = new Map<string, (Variable & { path: readonly PropertyKey[] })[]>();
  for (const { path, text } of document.scalars()) {
    for (const variable of variablesIn(text)) found.set(variable.name, [...(found.get(variable.name) ?? []), { ...variable, path }]);
  }
  const fields = new Map(entry.fields.flatMap((field) => (takesVariable(field) ? [[field.env ?? field.name, field]] : [])));
  const ports = portVariables(entry, compose);
  const read = [...found].map(([name, places]): ComponentVariable => {
    const field = fields.get(name);
    const required = places.find(({ operator }) => operator === '?');
    const published = ports.get(name);
    const secret = field?.secret === true || places.some(({ operator, word }) => operator === '?' && word.includes(secretMark));
    return {
      name,
      kind: secret ? 'secret' : (published?.kind ?? 'setting'),
      field,
      port: published?.port,
      default: places.find(({ operator }) => operator === '-')?.word ?? '',
      required: required !== undefined,
      mayBeEmpty: required !== undefined && !places.some(({ operator, colon }) => operator === '?' && colon),
      message: required?.word ?? '',
      services: [...new Set(places.flatMap(({ path }) => (path[0] === 'services' ? String(path[1]) : [])))],
      profiles: [],
    };
  });
  const templates = Object.entries(source.files).filter(([path]) => path.endsWith(templateEnding));
  for (const [name, field] of fields) {
    const isName = entry.site?.names.some((one) => one.field === field.name) ?? false;
    if (found.has(name) || field.secret || !(isName || templates.some(([, text]) => isNamedIn(text, name)))) continue;
    read.push({
      name,
      kind: 'setting',
      field,
      port: undefined,
      default: field.default === undefined ? '' : String(field.default),
      required: field.required,
      mayBeEmpty: false,
      message: '',
      services: [],
      profiles: [],
    });
  }
  const profiles = [...new Set([...compose.services.values()].flatMap((service) => service.profiles))];
  if (profiles.length > 0) read.push(profilesVariable(profiles, compose));
  const order = [...fields.keys()];
  const rank = ({ name, kind }: ComponentVariable) =>
    order.includes(name) ? order.indexOf(name) : kind === 'setting' ? order.length : order.length + 1;
  return read.sort((a, b) => rank(a) - rank(b));
}

/** Does a tag or an output of this template name the variable? `catalog check` asks the language itself; here a form only wants to know what to ask. */
function isNamedIn(text: string, name: string): boolean {
  return [...text.matchAll(/\{[{%].*?[%}]\}/gs)].some(([tag]) => new RegExp(`\\b${name}\\b`).test(tag));
}

function takesVariable(field: ComponentField): boolean {
  return field.goes === 'environment' || field.env !== undefined;
}

function profilesVariable(profiles: readonly string[], compose: ComposeFile): ComponentVariable {
  const services = [...compose.services.values()].filter((service) => service.profiles.length > 0).map(({ name }) => name);
  return {
    name: 'COMPOSE_PROFILES',
    kind: 'profiles',
    field: undefined,
    port: undefined,
    default: '',
    required: false,
    mayBeEmpty: true,
    message: '',
    services,
    profiles,
  };
}

function portVariables(entry: CatalogEntry, compose: ComposeFile): Map<string, { kind: 'port' | 'bind'; port: CatalogPort | undefined }> {
  const found = new Map<string, { kind: 'port' | 'bind'; port: CatalogPort | undefined }>();
  for (const service of compose.services.values()) {
    for (const published of service.ports) {
      const port = entry.ports.find(
        ({ service: name, container, protocol }) =>
          name === service.name && container === published.container && protocol === published.protocol,
      );
      // What only says where the program listens inside the container is a setting of it.
      for (const name of published.variables.address) if (/_?BIND$/.test(name)) found.set(name, { kind: 'bind', port });
      for (const name of published.variables.host) if (/_?PORT$/.test(name)) found.set(name, { kind: 'port', port });
    }
  }
  return found;
}

/** The only variable that a text is made of, where it is nothing else: `${ADMIN_TOKEN:?…}`. */
export function onlyVariable(text: string): string | undefined {
  const { parts, error } = readInterpolation(text);
  const [only] = parts;
  return error === undefined && parts.length === 1 && typeof only === 'object' ? only.name : undefined;
}
