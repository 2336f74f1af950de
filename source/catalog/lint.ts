import { checkMeaning, composeRules } from './compose-rules.ts';
import { checkShapes } from './compose-shape-rules.ts';
import { checkDefaults } from './default-rules.ts';
import { type Draft, inComponent, type LintRule, type RuleFinding } from './draft.ts';
import { fieldRules } from './field-rules.ts';
import { groups } from './groups.ts';
import { imageRules } from './image-rules.ts';
import { kindRules } from './kind-rules.ts';
import { portRules } from './port-rules.ts';

const tables: readonly Readonly<Record<string, LintRule['check']>>[] = [
  { R1: groupAndName },
  composeRules,
  { shapes: checkShapes, meaning: checkMeaning },
  portRules,
  fieldRules,
  { defaults: checkDefaults },
  kindRules,
  imageRules,
  { multipart: multipartFiles },
];

/** Rules of the specification that a catalog entry can violate, one each. Every rule has a test with an entry that violates it. */
export const lintRules: readonly LintRule[] = tables.flatMap((rules) => Object.entries(rules).map(([id, check]) => ({ id, check })));

function* groupAndName({ component, folderName, groupName }: Draft): Generator<RuleFinding> {
  if (component.id !== folderName)
    yield inComponent(['id'], `The id is "${component.id}", but the folder is named "${folderName}".`, 'Use the id as the folder name.');
  if (groupName === undefined) return;
  if (!(groups as readonly string[]).includes(groupName))
    yield inComponent(['group'], `The folder "${groupName}" is not a known group.`, `Move this folder into one of ${groups.join(', ')}.`);
  else if (groupName !== component.group)
    yield inComponent(['group'], `The group is "${component.group}", but the parent folder is "${groupName}".`, 'Rename one of the two.');
}

function* multipartFiles({ component }: Draft): Generator<RuleFinding> {
  for (const [name, { http, inputs }] of Object.entries(component.calls)) {
    if (!http?.multipart || Object.values(inputs).some(({ file }) => file)) continue;
    const remedy = 'Set file: true for the input that contains the file.';
    yield inComponent(['calls', name, 'inputs'], 'The multipart body has no file.', remedy, 'key');
  }
}
