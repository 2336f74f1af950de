import type { CatalogEntry, CatalogPort } from '../../catalog/catalog.ts';
import { type ComposeFile, readCompose } from '../../catalog/compose-file.ts';
import { type Variable, variablesIn } from '../../catalog/interpolation.ts';
import type { ComponentField } from '../../catalog/schema.ts';
import { templateEnding } from '../../catalog/template-names.ts';
import { Fault } from '../../faults/fault.ts';
import type { YamlDocument } from '../../yaml/document.ts';
import type { ComponentSource } from '../component-source.ts';
import { composeDocument, refuseBroken } from './compose-document.ts';

/**
 * A variable of compose.yaml, or of a file with placeholders, and its description in the catalog. `port` and `bind` are the two halves of a
 * published port; `profiles` is `COMPOSE_PROFILES`, if the file has optional services.
 */
export interface ComponentVariable {
  name: string;
  kind: 'setting' | 'secret' | 'port' | 'bind' | 'profiles';
  field: ComponentField | undefined;
  port: CatalogPort | undefined;
  /** The default of compose.yaml, or for a file the default of the field. */
  default: string;
  /** compose refuses to run without a value. */
  required: boolean;
  /** For a required one: it must be set, but may be empty. */
  mayBeEmpty: boolean;
  /** For a required setting: compose's message if it is missing. */
  message: string;
  services: readonly string[];
  /** For `profiles`: the existing ones. */
  profiles: readonly string[];
}

/** How compose.yaml marks a secret: its value is in a keychain, or a sealed file. */
const secretMark = 'kept by Quarterdeck';

/** Reads the catalog's compose.yaml. Throws `catalog.compose` with file and line. */
export function composeOf(text: string, file: string): { document: YamlDocument; compose: ComposeFile } {
  const document = composeDocument(text);
  refuseBroken(document, file, 'catalog.compose');
  const { compose, problems } = readCompose(document);
  const [problem] = problems;
  if (!problem) return { document, compose };
  const where = { file, ...document.position(problem.path, problem.part), field: problem.field };
  throw new Fault('catalog.compose', problem.message, problem.remedy, { where });
}

const known = new WeakMap<ComponentSource, readonly ComponentVariable[]>();

/** In the order for the form: as component.yaml declares them, then undeclared ones. */
export function variablesOf(entry: CatalogEntry, source: ComponentSource): readonly ComponentVariable[] {
  const variables = known.get(source) ?? readVariables(entry, source);
  known.set(source, variables);
  return variables;
}

const blank: Omit<ComponentVariable, 'name'> = {
  kind: 'setting',
  field: undefined,
  port: undefined,
  default: '',
  required: false,
  mayBeEmpty: false,
  message: '',
  services: [],
  profiles: [],
};

function readVariables(entry: CatalogEntry, source: ComponentSource): ComponentVariable[] {
  const { document, compose } = composeOf(source.compose, `${source.folder}/compose.yaml`);
  const found = new Map<string, (Variable & { path: readonly PropertyKey[] })[]>();
  for (const { path, text } of document.scalars()) {
    for (const variable of variablesIn(text)) found.set(variable.name, [...(found.get(variable.name) ?? []), { ...variable, path }]);
  }
  const fields = new Map(entry.fields.flatMap((field) => (hasVariable(field) ? [[field.env ?? field.name, field]] : [])));
  const ports = portVariables(entry, compose);
  const read = [...found].map(([name, positions]): ComponentVariable => {
    const field = fields.get(name);
    const required = positions.find(({ operator }) => operator === '?');
    const published = ports.get(name);
    const secret = field?.secret === true || positions.some(({ operator, word }) => operator === '?' && word.includes(secretMark));
    return {
      name,
      kind: secret ? 'secret' : (published?.kind ?? 'setting'),
      field,
      port: published?.port,
      default: positions.find(({ operator }) => operator === '-')?.word ?? '',
      required: required !== undefined,
      mayBeEmpty: required !== undefined && !positions.some(({ operator, colon }) => operator === '?' && colon),
      message: required?.word ?? '',
      services: [...new Set(positions.flatMap(({ path }) => (path[0] === 'services' ? String(path[1]) : [])))],
      profiles: [],
    };
  });
  const templates = Object.entries(source.files).filter(([path]) => path.endsWith(templateEnding));
  for (const [name, field] of fields) {
    const isName = entry.site?.names.some((one) => one.field === field.name) ?? false;
    if (found.has(name) || field.secret || !(isName || templates.some(([, text]) => isNamedIn(text, name)))) continue;
    read.push({ ...blank, name, field, default: field.default === undefined ? '' : String(field.default), required: field.required });
  }
  const profiles = [...new Set([...compose.services.values()].flatMap((service) => service.profiles))];
  const optional = [...compose.services.values()].filter((service) => service.profiles.length > 0).map(({ name }) => name);
  if (profiles.length > 0)
    read.push({ ...blank, name: 'COMPOSE_PROFILES', kind: 'profiles', mayBeEmpty: true, services: optional, profiles });
  const order = [...fields.keys()];
  const rank = ({ name, kind }: ComponentVariable) =>
    order.includes(name) ? order.indexOf(name) : kind === 'setting' ? order.length : order.length + 1;
  return read.sort((a, b) => rank(a) - rank(b));
}

/** `catalog check` uses the real parser; here a form only has to know which fields to show. */
function isNamedIn(text: string, name: string): boolean {
  return [...text.matchAll(/\{[{%].*?[%}]\}/gs)].some(([tag]) => new RegExp(`\\b${name}\\b`).test(tag));
}

const hasVariable = (field: ComponentField): boolean => field.target === 'environment' || field.env !== undefined;

function portVariables(entry: CatalogEntry, compose: ComposeFile): Map<string, Pick<ComponentVariable, 'kind' | 'port'>> {
  const found = new Map<string, Pick<ComponentVariable, 'kind' | 'port'>>();
  for (const service of compose.services.values()) {
    for (const published of service.ports) {
      const port = entry.ports.find(
        ({ service: name, container, protocol }) =>
          name === service.name && container === published.container && protocol === published.protocol,
      );
      // A variable that only sets the listening address inside the container is an ordinary setting.
      for (const name of published.variables.address) if (/_?BIND$/.test(name)) found.set(name, { kind: 'bind', port });
      for (const name of published.variables.host) if (/_?PORT$/.test(name)) found.set(name, { kind: 'port', port });
    }
  }
  return found;
}
