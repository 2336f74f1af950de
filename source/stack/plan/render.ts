import type { CatalogEntry } from '../../catalog/catalog.ts';
import { fillFile } from '../../catalog/file-template.ts';
import { deliveredPath, templateEnding } from '../../catalog/template-names.ts';
import type { ComposeTool } from '../../engine/compose-tool.ts';
import type { EngineKind } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import { positionAt } from '../../text/position.ts';
import { type ComponentSource, filePath } from '../component-source.ts';
import type { Answers, Values } from '../model.ts';
import { ComposeEditor } from './compose-editor.ts';
import { envValueProblem, readEnv, writeEnv } from './env-file.ts';
import { type NetworkUse, ownNetworks } from './networks.ts';
import { baseUrlOf } from './ports.ts';
import { type ComponentVariable, variablesOf } from './variables.ts';

export interface RenderOptions {
  runtime: EngineKind;
  tool: Pick<ComposeTool, 'kind'>;
  networks: readonly NetworkUse[];
  pins?: Readonly<Record<string, string>>;
  /** The present text on the host, which is changed instead of the catalog's text. */
  base?: { compose?: string; env?: string; file?: string };
}

/** The names under which containers find programs on the host itself (R13). */
export const gateways: Readonly<Record<EngineKind, string>> = { docker: 'host-gateway', podman: 'host.containers.internal' };
const gatewayName = /(?<![\w.-])(?:host\.containers\.internal|host-gateway)(?![\w.-])/g;

/**
 * Returns the content of a component's folder. compose.yaml is identical to the catalog's unless a difference is required; comments and
 * order always stay. Throws `failed.placeholder` and `catalog.template` for placeholders that cannot be filled in, `usage.value` for a
 * value that no `.env` file can contain.
 */
export function renderComponent(entry: CatalogEntry, source: ComponentSource, answers: Answers, options: RenderOptions) {
  const variables = variablesOf(entry, source);
  const placeholders = { base_url: baseUrlOf(entry, answers), host: answers.site || undefined };
  const gateway = gateways[options.runtime];
  const delivered = (text: string, path: string) => resolvePlaceholders(text, placeholders, path).replaceAll(gatewayName, gateway);

  const values = Object.fromEntries(Object.entries(answers.values).map(([name, value]) => [name, value.replaceAll(gatewayName, gateway)]));

  const filled = {
    ...Object.fromEntries(variables.flatMap(({ name, kind, default: fallback }) => (kind === 'secret' ? [] : [[name, fallback]]))),
    ...values,
  };
  const files = Object.fromEntries(
    Object.entries(source.files).map(([path, text]) => {
      const file = filePath(source, path);
      return [deliveredPath(path), delivered(path.endsWith(templateEnding) ? filledFile(text, filled, file) : text, file)];
    }),
  );

  const file = (options.base?.compose === undefined ? undefined : options.base.file) ?? filePath(source, 'compose.yaml');
  const text = resolvePlaceholders(options.base?.compose ?? source.compose, placeholders, file);
  const editor = new ComposeEditor(text, file);
  editor.renameInEnvironment(gatewayName, gateway);
  const given = Object.entries(answers.secrets).flatMap(([name, secret]) => (secret.from === 'given' ? [[name, secret.value]] : []));
  const seen = { ...values, ...Object.fromEntries(given) };
  if (options.runtime === 'docker')
    for (const service of editor.servicesThatName(gateway, seen, files)) editor.addExtraHost(service, `${gateway}:${gateway}`);
  for (const { name, services } of options.networks) editor.join(name, services);
  if (options.base?.compose !== undefined) editor.leaveOthers(options.networks, ownNetworks(entry));
  for (const service of entry.services) {
    const pin = options.pins?.[service.name];
    if (pin !== undefined) editor.setImage(service.name, pin);
    else if (isPinned(editor.imageOf(service.name))) editor.setImage(service.name, service.image);
  }
  if (options.tool.kind === 'podman-compose') {
    const secrets = new Set(variables.filter(({ kind }) => kind === 'secret').map(({ name }) => name));
    editor.keepProfiles(listOf(values['COMPOSE_PROFILES'] ?? ''));
    editor.moveSecrets(secrets, values);
    editor.spellForPodmanCompose(entry.id);
  }
  const env = renderEnv(entry, variables, values, options.base?.env, options.tool.kind === 'podman-compose');
  return { compose: editor.text(), env, files };
}

/** Renders a template of the catalog with these values. Throws `catalog.template` with the position in `file` that cannot be filled in. */
export function filledFile(text: string, values: Values, file: string): string {
  const filled = fillFile(text, values);
  if ('text' in filled) return filled.text;
  const { message, line, column } = filled.problem;
  const remedy = 'To list all problems: quarterdeck catalog check FOLDER';
  throw new Fault('catalog.template', `${file} cannot be rendered: ${message}.`, remedy, { where: { file, line, column } });
}

/** A pinned image is named by digest or by id. */
export const isPinned = (image = ''): boolean => /@sha256:|^(?:sha256:)?[0-9a-f]{64}$/.test(image);

function renderEnv(
  entry: CatalogEntry,
  variables: readonly ComponentVariable[],
  values: Values,
  existing: string | undefined,
  withDefaults: boolean,
): string {
  const set: Record<string, string> = {};
  const plain = variables.filter(({ kind }) => kind !== 'secret');
  for (const { name, default: fallback } of plain) {
    const value = values[name];
    if (value === undefined || value === fallback) continue;
    const problem = envValueProblem(value);
    if (problem !== undefined)
      throw new Fault('usage.value', `${name} cannot be written to .env. ${problem}`, 'Choose another value.', { where: { field: name } });
    set[name] = value;
  }
  // podman-compose treats the `NAME` of `NAME: "${NAME:-default}"` as its own variable, and does not interpolate it if .env does not define
  // it; an empty default too.
  const ownNames = new Set(entry.services.flatMap(({ environment }) => Object.keys(environment)));
  if (withDefaults)
    for (const { name, default: fallback } of plain)
      if ((fallback !== '' || ownNames.has(name)) && (values[name] === undefined || values[name] === fallback)) set[name] = fallback;
  // A present value that equals the default was set on purpose, and stays.
  const stays = existing === undefined ? {} : readEnv(existing).values;
  for (const { name, default: fallback } of plain) if (stays[name] === fallback && set[name] === undefined) set[name] = fallback;
  const header = [
    `${entry.id}: settings that differ from the defaults in compose.yaml. Secrets are stored by Quarterdeck, not here:`,
    `quarterdeck compose ${entry.id} -- up -d`,
  ];
  return writeEnv(existing, { set, unset: variables.map(({ name }) => name), header });
}

export const listOf = (text: string): string[] => text.split(/[,\s]+/).filter((word) => word !== '');

/** A placeholder of a catalog text (R2) without a value is refused. */
type Placeholders = Readonly<Partial<Record<'base_url' | 'host' | 'auth_url', string>>>;

// `${host}` is a variable of compose, `{{host}}` one of a template: neither is a placeholder of ours.
const address = /(?<![\w${])\{(base_url|host|auth_url)\}(?!\})/g;
const secret = /<(?:ADMIN_TOKEN|API_KEY|PASSWORD|SESSION_COOKIE)>/;

const needs: Readonly<Record<string, string>> = {
  base_url: 'Set a port of the component, or a host name for its site.',
  host: 'Set a host name for the site: --set site=NAME.',
  auth_url: 'Write the address of the sign-on portal instead: this placeholder is never filled in.',
};

/** Throws `failed.placeholder` for one without a value, and for that of a secret: secrets are never written to a file. */
function resolvePlaceholders(text: string, values: Placeholders, file: string): string {
  const hidden = secret.exec(text);
  const fromEnvironment = 'Read the secret from the environment, because component files must not contain secrets.';
  if (hidden) throw unresolved(text, hidden.index, hidden[0], file, fromEnvironment);
  return text.replaceAll(address, (written, name: keyof Placeholders, offset: number) => {
    const value = values[name];
    if (value === undefined) throw unresolved(text, offset, written, file, needs[name] ?? '');
    return value;
  });
}

function unresolved(text: string, offset: number, written: string, file: string, remedy: string): Fault {
  const where = { file, ...positionAt(text, offset) };
  return new Fault('failed.placeholder', `${written} has no value.`, remedy, { where });
}
