import type { YamlPath } from '../config/yaml-document.ts';
import { quotedWord } from '../text/quoted-word.ts';
import type { Component } from './schema.ts';

const reference = /\{run ([a-z0-9-]+)\}/g;

export interface UnknownOperation {
  path: YamlPath;
  id: string;
  /** Those that a text can name. */
  known: readonly string[];
}

/**
 * The component with the command that runs an operation in the place of each `{run ID}` in its texts, so that no text names a command that does not exist.
 * Only operations inside a container have one: an input of theirs is shown in capitals.
 */
export function withOperationCommands(
  component: Component,
  severalServices: boolean,
): { component: Component; unknown: UnknownOperation[] } {
  const commands = new Map(
    component.operations.flatMap(({ id, call }) => {
      const program = component.calls[call]?.exec;
      if (!program) return [];
      const words = program.argv.map((word) => quotedWord(word.replace(/<(\w+)>/g, (_, input: string) => input.toUpperCase())));
      const service = severalServices ? ` --service ${program.service}` : '';
      return [[id, `quarterdeck exec ${component.id}${service} -- ${words.join(' ')}`] as const];
    }),
  );
  const unknown: UnknownOperation[] = [];
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
