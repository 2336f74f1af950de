import type { CatalogEntry } from '../catalog/catalog.ts';
import { readInterpolation, variablesIn } from '../catalog/interpolation.ts';
import { portVariable } from '../catalog/port-mapping.ts';
import type { ContainerDetail } from '../engine/engine.ts';
import { cleanLine } from '../text/clean.ts';
import type { ComponentSource } from './component-source.ts';
import { checkVariable } from './form.ts';
import { variablesOf } from './variables.ts';

/** What running containers tell of how a component was set up, for adopting what others made. */
export interface Adopted {
  /** Plain variables that differ from the defaults of compose.yaml. */
  values: Readonly<Record<string, string>>;
  /** Secrets by variable. In memory only: hide them, then keep them in the vault. */
  secrets: Readonly<Record<string, string>>;
  /** What would be different after the first `up`, a sentence each. No values. */
  notes: readonly string[];
}

/**
 * Reads the answers out of containers, by service of the component's compose.yaml: `DATABASE_URL: postgres://app:${DB_PASSWORD}@db/app` gives `DB_PASSWORD`.
 * What does not fit to the pattern is named, never guessed.
 */
export function answersOfContainers(
  entry: CatalogEntry,
  source: ComponentSource,
  containers: Readonly<Record<string, ContainerDetail>>,
): Adopted {
  const values: Record<string, string> = {};
  const secrets: Record<string, string> = {};
  const notes: string[] = [];
  const variables = new Map(variablesOf(entry, source).map((variable) => [variable.name, variable]));

  const learn = (name: string, value: string, where: string) => {
    const variable = variables.get(name);
    if (!variable || value === '') return;
    if (variable.kind === 'secret') {
      if (secrets[name] !== undefined && secrets[name] !== value)
        notes.push(`${name} differs between its services: ${where} has another one.`);
      secrets[name] ??= value;
      return;
    }
    const problem = checkVariable(variable, value);
    if (problem !== undefined) notes.push(`${name} of ${where} does not fit: ${problem}`);
    else if (value !== variable.default) values[name] = value;
  };

  for (const service of entry.services) {
    const container = containers[service.name];
    if (!container) {
      if (!service.optional && !service.oneShot) notes.push(`There is no container of ${service.name}: it would be made.`);
      continue;
    }
    const env = new Map(container.env);
    for (const [name, written] of Object.entries(service.environment)) {
      const actual = env.get(name);
      if (actual === undefined) continue;
      const found = matchTemplate(written, actual);
      if (found === undefined)
        notes.push(`${name} of ${service.name} is not what compose.yaml would make of it: it changes with the first up.`);
      else for (const [variable, value] of Object.entries(found)) learn(variable, value, service.name);
    }
    for (const port of entry.ports.filter((one) => one.service === service.name)) {
      const published = container.ports.find(
        (one) => one.containerPort === port.container && one.protocol === port.protocol && one.hostPort !== undefined,
      );
      if (!published) {
        if (port.host !== undefined && service.networkMode !== 'host')
          notes.push(`Its port ${port.name} is not published now: it would be, on ${port.host}.`);
        continue;
      }
      learn(portVariable(port.name), String(published.hostPort), service.name);
      const bind = portVariable(port.name).replace(/PORT$/, 'BIND');
      if (port.exposure === 'all') learn(bind, published.address ?? '0.0.0.0', service.name);
      else if (!/^127\.|^::1$/.test(published.address ?? '0.0.0.0'))
        notes.push(`Its port ${port.name} is published on ${cleanLine(published.address ?? '0.0.0.0')} now: it moves to loopback (R6).`);
    }
    for (const { source: wanted, target } of service.mounts) {
      const mounted = container.mounts.find((mount) => mount.target === target);
      const expected = /^[\w][\w.-]*$/.test(wanted) ? `${entry.id}_${wanted}` : undefined;
      if (!mounted) notes.push(`Nothing is mounted at ${target} of ${service.name} now: what is in there stays in the old container.`);
      else if (expected !== undefined && mounted.source !== expected)
        notes.push(`${target} of ${service.name} is ${cleanLine(mounted.source)} now and would be ${expected}: its data is not moved.`);
    }
  }
  return { values, secrets, notes };
}

/** Values of the variables for which the text becomes `actual`; undefined where there are none. */
function matchTemplate(text: string, actual: string): Record<string, string> | undefined {
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
  const found: Record<string, string> = {};
  for (const [index, name] of names.entries()) {
    const value = match[index + 1] ?? '';
    if (found[name] !== undefined && found[name] !== value) return undefined;
    found[name] = value;
  }
  return found;
}
