import type { CatalogEntry } from '../../catalog/catalog.ts';
import { readInterpolation, variablesIn } from '../../catalog/interpolation.ts';
import { portVariable } from '../../catalog/port-mapping.ts';
import type { ContainerDetail } from '../../engine/engine.ts';
import type { ComponentSource } from '../component-source.ts';
import { bindVariable } from './component-ports.ts';
import { checkVariable } from './form.ts';
import { variablesOf } from './variables.ts';

/**
 * Reads the answers from containers, by service of the component's compose.yaml: `DATABASE_URL: postgres://app:${DB_PASSWORD}@db/app`
 * yields `DB_PASSWORD`. Texts that do not match are skipped, never guessed. `values` are plain variables that differ from the defaults;
 * `secrets` must be masked, then stored in the keychain.
 */
export function answersOfContainers(
  entry: CatalogEntry,
  source: ComponentSource,
  containers: Readonly<Record<string, ContainerDetail>>,
): { values: Readonly<Record<string, string>>; secrets: Readonly<Record<string, string>> } {
  const values: Record<string, string> = {};
  const secrets: Record<string, string> = {};
  const variables = new Map(variablesOf(entry, source).map((variable) => [variable.name, variable]));
  const learn = (name: string, value: string) => {
    const variable = variables.get(name);
    if (!variable || value === '') return;
    if (variable.kind === 'secret') secrets[name] ??= value;
    else if (checkVariable(variable, value) === undefined && value !== variable.default) values[name] = value;
  };
  for (const service of entry.services) {
    const container = containers[service.name];
    if (!container) continue;
    const env = new Map(container.env);
    for (const [name, written] of Object.entries(service.environment)) {
      const found = matchTemplate(written, env.get(name));
      for (const [variable, value] of Object.entries(found ?? {})) learn(variable, value);
    }
    for (const port of entry.ports.filter((one) => one.service === service.name)) {
      const published = container.ports.find(
        (one) => one.containerPort === port.container && one.protocol === port.protocol && one.hostPort !== undefined,
      );
      if (!published) continue;
      learn(portVariable(port.name), String(published.hostPort));
      if (port.exposure === 'all') learn(bindVariable(port.name), published.address ?? '0.0.0.0');
    }
  }
  return { values, secrets };
}

function matchTemplate(text: string, actual: string | undefined): Record<string, string> | undefined {
  if (actual === undefined) return undefined;
  const names: string[] = [];
  const pattern = readInterpolation(text)
    .parts.map((part) => {
      if (typeof part === 'string') return part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
      names.push(part.name);
      return '([\\s\\S]*?)';
    })
    .join('');
  const match = new RegExp(`^${pattern}$`).exec(actual);
  if (!match || variablesIn(text).length !== names.length) return undefined;
  const found = Object.fromEntries(names.map((name, index) => [name, match[index + 1] ?? '']));
  return names.every((name, index) => found[name] === (match[index + 1] ?? '')) ? found : undefined;
}
