import { quotedWord } from '../text/quoted-word.ts';
import type { YamlPath } from '../yaml/document.ts';
import type { Component } from './schema.ts';

const reference = /\{run ([a-z0-9-]+)\}/g;

/** Replaces `{run ID}` by the command of an operation inside a container, with its inputs in capitals. Texts may name those in `known`. */
export function withOperationCommands(
  component: Component,
  severalServices: boolean,
): { component: Component; unknown: { path: YamlPath; id: string; known: readonly string[] }[] } {
  const commands = new Map(
    component.operations.flatMap(({ id, call }) => {
      const program = component.calls[call]?.exec;
      if (!program) return [];
      const words = program.argv.map((word) => quotedWord(word.replace(/<(\w+)>/g, (_, input: string) => input.toUpperCase())));
      const service = severalServices ? ` --service ${program.service}` : '';
      return [[id, `quarterdeck exec ${component.id}${service} -- ${words.join(' ')}`] as const];
    }),
  );
  const unknown: ReturnType<typeof withOperationCommands>['unknown'] = [];
  const replaced = (value: unknown, path: YamlPath): unknown => {
    if (typeof value === 'string')
      return value.replace(reference, (whole, id: string) => {
        const command = commands.get(id);
        if (command === undefined) unknown.push({ path, id, known: [...commands.keys()] });
        return command ?? whole;
      });
    if (Array.isArray(value)) return value.map((item, index) => replaced(item, [...path, index]));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, replaced(member, [...path, key])]));
  };
  return { component: replaced(component, []) as Component, unknown };
}
