import type { YamlPath } from '../config/yaml-document.ts';
import { shownValue } from '../text/shown-value.ts';
import type { ComposeFile } from './compose-file.ts';
import { type Draft, inComponent, inCompose, type LintRule, type RuleFinding, servicesOf, variableOf } from './draft.ts';
import { checkValue } from './field-types.ts';
import { interpolate } from './interpolation.ts';

/*
 * Two files can say what is so as long as nobody chose. What is deployed has what compose.yaml says; the form begins with it, and what equals it is not written down. The
 * default of a field is what `catalog show` tells, and counts alone for files that are filled in.
 */
export const defaultRules: readonly LintRule[] = [{ id: 'defaults', check: checkDefaults }];

type Variable = NonNullable<ReturnType<ComposeFile['variables']['get']>>[number];

function* checkDefaults(draft: Draft): Generator<RuleFinding> {
  const { component, compose, composeDocument } = draft;
  const lineOf = (path: YamlPath) => composeDocument?.place(path).line ?? 1;
  const fields = component.fields.map((field, index) => ({ field, index, variable: variableOf(field) }));
  for (const [name, places] of compose?.variables ?? []) {
    const declared = fields.find(({ variable }) => variable === name);
    if (declared?.field.secret) continue;
    const presets = places.filter(({ operator }) => operator === '-').map((place) => ({ ...place, value: interpolate(place.word) }));
    yield* several(name, presets, lineOf);
    const [preset] = presets;
    if (!declared) continue;
    const { field, index } = declared;
    const problem = preset === undefined || preset.value === '' || !fits(field) ? undefined : checkValue(field, preset.value);
    if (preset && problem !== undefined)
      yield warning(inCompose(preset.path, `The default of ${name} does not fit: ${problem}`, 'Change it, or the type of the field.'));
    if (field.default === undefined || (preset && sameText(preset.value, field.default))) continue;
    const path = ['fields', index, 'default'];
    const said = `The default of "${field.name}" is ${shownValue(String(field.default))} here`;
    if (preset === undefined)
      yield warning(
        inComponent(
          path,
          `${said}, and compose.yaml has none: ${name} is empty unless somebody sets it.`,
          `Write \${${name}:-${field.default}} there.`,
        ),
      );
    else
      yield warning(
        inComponent(
          path,
          `${said} and ${preset.value === '' ? 'nothing' : shownValue(preset.value)} in compose.yaml, which is what is deployed.`,
          `Make both the same: there it stands in line ${lineOf(preset.path)}.`,
        ),
      );
  }
  for (const { field, index, variable } of fields) {
    if (field.secret || field.goes !== 'environment' || field.default === undefined || variable === undefined) continue;
    const written = servicesOf(draft).flatMap(({ environment }) => environment.get(variable) ?? []);
    if (written.length === 0 || compose?.variables.has(variable)) continue;
    const preset = field.default;
    if (written.some(({ value }) => value.includes('$') || sameText(value, preset))) continue;
    yield warning(
      inComponent(
        ['fields', index, 'default'],
        `The default of "${field.name}" is ${shownValue(String(preset))} here, and compose.yaml sets ${variable} to ${shownValue(written[0]?.value ?? '')} for good.`,
        `Write \${${variable}:-${preset}} there, so that it can be set, or the same here.`,
      ),
    );
  }
}

/** An empty one beside another leaves that place to itself; two that differ cannot both be what the form begins with. */
function* several(
  name: string,
  presets: readonly (Variable & { value: string })[],
  lineOf: (path: YamlPath) => number,
): Generator<RuleFinding> {
  const [first, other] = [...new Map(presets.filter(({ value }) => value !== '').map((preset) => [preset.value, preset])).values()];
  if (first === undefined || other === undefined) return;
  yield warning(
    inCompose(
      other.path,
      `The default of ${name} is ${shownValue(other.value)} here and ${shownValue(first.value)} in line ${lineOf(first.path)}: who chooses the one gets the other here.`,
      'Write the same default everywhere, or use two variables.',
    ),
  );
}

const warning = (finding: RuleFinding): RuleFinding => ({ ...finding, level: 'warning' });

/** A number in component.yaml may be written otherwise: 1.0 is 1. */
const sameText = (value: string, preset: string | number | boolean): boolean =>
  value === String(preset) || (typeof preset === 'number' && value.trim() !== '' && Number(value) === preset);

/** What is wrong with the field itself is told elsewhere. */
function fits({ type, enum: values, pattern }: Draft['component']['fields'][number]): boolean {
  try {
    new RegExp(pattern ?? '');
  } catch {
    return false;
  }
  return type !== 'enum' || values !== undefined;
}
