import { afterEach, describe, expect, it } from 'vitest';
import { catalogFolder, soundComponent, soundCompose } from '../../test/doubles/catalog-folder.ts';
import { loadFolder } from './load-folder.ts';

const removals: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const remove of removals.splice(0)) await remove();
});

const field = 'default: "true"}';
const text = 'SIGNUP: "${SIGNUP:-true}"';
type Edit = readonly [from: string, to: string];

/** Returns `file line:column message remedy` of the problems reported for the valid entry with these edits. */
async function reported({ component = [], compose = [] }: { component?: readonly Edit[]; compose?: readonly Edit[] }): Promise<string[]> {
  const edited = (sound: string, edits: readonly Edit[]) =>
    edits.reduce((so, [from, to]) => {
      expect(so.split(from)).toHaveLength(2);
      return so.replace(from, () => to);
    }, sound);
  const made = await catalogFolder({
    'notes/component.yaml': edited(soundComponent, component),
    'notes/compose.yaml': edited(soundCompose, compose),
  });
  removals.push(made.remove);
  const { problems } = await loadFolder(made.folder, { own: true });
  return problems.map(
    ({ level, file, line, column, message, remedy }) =>
      `${level} ${file.slice(made.folder.length + 7)} ${line}:${column} ${message} ${remedy}`,
  );
}

describe('a default', () => {
  it.each<[string, Parameters<typeof reported>[0], RegExp]>([
    [
      'that differs from the one of compose.yaml',
      { component: [[field, 'default: "false"}']] },
      /^warning component\.yaml 16:72 The default of "SIGNUP" is "false" here, but "true" in compose\.yaml, which takes precedence\. Use the same default in both \(compose\.yaml, line 10\)\.$/,
    ],
    [
      'that compose.yaml does not have',
      { compose: [[text, 'SIGNUP: "${SIGNUP}"']] },
      /^warning component\.yaml 16:72 The default of "SIGNUP" is "true" here, but compose\.yaml has none, so SIGNUP is empty until it is set\. Use \$\{SIGNUP:-true\} in compose\.yaml\.$/,
    ],
    ['where compose.yaml wants a value', { compose: [[text, 'SIGNUP: "${SIGNUP:?say it}"']] }, /compose\.yaml has none/],
    ['that is empty in compose.yaml', { compose: [[text, 'SIGNUP: "${SIGNUP:-}"']] }, /here, but empty in compose\.yaml/],
    [
      'of what compose.yaml sets for good',
      { compose: [[text, 'SIGNUP: "false"']] },
      /^warning component\.yaml 16:72 .* compose\.yaml always sets SIGNUP to "false"\. Use \$\{SIGNUP:-true\} in compose\.yaml so that it can be changed, or use the same value here\.$/,
    ],
    [
      'that is not the same everywhere',
      { compose: [[text, `${text}\n      ALSO: "\${SIGNUP:-false}"`]] },
      /^warning compose\.yaml 11:13 The default of SIGNUP is "false" here, but "true" on line 10\. A form can show only one default\./,
    ],
    [
      'that no field would take',
      { component: [[`, ${field}`, '}']], compose: [[text, 'SIGNUP: "${SIGNUP:-perhaps}"']] },
      /^warning compose\.yaml 10:15 The default of SIGNUP is invalid: "perhaps" /,
    ],
  ])('%s is told once, with its place', async (_, edits, expected) => {
    expect(await reported(edits)).toEqual([expect.stringMatching(expected)]);
  });

  it.each<[string, Parameters<typeof reported>[0]]>([
    ['is the same', {}],
    [
      'is a number',
      {
        component: [
          ['type: string-boolean, target: environment, default: "true"', 'type: string-integer, target: environment, default: 10'],
        ],
        compose: [[text, 'SIGNUP: "${SIGNUP:-10}"']],
      },
    ],
    ['is told by compose.yaml alone', { component: [[`, ${field}`, '}']] }],
    ['is of what compose.yaml sets to the same', { compose: [[text, 'SIGNUP: "true"']] }],
    ['is left to the program at one place', { compose: [[text, `${text}\n      ALSO: "\${SIGNUP:-}"`]] }],
    ['goes into the configuration', { component: [['default: dark', 'default: light']] }],
  ])('may stay as it %s', async (_, edits) => {
    expect(await reported(edits)).toEqual([]);
  });
});
