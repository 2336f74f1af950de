import { nameRemedy } from '../text/nearest-name.ts';
import { positionAt } from '../text/position.ts';
import { type Draft, inComponent, type RuleFinding, variableOf } from './draft.ts';
import { templateVariables } from './file-template.ts';

/** Files that are rendered before they are delivered. Loads the template language: only for entries with templates. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: names are compared in both directions, and secrets refused
export function* checkTemplates(draft: Draft): Generator<RuleFinding> {
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
        message: `Invalid template: ${message}.`,
        remedy: 'Use Liquid: {{ NAME }}, {% if NAME != "" %} ... {% endif %}.',
      };
      continue;
    }
    for (const name of read.names) {
      named.add(name);
      const wrong = !known.has(name)
        ? { message: `Unknown setting "${name}".`, remedy: nameRemedy(name, known, `Declare a field with env: ${name}.`) }
        : fields.get(name)?.secret
          ? { message: `"${name}" is a secret and would be written to a file.`, remedy: 'Pass the secret as an environment variable.' }
          : undefined;
      if (wrong)
        yield { file: 'component', below: { path, ...positionAt(text, text.search(new RegExp(`\\b${name}\\b`))) }, path: [], ...wrong };
    }
  }
  for (const [index, field] of component.fields.entries()) {
    const name = field.target === 'config' && !field.secret ? field.env : undefined;
    if (name !== undefined && !named.has(name) && compose && !compose.variables.has(name)) {
      const message = `No template uses ${name}, so its value has no effect.`;
      yield inComponent(['fields', index, 'env'], message, `Add {{ ${name} }} to a template, or remove env.`);
    }
  }
}
