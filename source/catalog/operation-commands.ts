import type { YamlPath } from '../yaml/document.ts';
import type { Component } from './schema.ts';

const reference = /\{run ([a-z0-9-]+)\}/g;

/** Replaces `{run ID}` by the command that runs an operation. Texts may name those in `known`. */
export function withOperationCommands(component: Component): {
  component: Component;
  unknown: { path: YamlPath; id: string; known: readonly string[] }[];
} {
  const known = component.operations.map(({ id }) => id);
  const unknown: ReturnType<typeof withOperationCommands>['unknown'] = [];
  const replaced = (value: unknown, path: YamlPath): unknown => {
    if (typeof value === 'string')
      return value.replace(reference, (whole, id: string) => {
        if (known.includes(id)) return `quarterdeck op ${component.id} ${id}`;
        unknown.push({ path, id, known });
        return whole;
      });
    if (Array.isArray(value)) return value.map((item, index) => replaced(item, [...path, index]));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, replaced(member, [...path, key])]));
  };
  return { component: replaced(component, []) as Component, unknown };
}
