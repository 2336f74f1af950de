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
    ['yaml', '# all right\nport: 53\nmoode: off\n', [[3, 1, 'moode', /Unknown key "moode"/, /mode/]]],
    ['yaml', 'port: "53"\n', [[1, 7, 'port', /must be a number, not "53"/, /^Use a number/]]],
    [
      'yaml',
      'port: 70000\nmode: maybe\n',
      [
        [1, 7, 'port', /too large/, /65535/],
        [2, 7, 'mode', /cannot be "maybe"/, /./],
      ],
    ],
    ['yaml', '# made\n{% if a %}\nport: 53\n{% endif %}\n', [[2, 1, '', /template \(Jinja or Helm\)/, /Render it/]]],
    ['kea-json', '{\n  {{ port }}\n}', [[2, 1, '', /template/, /./]]],
    ['yaml', 'mode: off\n', [[1, 1, 'port', /missing/, /Add it/]]],
    ['yaml', 'port: 53\nmode: [off\n', [[2, 7, '', /./, /./]]],
    ['json', '{\n\t"port": 53,\n\t"mode": "off"\n}', []],
    ['json', '{\n  // where it listens\n  "port": 53\n}', [[2, 3, '', /Comments are not allowed/, /Remove/]]],
    ['json', '{\n  "port": 53,\n}', [[3, 1, '', /Trailing comma/, /Remove the comma/]]],
    ['json', '{\n  "port": 53\n  "mode": "off"\n}', [[3, 3, '', /Not valid JSON: comma expected/, /commas/]]],
    ['json', '{\n  "port": 53,\n  "port": 54\n}', [[3, 3, '', /"port" is set twice/, /one/]]],
    ['json', '', [[1, 1, '', /Not valid JSON: value expected/, /./]]],
    ['kea-json', '{\n  /* two\n lines */ "port": 53,\n  "mode": "of"\n}', [[4, 11, 'mode', /cannot be "of"/, /./]]],
    ['kea-json', '# Kea\n{\n  "port": 53, # the usual\n  "upstreams": ["#1"] // one\n}', []],
    ['kea-json', '{,"port": 53}', [[1, 2, '', /Not valid JSON/, /./]]],
    ['kea-json', '{"port": 53, "mode" "on"}', [[1, 21, '', /Not valid JSON/, /./]]],
    ['kea-json', '{"port": 53, <?include \'a\'?>}', [[1, 14, '', /Not valid JSON/, /./]]],
    ['yaml', 'port: 53\nlimit: 16 GB\n', [[2, 8, 'limit', /is invalid: "16 GB"/, /^Use a size, such as 16Gi, or none\.$/]]],
    ['yaml', 'port: 53\nlists: {ads: 3}\n', [[2, 14, 'lists.ads', /cannot be "?3/, /^Use text or a list\.$/]]],
    ['yaml', 'port: 53\nhosts: {nas: 3x}\n', [[2, 14, 'hosts.nas', /is invalid: "3x"/, /^Use an address\.$/]]],
    ['properties', 'launch=gsqlite3\nlaunch=bind\n', [[2, 1, 'launch', /already set on line 1/, /one/]]],
    ['properties', '# comment\nlocal-port 53\n', [[2, 1, '', /Expected name=value/, /name=value/]]],
    ['properties', 'no-shuffle\nlaunch=\nlaunch+=bind\n', []],
    ['kea-json', '{"limit": "1Gi", "upstreams": ["a"], "port": 53.}', []],
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
        id: 'default-above-maximum',
        when: 'config.limits.exists(one, quantity(one.max.cpu) < quantity(one.default.cpu))',
        at: ['limits', 0, 'max', 'cpu'],
        message: 'It is less than the default.',
        remedy: 'Make it more.',
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
        rule: 'default-above-maximum',
      },
    ]);
    expect(check('limits:\n  - max: {cpu: 4}\n    default: {cpu: 500m}\n')).toEqual([]);
    expect(check('limits: 3\n')).toEqual([]);
  });

  it('is right for Kea with commas too many', () => {
    expect(checkConfig('{\n  "port": 53,\n  "upstreams": ["a", "b",],,\n}\n', { format: 'kea-json' }, schema)).toEqual([]);
  });

  it.each(['{\n<?include "port.json"?>}', '{"port": 1, # one\n "limit": <?include\n  "port.json" ?>}', '\n<?include "all.json"?>'])(
    'is left to Kea where it takes in other files: %j',
    (text) => {
      expect(examineConfig(text, { format: 'kea-json' }, schema)).toMatchObject({
        problems: [],
        unjudged: [{ line: 2, message: expect.stringMatching(/only Kea itself can check it/) }],
      });
    },
  );

  it('takes names in any case where the product does, and places mistakes at what is written', () => {
    const check = (text: string) =>
      checkConfig(text, { format: 'yaml', anyCase: true }, schema).map(({ line, column, field }) => [line, column, field]);
    expect(check('PORT: 53\nMode: on\nUpStreams: [a]\nhosts: {NAS: 1.1.1.1}\n')).toEqual([]);
    expect(check('PORT: 53\nUpStreams:\n  - a\n  - 3\n')).toEqual([[4, 5, 'upstreams[1]']]);
    expect(check('PORT: 53\nUpStraems: []\n')).toEqual([[2, 1, 'UpStraems']]);
  });

  it('places a missing value at its empty name where that counts as not there', () => {
    const file = { format: 'yaml', anyCase: true, emptyIsUnset: true } as const;
    expect(checkConfig('mode: on\nPORT:\n', file, schema)).toMatchObject([{ line: 2, field: 'port' }]);
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
        message: '"host" is deprecated, but still accepted.',
        remedy: 'Write address.',
      },
    ]);
  });

  it('says what is wrong only as it is deployed as a warning elsewhere', () => {
    const rules = (['error', 'warning', 'deployed'] as const).map((level) => ({
      id: level,
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
      { id: 'own-address', when: 'one == "localhost"', at: ['upstreams', '*'], message: 'It asks itself.', remedy: 'Name another.' },
      { id: 'no-mode', when: '!has(config.mode)', at: [], message: 'Nothing says the mode.', remedy: 'Say it.' },
      { id: 'no-host', when: 'one == "0.0.0.0"', at: ['hosts', '*'], message: 'That is no host.', remedy: 'Name one.' },
    ];
    const check = (text: string) =>
      checkConfig(text, { format: 'yaml', rules }, schema).map(({ line, column, field, message }) => [line, column, field, message]);
    expect(check('port: 53\nmode: on\nupstreams:\n  - a\n  - localhost\n  - localhost\n')).toEqual([
      [5, 5, 'upstreams[1]', 'It asks itself.'],
      [6, 5, 'upstreams[2]', 'It asks itself.'],
    ]);
    // The misspelt mode is reported once, and the entry after the wrong one too.
    expect(check('port: 53\nmod: on\nupstreams: [1, localhost]\nhosts: {a: 0.0.0.0, b: 7x}\n')).toEqual([
      [2, 1, 'mod', expect.stringMatching(/Unknown key/)],
      [3, 13, 'upstreams[0]', expect.stringMatching(/must be text/)],
      [3, 16, 'upstreams[1]', 'It asks itself.'],
      [4, 12, 'hosts.a', 'That is no host.'],
      [4, 24, 'hosts.b', expect.stringMatching(/is invalid/)],
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
      expect.objectContaining({ line: 2, column: 5, remedy: 'Use provider, a slash, and its model.' }),
    ]);
  });

  it('of unknown form is left to its product', () => {
    expect(checkConfig('{ % [', {})).toEqual([]);
  });
});

describe('a file that its program fills in first', () => {
  const rules = [
    { id: 'unknown-name', when: '!(one in config.names)', at: ['tags', '*'], message: 'Nobody knows it.', remedy: 'Name it.' },
  ];
  const known = JSON.stringify({
    type: 'object',
    properties: {
      rule: { type: 'string' },
      mode: { enum: ['on', 'off'] },
      names: { type: 'array', items: { type: 'string' } },
      tags: { type: 'array', items: { type: 'string' } },
    },
    required: ['rule'],
    additionalProperties: false,
  });
  const examine = (text: string, format: 'yaml' | 'json' = 'yaml') => examineConfig(text, { format, templates: 'go', rules }, known);

  it.each([
    ['rule: {{ env "RULE" }}\n', 1],
    ['rule: x\n{{ range .x }}\n  a: 1\n{{ end }}\n', 2],
    ['rule: "Host(`{{ env "NAME" }}`)"\n', 1],
    ['rule: x\ntags: [a, {{ .t }}]\n', 2],
  ])('is left to the program where it is another text before: %j', (text, line) => {
    expect(examine(text)).toMatchObject({
      isRead: false,
      problems: [],
      unjudged: [{ line, message: expect.stringMatching(/only the product itself/) }],
    });
  });

  it('is judged but for what is filled into quotes and comments', () => {
    expect(examine('rule: \'{{ env "X" }}\'\nmode: "{{ .mode }}"\nnames: [a]\ntags: [a, "{{ .t }}"]\n# {{ end }}\n')).toEqual({
      problems: [],
      unjudged: [],
      isRead: true,
    });
    expect(examine('{"rule": "{{ .x }}", "names": ["a", 3]}', 'json').problems).toMatchObject([{ field: 'names[1]' }]);
    expect(examine("rule: '{{ .x }}'\nnames: [a]\ntags: [b]\n").problems).toMatchObject([{ line: 3, field: 'tags[0]' }]);
  });
});
