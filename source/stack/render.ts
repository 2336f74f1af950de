import type { CatalogEntry } from '../catalog/catalog.ts';
import { deliveredPath, templateEnding } from '../catalog/template-names.ts';
import type { ComposeTool } from '../engine/compose-tool.ts';
import type { EngineKind } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import { baseUrlOf } from './base-url.ts';
import { type ComponentSource, filePath } from './component-source.ts';
import { ComposeEditor } from './compose-editor.ts';
import { envValueProblem, readEnv, writeEnv } from './env-file.ts';
import { filledFile } from './filled-file.ts';
import type { Answers } from './model.ts';
import { type NetworkUse, ownNetworks } from './networks.ts';
import { resolvePlaceholders } from './resolve-placeholders.ts';
import { type ComponentVariable, variablesOf } from './variables.ts';

export interface RenderOptions {
  runtime: EngineKind;
  tool: Pick<ComposeTool, 'kind'>;
  /** Shared with other components. */
  networks: readonly NetworkUse[];
  /** Exact image by service. */
  pins?: Readonly<Record<string, string>>;
  /** Address of the portal that people log in at. */
  authUrl?: string;
  /** What stands on the host and is to be changed instead of the catalog's text. */
  base?: { compose?: string; env?: string; file?: string };
}

/** The texts of a component's folder on a host. */
export interface RenderedComponent {
  compose: string;
  env: string;
  /** By path: `files/configuration.yml`. */
  files: Readonly<Record<string, string>>;
}

/** The names under which containers find programs on the host itself (R13). */
const gateways: Readonly<Record<EngineKind, string>> = { docker: 'host-gateway', podman: 'host.containers.internal' };
const gatewayName = /(?<![\w.-])(?:host\.containers\.internal|host-gateway)(?![\w.-])/g;

/**
 * What a component's folder is to hold. compose.yaml is the catalog's to the letter wherever nothing has to differ; comments and order stay in any case.
 * Throws `failed.placeholder` and `catalog.template` for what cannot be filled in, `usage.value` for a value that no `.env` file can hold.
 */
export function renderComponent(entry: CatalogEntry, source: ComponentSource, answers: Answers, options: RenderOptions): RenderedComponent {
  const variables = variablesOf(entry, source);
  const placeholders = {
    base_url: baseUrlOf(entry, answers),
    host: answers.site === '' ? undefined : answers.site,
    auth_url: options.authUrl,
  };
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

  const file = options.base?.file ?? filePath(source, 'compose.yaml');
  const text = resolvePlaceholders(options.base?.compose ?? source.compose, placeholders, file);
  const editor = new ComposeEditor(text, file);
  editor.renameGateway(gatewayName, gateway);
  if (options.runtime === 'docker') {
    for (const service of editor.servicesThatSay(gateway, values, files)) editor.addExtraHost(service, `${gateway}:${gateway}`);
  }
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
  return {
    compose: editor.text(),
    env: renderEnv(entry, variables, values, options.base?.env, options.tool.kind === 'podman-compose'),
    files,
  };
}

/** An image by digest or by id: exactly this one. */
export function isPinned(image: string | undefined): boolean {
  return image !== undefined && /@sha256:|^(?:sha256:)?[0-9a-f]{64}$/.test(image);
}

function renderEnv(
  entry: CatalogEntry,
  variables: readonly ComponentVariable[],
  values: Readonly<Record<string, string>>,
  existing: string | undefined,
  withDefaults: boolean,
): string {
  const set: Record<string, string> = {};
  const plain = variables.filter(({ kind }) => kind !== 'secret');
  for (const { name, default: fallback } of plain) {
    const value = values[name];
    if (value === undefined || value === fallback) continue;
    const problem = envValueProblem(value);
    if (problem !== undefined) {
      throw new Fault({
        code: 'usage.value',
        message: `${name} cannot be written to .env. ${problem}`,
        remedy: 'Choose another value.',
        where: { field: name },
      });
    }
    set[name] = value;
  }
  // podman-compose takes the `NAME` of `NAME: "${NAME:-default}"` for itself, and leaves it as it stands, where .env does not know it; an empty one too.
  const ownNames = new Set(entry.services.flatMap(({ environment }) => Object.keys(environment)));
  if (withDefaults)
    for (const { name, default: fallback } of plain)
      if ((fallback !== '' || ownNames.has(name)) && (values[name] === undefined || values[name] === fallback)) set[name] = fallback;
  // What stands there already and is the default says so on purpose: it stays.
  const stays = existing === undefined ? {} : readEnv(existing).values;
  for (const { name, default: fallback } of plain) if (stays[name] === fallback && set[name] === undefined) set[name] = fallback;
  return writeEnv(existing, { set, unset: variables.map(({ name }) => name), header: header(entry) });
}

function header(entry: CatalogEntry): string[] {
  return [
    `${entry.id}: what differs from the defaults in compose.yaml. Secrets are not here, they are kept by Quarterdeck:`,
    `quarterdeck compose ${entry.id} -- up -d`,
  ];
}

export function listOf(text: string): string[] {
  return text.split(/[,\s]+/).filter((word) => word !== '');
}
