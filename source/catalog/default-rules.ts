import { shownValue } from '../text/shown-value.ts';
import type { YamlPath } from '../yaml/document.ts';
import { type Draft, inComponent, inCompose, type RuleFinding, servicesOf, variableOf, warning } from './draft.ts';
import { isPattern } from './field-rules.ts';
import { checkValue } from './field-types.ts';
import { interpolate } from './interpolation.ts';

/**
 * Two files can define a default. A deployment uses the one in compose.yaml; the form starts with it, and a value equal to it is not
 * stored. The default of a field is shown by `catalog show`, and is the only one for files that are filled in.
 */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: compares both defaults for each variable, and then for fields without one
export function* checkDefaults(draft: Draft): Generator<RuleFinding> {
  const { component, compose, composeDocument } = draft;
  const lineOf = (path: YamlPath) => composeDocument?.position(path).line ?? 1;
  const fields = component.fields.map((field, index) => ({ field, index, variable: variableOf(field) }));
  for (const [name, positions] of compose?.variables ?? []) {
    const declared = fields.find(({ variable }) => variable === name);
    if (declared?.field.secret) continue;
    const presets = positions
      .filter(({ operator }) => operator === '-')
      .map((position) => ({ ...position, value: interpolate(position.word) }));
    yield* several(name, presets, lineOf);
    const [preset] = presets;
    if (!declared) continue;
    const { field, index } = declared;
    const problem = preset === undefined || preset.value === '' || !fits(field) ? undefined : checkValue(field, preset.value);
    if (preset && problem !== undefined)
      yield warning(inCompose(preset.path, `The default of ${name} is invalid: ${problem}`, 'Change the default or the field type.'));
    if (field.default === undefined || (preset && sameText(preset.value, field.default))) continue;
    const path = ['fields', index, 'default'];
    const said = `The default of "${field.name}" is ${shownValue(String(field.default))} here`;
    const deployed = preset?.value === '' ? 'empty' : shownValue(preset?.value);
    yield warning(
      preset === undefined
        ? inComponent(
            path,
            `${said}, but compose.yaml has none, so ${name} is empty until it is set.`,
            `Use \${${name}:-${field.default}} in compose.yaml.`,
          )
        : inComponent(
            path,
            `${said}, but ${deployed} in compose.yaml, which takes precedence.`,
            `Use the same default in both (compose.yaml, line ${lineOf(preset.path)}).`,
          ),
    );
  }
  for (const { field, index, variable } of fields) {
    if (field.secret || field.target !== 'environment' || field.default === undefined || variable === undefined) continue;
    const written = servicesOf(draft).flatMap(({ environment }) => environment.get(variable) ?? []);
    if (written.length === 0 || compose?.variables.has(variable)) continue;
    const preset = field.default;
    if (written.some(({ value }) => value.includes('$') || sameText(value, preset))) continue;
    const message = `The default of "${field.name}" is ${shownValue(String(preset))} here, but compose.yaml always sets ${variable} to ${shownValue(written[0]?.value ?? '')}.`;
    const remedy = `Use \${${variable}:-${preset}} in compose.yaml so that it can be changed, or use the same value here.`;
    yield warning(inComponent(['fields', index, 'default'], message, remedy));
  }
}

/** An empty default leaves the value to the other one; two different ones cannot both be the form's initial value. */
function* several(name: string, presets: readonly { value: string; path: YamlPath }[], lineOf: (path: YamlPath) => number) {
  const [first, other] = [...new Map(presets.filter(({ value }) => value !== '').map((preset) => [preset.value, preset])).values()];
  if (first === undefined || other === undefined) return;
  const message = `The default of ${name} is ${shownValue(other.value)} here, but ${shownValue(first.value)} on line ${lineOf(first.path)}. A form can show only one default.`;
  yield warning(inCompose(other.path, message, 'Use the same default everywhere, or use two variables.'));
}

/** A number in component.yaml may be written in another form: 1.0 is 1. */
const sameText = (value: string, preset: string | number | boolean): boolean =>
  value === String(preset) || (typeof preset === 'number' && value.trim() !== '' && Number(value) === preset);

/** Problems of the field itself are reported elsewhere. */
function fits({ type, enum: values, pattern = '' }: Draft['component']['fields'][number]): boolean {
  return isPattern(pattern) && (type !== 'enum' || values !== undefined);
}
