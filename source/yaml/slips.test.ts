import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyCharacter } from '../../test/doubles/any-character.ts';
import { soundComponent, soundCompose } from '../../test/doubles/catalog-folder.ts';
import { YamlDocument } from './document.ts';

const reported = (text: string) =>
  new YamlDocument(text).problems.map(({ line, column, message, remedy }) => `${line}:${column} ${message} ${remedy}`);

const signup = '"${SIGNUP:-true}"';
const deps = '    depends_on: [db]\n';
const restart = '    restart: unless-stopped\n    depends_on';
const list = '      - data:/data';

describe('one slip', () => {
  it.each<[what: string, text: string, from: string, to: string, expected: RegExp]>([
    [
      'a quote that is not closed',
      soundCompose,
      signup,
      signup.slice(0, -1),
      /^10:15 A quote opened here is not closed\. Add " at the end of the value\.$/,
    ],
    [
      'a quote that is closed far below',
      soundComponent,
      "> 1000'",
      '> 1000',
      /^52:11 A quote opened here is not closed\. Add ' at the end/,
    ],
    ['a quote that is not closed inside of braces', soundComponent, '"hex:16"', '"hex:16', /^15:91 A quote opened here/],
    [
      'a bracket that is not closed',
      soundCompose,
      '[db]',
      '[db',
      /^5:17 A bracket opened here is not closed\. Add \] at the end of the content\.$/,
    ],
    ['a brace that is not closed', soundComponent, 'web: true}', 'web: true', /^12:8 A brace opened here/],
    ['a comma that is missing', soundComponent, 'web page, exposure', 'web page exposure', /^12:15 A comma or a quote is missing/],
    [
      'a colon that is missing',
      soundCompose,
      'environment:',
      'environment',
      /^8:5 This line has no colon\. Use environment: value, or remove the line\.$/,
    ],
    [
      'a colon before a value that is missing',
      soundCompose,
      'restart: unless-stopped\n    depends',
      'restart unless-stopped\n    depends',
      /^4:5 This line has no colon\. Use restart: value, or remove the line\.$/,
    ],
    ['no space behind a colon', soundCompose, 'image: notes', 'image:notes', /^3:5 Missing space after "image:"/],
    [
      'a second colon',
      soundComponent,
      'Note keeper',
      'Note keeper: the best',
      /^3:7 This line has more than one key\. Quote text that contains ": "\.$/,
    ],
    [
      'a space too many',
      soundCompose,
      restart,
      ` ${restart}`,
      /^4:6 This line is indented deeper than the one above, which already has a value\. Align this line/,
    ],
    [
      'a space too few',
      soundCompose,
      restart,
      restart.slice(1),
      /^4:4 This line is not aligned with those above\. Align this line with the lines around it\./,
    ],
    ['two spaces too few', soundCompose, deps, deps.slice(2), /^6:5 This line is not aligned/],
    [
      'the first key of a map, deeper than the others',
      soundCompose,
      '      APP_SECRET:',
      '        APP_SECRET:',
      /^10:7 This line is not aligned/,
    ],
    ['a key with all that is below it', soundCompose, '    environment:', '  environment:', /^12:5 This line is not aligned/],
    ['the first line', soundCompose, 'services:', '  services:', /^1:3 The first line is indented, but others are not\./],
    ['an entry of a list', soundCompose, list, list.slice(3), /^12:13 /],
    ['a dash among keys', soundCompose, `SIGNUP: ${signup}`, '- SIGNUP=1', /^10:7 Unexpected list entry: keys are expected here\./],
    ['a key among entries', soundCompose, list, `${list}\n      more: x`, /^14:7 This line is not aligned/],
    [
      'a value above a map',
      soundCompose,
      'environment:',
      'environment: x',
      /^9:7 This line is indented deeper than the one above, which already has a value\./,
    ],
    ['a line that went astray', soundCompose, deps, `${deps}oops\n`, /^6:1 This line has no colon\./],
    ['a tab', soundCompose, '      SIGNUP', '    \tSIGNUP', /^10:5 Tabs are not allowed/],
    ['a space that is none', soundCompose, deps, deps.replace(' ', '\u00a0'), /^5:1 A character here looks like a space, but is not one\./],
    [
      'a merge that was left',
      soundCompose,
      deps,
      `<<<<<<< HEAD\n${deps}=======\n>>>>>>> other\n`,
      /^5:1 This file has an unresolved merge conflict here\./,
    ],
    ['text that begins with a sign', soundComponent, 'Note keeper', '@Note keeper', /^3:7 Text cannot begin with @\. Quote it\.$/],
    ['text that begins like an alias', soundComponent, 'Note keeper', '*Note keeper', /^3:7 Text cannot begin with \*\./],
    ['text behind a quote', soundComponent, 'Is it up?', "'Isn't it up?'", /^29:17 Text follows the closing quote\./],
    [
      'the lines of a text',
      soundComponent,
      'message: There',
      'message: |\n    There',
      /^55:5 The lines of a multi-line text must be indented deeper than the key above them\. Indent this line/,
    ],
    [
      'an alias with a colon',
      soundComponent,
      'Note keeper',
      '*note:',
      /^3:12 Alias ending in : is ambiguous\. Write the alias without a colon/,
    ],
    ['a comma that is missing in a list', soundCompose, '[db]', '["db" x]', /^5:\d+ Missing , or : between flow sequence items\./],
    ['a second document', soundCompose, 'volumes:\n  data:', '---\nvolumes:\n  data:', /^17:1 This file has more than one document/],
  ])('is told once, where it is: %s', (_, text, from, to, expected) => {
    expect(text.split(from)).toHaveLength(2);
    expect(reported(text.replace(from, () => to))).toEqual([expect.stringMatching(expected)]);
  });

  const ways: Record<string, (line: string) => string> = {
    'a space more': (line) => ` ${line}`,
    'a space less': (line) => line.replace(/^ /, ''),
    'two spaces more': (line) => `  ${line}`,
    'two spaces less': (line) => line.replace(/^ {2}/, ''),
    'no last quote': (line) => line.replace(/["']([^"']*)$/, '$1'),
    'no first quote': (line) => line.replace(/["']/, ''),
    'no colon': (line) => line.replace(/:(?=\s|$)/, ''),
    'no space behind the colon': (line) => line.replace(': ', ':'),
    'no last brace': (line) => line.replace(/[}\]]([^}\]]*)$/, '$1'),
  };
  it.each(Object.entries(ways))('is told once in any line: %s', { timeout: 60_000 }, (_, change) => {
    for (const file of ['catalog/vpn/mesh-vpn-platform/compose.yaml', 'catalog/security/password-vault/component.yaml']) {
      const lines = readFileSync(file, 'utf8').split('\n');
      for (let at = 0; at < lines.length; at += 2) {
        const text = lines.with(at, change(lines[at] ?? '')).join('\n');
        expect(reported(text).length, `${file}:${at + 1}`).toBeLessThanOrEqual(1);
      }
    }
  });
});

it('of several slips the first is told: the others may follow from it', () => {
  const text = soundCompose
    .replace('    image: postgres', '     image: postgres')
    .replace(signup, signup.slice(0, -1))
    .replace('data: {}', 'data: {}\n  data: {}');
  expect(reported(text)).toEqual([expect.stringMatching(/^10:15 A quote opened/)]);
  const services = Array.from({ length: 400 }, (_, at) => `  s${at}:\n    image: "x:${at}"\n    environment:\n      A: "open\n`).join('');
  expect(reported(`services:\n${services}`)).toEqual([expect.stringMatching(/^5:10 A quote opened here is not closed/)]);
  expect(reported('['.repeat(20_000))[0]).toMatch(/^1:/);
});

it('of anything, what is told stands in the text, and there is an end to it', () => {
  const texts = fc.oneof(
    fc.string({ unit: fc.constantFrom(...'\n\n  ab:-"\'[]{}#*&!|>,\t\r%@'), maxLength: 60 }),
    fc.string({ unit: anyCharacter }).map((text) => `\n${text}: `),
  );
  fc.assert(
    fc.property(texts, (text) => {
      const lines = text.split('\n').length;
      for (const { line, column } of new YamlDocument(text).problems) {
        expect(line).toBeGreaterThan(0);
        expect(line).toBeLessThanOrEqual(lines);
        expect(column).toBeGreaterThan(0);
      }
    }),
    { numRuns: 2_000 },
  );
});
