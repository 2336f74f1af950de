import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { flows } from '../../source/app/flow-registry.ts';
import { loadFolder } from '../../source/catalog/load-folder.ts';
import { createKeymap } from '../../source/console/keymap.ts';
import { commandsIn, keysIn, type Named, paletteWordsIn, refusedOf, unknownOptions, verbsIn } from './named-commands.ts';
import { placeholder, type SourceText, textsInCode, textsInSource } from './source-texts.ts';

/** What a text tells people to type has to be accepted: commands in messages, remedies, help, catalog entries and documents, options, keys and what the palette finds. */
const root = resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const filesIn = (folder: string, named: RegExp) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => named.test(name) && !/\.test\.|testing|^site\/.+\//.test(name))
    .map((name) => join(folder, name));
const documents: SourceText[] = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...filesIn('docs', /\.(?:md|yaml)$/)].map((file) => ({
  where: file,
  text: read(file),
}));
const sources = filesIn('source', /\.tsx?$/);
const messages = sources.flatMap((file) => textsInSource(join(root, file), file));
/** What the practice stack and the simulators print are the words of other programs. */
const ours = messages.filter(({ where }) => !/^source\/(?:practice|products\/[^/]+\/simulator)\//.test(where));

const commandsOf = (texts: readonly SourceText[]) => texts.flatMap((text) => [...commandsIn(text), ...verbsIn(text)]);

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsOf);
}

const keys = new Set(
  createKeymap()
    .rows()
    .flatMap((row) => row.keys.split(' ')),
);
const unknownKeys = (texts: readonly SourceText[]) =>
  texts.flatMap(({ where, text }) =>
    keysIn(text).flatMap((key) => (keys.has(key) || key === 'Ctrl-D' ? [] : [`${where}: ${key} in "${text}"`])),
  );
const palette = new Set(flows.flatMap(({ verb }) => [verb, verb.split(' ')[0]]));
const unknownInPalette = (texts: readonly SourceText[]) =>
  texts.flatMap(({ where, text }) => paletteWordsIn(text).flatMap((words) => (palette.has(words) ? [] : [`${where}: :${words}`])));

/** Flags of the flows that a module can belong to: of its own, and of those that take it in, directly or through others. */
function flagsReaching(): (file: string) => ReadonlySet<string> {
  const flagsOfFile = new Map<string, string[]>();
  const importers = new Map<string, string[]>();
  const declared = new Set<string>();
  const procedures: string[] = [];
  const begins = /^ +(?:verb: |(?:flow|resumableFlow)\()/m;
  /** Where flows are described whose procedures are in other modules. */
  const descriptions = new Set<string>();
  for (const file of sources.filter((one) => one !== 'source/app/flow-registry.ts')) {
    const code = read(file);
    for (const [, target = ''] of code.matchAll(/(?:from|import)\s*\(?'(\.[^']+)'/g)) {
      const imported = join(dirname(file), target);
      importers.set(imported, [...(importers.get(imported) ?? []), file]);
    }
    for (const { index, 1: verb } of code.matchAll(/^ +(?:verb: |(?:flow|resumableFlow)\('\w+', )'([^']+)',/gm)) {
      const flow = flows.find((one) => one.verb === verb);
      if (!flow) continue;
      // In a list, the procedure is the last member of the entry.
      const [, procedure] = /\bload: async \(\) => \(await import\('([^']+)'/.exec(code.slice(index).split(begins)[1] ?? '') ?? [];
      const home = procedure === undefined ? file : join(dirname(file), procedure);
      if (procedure !== undefined) procedures.push(home);
      flagsOfFile.set(home, [...(flagsOfFile.get(home) ?? []), ...Object.keys(flow.flags ?? {})]);
      if (home !== file) descriptions.add(file);
      declared.add(flow.id);
    }
  }
  expect(flows.filter(({ id }) => !declared.has(id)).map(({ id }) => id)).toEqual([]);
  expect(procedures.length).toBeGreaterThan(100);
  expect(procedures.filter((file) => !flagsOfFile.has(file))).toEqual([]);
  const logs = 'follow tail since until grep service stdout stderr timestamps raw all path resume'.split(' ');
  const anyOf = new Set([...flagsOfFile.values()].flat().concat(logs));
  return (file) => {
    if (!/^source\/(?:flows|products)\//.test(file) || descriptions.has(file)) return anyOf;
    const reaching = new Set([file]);
    for (const one of reaching) for (const importer of importers.get(one) ?? []) reaching.add(importer);
    return new Set([...reaching].flatMap((one) => flagsOfFile.get(one) ?? []));
  };
}

describe('every command that is named is accepted by the program', () => {
  test('in messages, remedies, help and what is read aloud', async () => {
    const named = commandsOf(ours);
    expect(named.length).toBeGreaterThan(450);
    expect(await refusedOf([...named, ...messages.flatMap(commandsIn)])).toEqual([]);
  });

  test('with the component that it is about, since another of the product can run beside it', () => {
    const inFlows = ours.filter(({ where }) => /^source\/(?:flows|products|calls|hosts|engine)\//.test(where));
    const commands = inFlows.flatMap(commandsIn);
    const nameless = (named: readonly Named[]) =>
      named.flatMap(({ where, command }) => {
        const flow = flows
          .filter(({ verb }) => command === verb || command.startsWith(`${verb} `))
          .toSorted((one, other) => other.verb.length - one.verb.length)[0];
        if (flow?.about !== 'component' || flow.subject || (flow.all && flow.right === 'read')) return [];
        const [name = ''] = command.slice(flow.verb.length).trim().split(' ');
        return name.includes(placeholder) || name === 'COMPONENT' ? [] : [`${where}: ${command}`];
      });
    expect(commands.length).toBeGreaterThan(150);
    expect(nameless(commandsIn({ where: 'a', text: 'quarterdeck mesh keys' }))).toEqual(['a: mesh keys']);
    expect(nameless(commands)).toEqual([]);
  });

  // Reads the whole catalog from its YAML.
  test('in catalog entries and their files, where no text names an operation that cannot be run', { timeout: 120_000 }, async () => {
    const { entries } = await loadFolder(join(root, 'catalog'), { own: false });
    const texts = entries.flatMap((entry) => textsOf(entry).map((text) => ({ where: entry.id, text })));
    const files = filesIn('catalog', /./).filter((file) => statSync(join(root, file)).isFile() && !file.endsWith('/component.yaml'));
    const named = [...texts, ...files.map((file) => ({ where: file, text: read(file) }))].flatMap(commandsIn);
    expect(named.length).toBeGreaterThan(40);
    expect(await refusedOf(named)).toEqual([]);
    // Which component is meant: an id has a dash, or stands there in full.
    const ids = new Set(entries.map(({ id }) => id));
    const about = new Set(flows.flatMap(({ about, verb, subject }) => (about === 'host' || subject ? [] : [verb])));
    const strange = named.flatMap(({ where, command }) => {
      const [first = '', second = '', third = ''] = command.split(' ');
      const subject = about.has(first) ? second : about.has(`${first} ${second}`) ? third : '';
      return /^[a-z0-9]+(?:-[a-z0-9]+)+$/.test(subject) && !ids.has(subject) ? [`${where}: ${command}`] : [];
    });
    expect(strange).toEqual([]);
    const operations = entries.flatMap((entry) =>
      textsOf(entry).flatMap((text) =>
        entry.operations.some(({ id }) => text.includes(`operation ${id}`)) ? [`${entry.id}: ${text}`] : [],
      ),
    );
    expect(operations).toEqual([]);
  });

  test('in documents', async () => {
    const named = commandsOf(documents);
    expect(named.length).toBeGreaterThan(200);
    expect(await refusedOf(named)).toEqual([]);
  });

  test('in goldens, where what is cut is left out', async () => {
    const goldens = filesIn('source/console/goldens', /\.txt$/).map((file) => ({
      where: file,
      // Not the header, whose second word is the host.
      text: read(file)
        .replace(/^.*\n/, '')
        .replaceAll(/[│┃━─╮╯┛]|\S*…/g, ' # '),
    }));
    const named = goldens.flatMap(commandsIn);
    expect(named.length).toBeGreaterThan(15);
    expect(await refusedOf(named)).toEqual([]);
  });
});

test('an option that a message names belongs to a command that shows the message', () => {
  const flagsOf = flagsReaching();
  const unknown = ours.flatMap(({ where, text }) =>
    unknownOptions(text, flagsOf(where.split(':')[0] ?? '')).map((name) => `${where}: --${name} in "${text}"`),
  );
  expect(unknown).toEqual([]);
});

test('every key that is named is a key of the console', () => {
  expect(unknownKeys([...ours, ...documents])).toEqual([]);
  const named = documents.flatMap(({ where, text }) =>
    text
      .replace(/<!-- generated: keys -->[\s\S]*?<!-- end -->/, '')
      .split('\n')
      .flatMap((line) => [...line.matchAll(/`([^\s`])`/g)].map(([, key = '']) => ({ where, key }))),
  );
  expect(named.length).toBeGreaterThan(10);
  // Characters of YAML, ssh and durations in the documents about files.
  expect(
    named.filter(({ where, key }) => !keys.has(key) && !'-~#'.includes(key) && !/catalog\.md|json\.md|CONTRIBUTING/.test(where)),
  ).toEqual([]);
});

test('what is said to be typed into the palette is found there', () => {
  expect(unknownInPalette([...ours, ...documents])).toEqual([]);
  const verbsOfRemarks = sources
    .filter((file) => /^source\/(?:console|cli|app)\//.test(file))
    .flatMap((file) => [...read(file).matchAll(/\bverb: '([^']+)'/g)].map(([, verb = '']) => verb));
  expect(verbsOfRemarks.length).toBeGreaterThan(2);
  expect(verbsOfRemarks.filter((verb) => !palette.has(verb))).toEqual([]);
});

describe('what is written wrong is found, wherever it stands', () => {
  const inCode: [string, string][] = [
    ['a text', `const a = 'Start it: quarterdeck strat vault';`],
    ['a template', 'const a = `Start it: quarterdeck strat ${id}, then look.`;'],
    ['a template in a template', 'const a = `x ${several ? `quarterdeck strat ${id}` : ""}`;'],
    ['a condition inside of a command', 'const a = `Run quarterdeck ${on ? "strat" : "stop"} ${id}`;'],
    ['the other side of it', 'const a = `Run quarterdeck ${on ? "start" : "sotp"} ${id}`;'],
    ['an option after a placeholder', 'const a = `quarterdeck update ${id} --frobnicate`;'],
    ['a constant', "const verb = 'strat'; const a = `quarterdeck ${verb} vault`;"],
    ['texts joined with a plus', "const a = 'Start it: quarterdeck ' + 'strat ' + id;"],
    ['texts joined with a list', "const a = ['quarterdeck', 'strat', id].join(' ');"],
    ['a text over two lines', "const a = 'Start it: quarterdeck\\n  strat vault';"],
    ['an escape', "const a = 'quarterdeck\\u0020strat vault';"],
    ['the short name', "const a = 'Type qd strat vault.';"],
    ['behind an option of every verb', 'const a = `quarterdeck --host ${host} strat vault`;'],
    ['an option of another verb', "const a = 'quarterdeck key vault --set user=';"],
    ['a word of a group', "const a = 'quarterdeck hosts lst';"],
    ['a word that the command reads itself', "const a = 'quarterdeck audit verfy';"],
    ['the help of what is not', "const a = 'quarterdeck help strat';"],
    ['no verb', "const a = 'quarterdeck --host nas';"],
    ['in quotes, without the program', `const a = 'Undo it with "recover --udno".';`],
    ['a usage', "fail('objects gte BUCKET/KEY FILE');"],
    ['text between tags', 'const a = <Text>Run quarterdeck strat vault</Text>;'],
  ];
  test.each(inCode)('in code: %s', async (_, code) => {
    expect(await refusedOf(commandsOf(textsInCode(code, 'a.tsx')))).not.toEqual([]);
  });

  test('and what is a comment, an import or a type is none', () => {
    const code = "// quarterdeck strat\nimport a from './quarterdeck strat';\ntype A = 'quarterdeck strat';\n/** quarterdeck strat */";
    expect(textsInCode(code, 'a.ts')).toEqual([]);
  });

  const inDocuments: [string, string][] = [
    ['a sentence', 'Type `quarterdeck strat vault` there.'],
    ['a line of a shell', '```\nquarterdeck strat vault\n```'],
    ['broken over lines', 'Type `quarterdeck\nstrat vault`.'],
    ['a table', '| `quarterdeck strat` | starts it |'],
    ['JSON', '{ "remedy": "Open it: quarterdeck strat vault" }'],
    ['without the program', '- `hosts lst` lists them.'],
    ['several at once', '`sso users|rulse` lists them.'],
    ['the option of another verb', 'With `backup verify --vai` it.'],
  ];
  test.each(inDocuments)('in documents: %s', async (_, text) => {
    expect(await refusedOf(commandsOf([{ where: 'a.md', text }]))).not.toEqual([]);
  });

  test.each([
    ['Pass --user=NAME or --frob.', ['frob']],
    ['--frob takes a number.', ['frob']],
    ['SOME needs --frob', ['frob']],
    ['Run kubectl drain n --ignore-daemonsets; then add --yes.', []],
  ])('an option: %s', (text, found) => {
    expect(unknownOptions(text, new Set(['user']))).toEqual(found);
  });

  test.each(['Press Q to stop.', 'No line is marked: Q marks one.', 'Ctrl-Y undoes it.', 'F5 reads it again.', 'It is away: press "&".'])(
    'a key: %s',
    (text) => {
      expect(unknownKeys([{ where: '', text }])).toHaveLength(1);
    },
  );

  test.each(['Type :frob to open it.', 'It is `:frob`.', 'Then ":frob".'])('the palette: %s', (text) => {
    expect(unknownInPalette([{ where: '', text }])).toHaveLength(1);
  });
});
