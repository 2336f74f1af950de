import { unlessThrown } from '../text/unless-thrown.ts';
import { type Draft, inComponent, inCompose, type RuleFinding, servicesOf, variableOf } from './draft.ts';
import { checkValue } from './field-types.ts';
import { generate } from './generators.ts';
import { isReserved } from './variable-names.ts';

export const fieldRules = { R2: secretsOutOfFiles, R17: fieldValues, R18: stringBooleans, R21: exclusiveDefaults };

const isRequired = (name: string) => `Use \${${name}:?kept by Quarterdeck, use quarterdeck compose}.`;

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one rule for each position in which a secret or its default can be written
function* secretsOutOfFiles({ component, compose }: Draft): Generator<RuleFinding> {
  for (const [index, field] of component.fields.entries()) {
    if (field.type === 'secret-string' && !field.secret)
      yield inComponent(['fields', index], `"${field.name}" is of type secret-string, but is not marked as secret.`, 'Add secret: true.');
    if (field.generator && !field.secret)
      yield inComponent(['fields', index, 'generator'], `"${field.name}" is generated, so it must be a secret.`, 'Add secret: true.');
    if (field.secret && field.default !== undefined) {
      const message = `The secret "${field.name}" has a public default.`;
      yield inComponent(['fields', index, 'default'], message, 'Remove the default.');
    }
    if (!field.secret) continue;
    const name = variableOf(field);
    if (name !== undefined && isReserved(name))
      yield inComponent(
        ['fields', index, field.env === undefined ? 'name' : 'env'],
        `The secret ${name} cannot be passed to the compose program, because the shell or the program already uses this name.`,
        'Rename the variable in env and in compose.yaml.',
      );
    if (name === undefined) continue;
    for (const { operator, word, path } of compose?.variables.get(name) ?? [])
      if (operator === '-' && word !== '') yield inCompose(path, `The secret ${name} has a public default.`, isRequired(name));
    for (const { environment } of compose?.services.values() ?? []) {
      const written = environment.get(name);
      if (written && !written.value.includes('$')) yield inCompose(written.path, `The secret ${name} is in plaintext.`, isRequired(name));
    }
  }
}

const samples = 8;

function* fieldValues({ component }: Draft): Generator<RuleFinding> {
  for (const [index, field] of component.fields.entries()) {
    const path = ['fields', index];
    if (field.type === 'enum' && !field.enum) yield inComponent(path, `The enum "${field.name}" has no values.`, 'Add enum: [...].');
    if (field.pattern !== undefined && !isPattern(field.pattern)) {
      yield inComponent([...path, 'pattern'], `"${field.pattern}" is not a valid regular expression.`, 'Fix it.');
      continue;
    }
    const problem = field.default === undefined || (field.type === 'enum' && !field.enum) ? undefined : checkValue(field, field.default);
    if (problem !== undefined)
      yield inComponent([...path, 'default'], `The default is invalid: ${problem}`, 'Change the default or the type.');
    const { generator } = field;
    if (generator === undefined) continue;
    const misfit = Array.from({ length: samples }, () => checkValue(field, generate(generator))).find((found) => found !== undefined);
    if (misfit !== undefined) {
      const remedy = 'Change the generator, or the length and pattern.';
      yield inComponent([...path, 'generator'], `The generated value is invalid: ${misfit}`, remedy);
    }
  }
}

export const isPattern = (pattern: string): boolean => unlessThrown(() => new RegExp(pattern), undefined) !== undefined;

function* stringBooleans(draft: Draft): Generator<RuleFinding> {
  const names = new Set(draft.component.fields.filter(({ type }) => type === 'string-boolean').flatMap((field) => variableOf(field) ?? []));
  for (const service of servicesOf(draft)) {
    for (const [name, { path }] of service.environment) {
      const written = draft.composeDocument?.scalar(path);
      // In the list form, the whole entry NAME=value is text, regardless of quotes.
      if (!names.has(name) || written === undefined || written.quoted || typeof path.at(-1) === 'number') continue;
      yield inCompose(path, `${name} must be a YAML string.`, 'Quote the value.');
    }
  }
}

function* exclusiveDefaults({ component }: Draft): Generator<RuleFinding> {
  const withDefault = component.fields.filter((field) => field.default !== undefined);
  for (const field of withDefault) {
    const other = withDefault.find(({ name }) => field.excludes.includes(name));
    if (other) {
      const message = `"${field.name}" and "${other.name}" are mutually exclusive, but both have a default.`;
      yield inComponent(['fields', component.fields.indexOf(field), 'default'], message, 'Remove one of the defaults.');
    }
  }
  for (const [index, set] of component.oneOf.entries()) {
    const given = set.filter((name) => withDefault.some((field) => field.name === name));
    if (given.length > 1) {
      const message = `Only one of ${given.join(' and ')} may be set, but more than one has a default.`;
      yield inComponent(['oneOf', index], message, 'Remove one of the defaults.');
    }
  }
}
