import { mapTexts } from '../text/json-value.ts';
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
  const replaced = mapTexts(component, (text, path) =>
    text.replace(reference, (whole, id: string) => {
      if (known.includes(id)) return `quarterdeck op ${component.id} ${id}`;
      unknown.push({ path, id, known });
      return whole;
    }),
  );
  return { component: replaced as Component, unknown };
}
