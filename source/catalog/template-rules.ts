import { nameRemedy } from '../text/nearest-name.ts';
import { type Draft, inComponent, type LintRule, type RuleFinding, variableOf } from './draft.ts';
import { templateVariables } from './file-template.ts';

/** Of files that are filled in before they are delivered. Loads their language: only for an entry that has some. */
export const templateRules: readonly LintRule[] = [{ id: 'templates', check: checkTemplates }];

function* checkTemplates(draft: Draft): Generator<RuleFinding> {
  const { component, compose, templates } = draft;
  const fields = new Map(component.fields.flatMap((field) => (variableOf(field) === undefined ? [] : [[variableOf(field) ?? '', field]])));
  const known = new Set([...fields.keys(), ...(compose?.variables.keys() ?? [])]);
  const named = new Set<string>();
  for (const [path, text] of templates) {
    const read = templateVariables(text);
    if ('problem' in read) {
      const { line, column, message } = read.problem;
      yield {
        file: 'component',
        below: { path, line, column },
        path: [],
        message: `The template cannot be read: ${message}.`,
        remedy: 'It is written in Liquid: {{ NAME }}, {% if NAME != "" %} ... {% endif %}.',
      };
      continue;
    }
    for (const name of read.names) {
      named.add(name);
      const wrong = !known.has(name)
        ? { message: `There is no setting "${name}".`, remedy: nameRemedy(name, known, `Declare a field with env: ${name}.`) }
        : fields.get(name)?.secret
          ? { message: `"${name}" is a secret, and would stand in a file.`, remedy: 'Let the program read it from its environment.' }
          : undefined;
      if (wrong) yield { file: 'component', below: { path, ...placeOf(text, name) }, path: [], ...wrong };
    }
  }
  for (const [index, field] of component.fields.entries()) {
    const name = field.goes === 'config' && !field.secret ? field.env : undefined;
    if (name !== undefined && !named.has(name) && compose && !compose.variables.has(name))
      yield inComponent(
        ['fields', index, 'env'],
        `No template names ${name}, so what is answered goes nowhere.`,
        `Write {{ ${name} }} where it belongs, or remove env.`,
      );
  }
}

function placeOf(text: string, name: string): { line: number; column: number } {
  const before = text.slice(0, Math.max(0, text.search(new RegExp(`\\b${name}\\b`)))).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
