import { describe, expect, it } from 'vitest';
import { checkConfig, examineConfig } from './config-check.ts';

const schema = JSON.stringify({
  type: 'object',
  properties: {
    port: { type: 'integer', minimum: 1, maximum: 65535 },
    mode: { enum: ['on', 'off'] },
    upstreams: { type: 'array', items: { type: 'string' } },
    limit: { anyOf: [{ type: 'string', pattern: '^\\d+Gi$' }, { enum: ['none'] }], description: 'a size, such as 16Gi, or none' },
    lists: { type: 'object', additionalProperties: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] } },
    hosts: { type: 'object', additionalProperties: { type: 'string', pattern: '^[\\d.]+$', description: 'an address' } },
  },
  required: ['port'],
  additionalProperties: false,
});

describe('a configuration file', () => {
  it.each([
    ['yaml', 'port: 53\nmode: on\nupstreams: [1.1.1.1]\n', []],
    ['yaml', '# all right\nport: 53\nmoode: off\n', [[3, 1, 'moode', /"moode" is not known here/, /mode/]]],
    ['yaml', 'port: "53"\n', [[1, 7, 'port', /must be a number, not "53"/, /^Write a number/]]],
    [
      'yaml',
      'port: 70000\nmode: maybe\n',
      [
        [1, 7, 'port', /too big/, /65535/],
        [2, 7, 'mode', /cannot be "maybe"/, /./],
      ],
    ],
    ['yaml', '# made\n{% if a %}\nport: 53\n{% endif %}\n', [[2, 1, '', /template, of Jinja or Helm/, /Fill it in/]]],
    ['kea-json', '{\n  {{ port }}\n}', [[2, 1, '', /template/, /./]]],
    ['yaml', 'mode: off\n', [[1, 1, 'port', /missing/, /Add it/]]],
    ['yaml', 'port: 53\nmode: [off\n', [[2, 7, '', /./, /./]]],
    ['json', '{\n\t"port": 53,\n\t"mode": "off"\n}', []],
    ['json', '{\n  // where it listens\n  "port": 53\n}', [[2, 3, '', /is a comment/, /Remove/]]],
    ['json', '{\n  "port": 53,\n}', [[3, 1, '', /comma stands in front of nothing/, /Remove the comma/]]],
    ['json', '{\n  "port": 53\n  "mode": "off"\n}', [[3, 3, '', /no JSON: comma expected/, /commas/]]],
    ['json', '{\n  "port": 53,\n  "port": 54\n}', [[3, 3, '', /"port" is there twice/, /one/]]],
    ['json', '', [[1, 1, '', /no JSON: value expected/, /./]]],
    ['kea-json', '{\n  /* two\n lines */ "port": 53,\n  "mode": "of"\n}', [[4, 11, 'mode', /cannot be "of"/, /./]]],
    ['kea-json', '# Kea\n{\n  "port": 53, # the usual\n  "upstreams": ["#1"] // one\n}', []],
    ['kea-json', '{,"port": 53}', [[1, 2, '', /no JSON/, /./]]],
    ['kea-json', '{"port": 53, "mode" "on"}', [[1, 21, '', /no JSON/, /./]]],
    ['kea-json', '{"port": 53, <?include \'a\'?>}', [[1, 14, '', /no JSON/, /./]]],
    ['yaml', 'port: 53\nlimit: 16 GB\n', [[2, 8, 'limit', /wrong form: "16 GB"/, /^Write a size, such as 16Gi, or none\.$/]]],
    ['yaml', 'port: 53\nlists: {ads: 3}\n', [[2, 14, 'lists.ads', /cannot be "?3/, /^Write text or a list\.$/]]],
    ['yaml', 'port: 53\nhosts: {nas: 3x}\n', [[2, 14, 'hosts.nas', /wrong form: "3x"/, /^Write an address\.$/]]],
    ['properties', 'launch=gsqlite3\nlaunch=bind\n', [[2, 1, 'launch', /line 1 already/, /one/]]],
    ['properties', '# comment\nlocal-port 53\n', [[2, 1, '', /neither name=value/, /name=value/]]],
    ['properties', 'no-shuffle\nlaunch=\nlaunch+=bind\n', []],
    ['kea-json', '{"port": 53, "limit": "1Gi", "upstreams": ["a"], "mode": .5}', []],
    ['kea-json', '{"port": +53}', []],
    ['properties', 'launch=bind\nlaunch+=gsqlite3\n', []],
  ] as const)('in %s is read, and its mistakes are found where they stand: %j', (format, text, expected) => {
    const problems = checkConfig(text, { format }, format === 'properties' ? undefined : schema);
    expect(problems.map(({ line, column, field }) => [line, column, field])).toEqual(
      expected.map(([line, column, field]) => [line, column, field]),
    );
    for (const [index, [, , , message, remedy]] of expected.entries()) {
      expect(problems[index]?.message).toMatch(message);
      expect(problems[index]?.remedy).toMatch(remedy);
    }
  });

  it('is held against conditions that no schema can say, which tell nothing where what they ask for is missing', () => {
    const rules = [
      {
        when: 'config.limits.exists(one, quantity(one.max.cpu) < quantity(one.default.cpu))',
        at: ['limits', 0, 'max', 'cpu'],
        message: 'It is less than the default.',
        remedy: 'Make it more.',
        rule: 'R70',
      },
    ];
    const check = (text: string) => checkConfig(text, { format: 'yaml', rules });
    expect(check('limits:\n  - max: {cpu: 400m}\n    default: {cpu: 1}\n')).toEqual([
      {
        level: 'error',
        line: 2,
        column: 16,
        field: 'limits[0].max.cpu',
        message: 'It is less than the default.',
        remedy: 'Make it more.',
        rule: 'R70',
      },
    ]);
    expect(check('limits:\n  - max: {cpu: 4}\n    default: {cpu: 500m}\n')).toEqual([]);
    expect(check('limits: 3\n')).toEqual([]);
  });

  it('is right for Kea with commas too many, of which it is warned', () => {
    const text = '{\n  "port": 53,\n  "upstreams": ["a", "b",],,\n}\n';
    expect(checkConfig(text, { format: 'kea-json' }, schema).map(({ level, line, column }) => [level, line, column])).toEqual([
      ['warning', 3, 25],
      ['warning', 3, 27],
      ['warning', 3, 28],
    ]);
  });

  it.each([
    ['{<?include "port.json"?>}'],
    ['{<?include "port.json"?> "mode": "on"}'],
    ['{"mode": "on", <?include "port.json"?>}'],
    ['{"mode": "on" <?include "port.json"?>}'],
    ['{"port": <?include "port.json"?>, "upstreams": [<?include "one.json"?>, "a", <?include "two.json"?>]}'],
    ['{"port": 53, "limit": <?include\n  "port.json" ?>}'],
    ['<?include "all.json"?>'],
  ])('is right for Kea with other files in it, which are named as not read: %s', (text) => {
    const { problems, unjudged } = examineConfig(text, { format: 'kea-json' }, schema);
    expect(problems).toEqual([]);
    expect(unjudged[0]?.message).toMatch(/^<\?include\s.*\?> was not read/);
    expect(unjudged).toHaveLength(text.split('<?').length - 1);
  });

  it('is left to Kea where it takes in very many files', () => {
    const text = `{"upstreams": [${Array.from({ length: 20_000 }, () => '<?include "a"?>').join(',')}]}`;
    expect(examineConfig(text, { format: 'kea-json' }, schema)).toEqual({
      problems: [],
      unjudged: [{ line: 1, message: expect.stringMatching(/20000 other files/) }],
    });
  });

  it('what is wrong beside the other files is told all the same', () => {
    const text = '{\n  "port": <?include "port.json"?>,\n  "moode": "on",\n  "upstreams": [1, <?include "one.json"?>]\n}';
    expect(checkConfig(text, { format: 'kea-json' }, schema).map(({ line, field }) => [line, field])).toEqual([
      [3, 'moode'],
      [4, 'upstreams[0]'],
    ]);
  });

  it('takes names in any case where the product does, and places mistakes at what is written', () => {
    const check = (text: string) =>
      checkConfig(text, { format: 'yaml', anyCase: true }, schema).map(({ line, column, field }) => [line, column, field]);
    expect(check('PORT: 53\nMode: on\nUpStreams: [a]\nhosts: {NAS: 1.1.1.1}\n')).toEqual([]);
    expect(check('PORT: 53\nUpStreams:\n  - a\n  - 3\n')).toEqual([[4, 5, 'upstreams[1]']]);
    expect(check('PORT: 53\nUpStraems: []\n')).toEqual([[2, 1, 'UpStraems']]);
  });

  it('may hold names without a value where they count as not there', () => {
    const check = (text: string, emptyIsUnset: boolean) =>
      checkConfig(text, { format: 'yaml', emptyIsUnset }, schema).map(({ field }) => field);
    expect(check('port: 53\nmode:\nhosts:\n', true)).toEqual([]);
    expect(check('port: 53\nhosts: {nas: }\n', true)).toEqual(['hosts.nas']);
    expect(check('port:\nmode: on\n', true)).toEqual(['port']);
    expect(check('port: 53\nmode:\n', false)).toEqual(['mode']);
  });

  it('warns of old names that are taken still', () => {
    const old = JSON.stringify({
      type: 'object',
      properties: {
        all: { type: 'array', items: { type: 'object', properties: { host: { deprecated: true, description: 'Write address.' } } } },
      },
    });
    expect(checkConfig('all:\n  - host: a\n', { format: 'yaml' }, old)).toEqual([
      {
        level: 'warning',
        line: 2,
        column: 5,
        field: 'all[0].host',
        message: '"host" is an old name, which is taken still.',
        remedy: 'Write address.',
      },
    ]);
  });

  it('says what is wrong only as it is deployed as a warning elsewhere', () => {
    const rules = (['error', 'warning', 'deployed'] as const).map((level) => ({
      when: 'config.port == 53',
      at: [],
      message: level,
      remedy: '',
      level,
    }));
    const levels = (elsewhere: boolean) =>
      examineConfig('port: 53\n', { format: 'yaml', rules }, schema, { elsewhere }).problems.map(({ level }) => level);
    expect(levels(false)).toEqual(['error', 'warning', 'error']);
    expect(levels(true)).toEqual(['error', 'warning', 'warning']);
  });

  it('names each entry that a condition holds for, and speaks of it where something else has the wrong form', () => {
    const rules = [
      { when: 'one == "localhost"', at: ['upstreams', '*'], message: 'It asks itself.', remedy: 'Name another.' },
      { when: '!has(config.mode)', at: [], message: 'Nothing says the mode.', remedy: 'Say it.' },
      { when: 'one == "0.0.0.0"', at: ['hosts', '*'], message: 'That is no host.', remedy: 'Name one.' },
    ];
    const check = (text: string) =>
      checkConfig(text, { format: 'yaml', rules }, schema).map(({ line, column, field, message }) => [line, column, field, message]);
    expect(check('port: 53\nmode: on\nupstreams:\n  - a\n  - localhost\n  - localhost\n')).toEqual([
      [5, 5, 'upstreams[1]', 'It asks itself.'],
      [6, 5, 'upstreams[2]', 'It asks itself.'],
    ]);
    // The misspelt mode is told once, and the entry behind the wrong one too.
    expect(check('port: 53\nmod: on\nupstreams: [1, localhost]\nhosts: {a: 0.0.0.0, b: 7x}\n')).toEqual([
      [2, 1, 'mod', expect.stringMatching(/not known/)],
      [3, 13, 'upstreams[0]', expect.stringMatching(/must be text/)],
      [3, 16, 'upstreams[1]', 'It asks itself.'],
      [4, 12, 'hosts.a', 'That is no host.'],
      [4, 24, 'hosts.b', expect.stringMatching(/wrong form/)],
    ]);
    expect(check(`port: 53\nmode: on\nupstreams: [${Array.from({ length: 30 }, () => 'localhost').join(', ')}]\n`)).toHaveLength(20);
  });

  it('is told in words what a value has to look like, where its schema has some', () => {
    const words = JSON.stringify({
      type: 'object',
      properties: {
        models: { type: 'array', items: { type: 'string', pattern: '^\\w+/\\w+$', description: 'provider, a slash, and its model' } },
      },
    });
    expect(checkConfig('models:\n  - llama\n', { format: 'yaml' }, words)).toEqual([
      expect.objectContaining({ line: 2, column: 5, remedy: 'Write provider, a slash, and its model.' }),
    ]);
  });

  it('of unknown form is left to its product', () => {
    expect(checkConfig('{ % [', {})).toEqual([]);
  });
});
