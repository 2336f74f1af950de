import { describe, expect, it } from 'vitest';
import { checkConfig, toldProblems } from './config-check.ts';

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
    ['yaml', 'mode: off\n', [[1, 1, 'port', /missing/, /Add it/]]],
    ['yaml', 'port: 53\nmode: [off\n', [[3, 1, '', /./, /./]]],
    ['json', '{\n  // where it listens\n  "port": 53,\n  "mode": "off"\n}', []],
    ['json', '{\n  "port": 53\n  "mode": "off"\n}', [[3, 3, '', /no JSON: comma expected/, /commas/]]],
    ['json', '{\n  /* two\n lines */ "port": 53,\n  "mode": "of"\n}', [[4, 11, 'mode', /cannot be "of"/, /./]]],
    ['json', '# Kea\n{\n  "port": 53, # the usual\n  "upstreams": ["#1"] // one\n}', []],
    ['yaml', 'port: 53\nlimit: 16 GB\n', [[2, 8, 'limit', /wrong form: "16 GB"/, /^Write a size, such as 16Gi, or none\.$/]]],
    ['yaml', 'port: 53\nlists: {ads: 3}\n', [[2, 14, 'lists.ads', /cannot be "?3/, /^Write text or a list\.$/]]],
    ['yaml', 'port: 53\nhosts: {nas: 3x}\n', [[2, 14, 'hosts.nas', /wrong form: "3x"/, /^Write an address\.$/]]],
    ['properties', 'launch=gsqlite3\nlaunch=bind\n', [[2, 1, 'launch', /line 1 already/, /one/]]],
    ['properties', '# comment\nlocal-port 53\n', [[2, 1, '', /neither name=value/, /name=value/]]],
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

  it("is refused in the product's own words, with the line that it names", () => {
    const output =
      '[NOTICE] config: haproxy 2.6\n[ALERT] (8) : config : parsing [/etc/haproxy.cfg:12] : unknown keyword \x1b[31mbinb\x1b[0m\n';
    expect(toldProblems(output, String.raw`parsing \[[^:]+:(?P<line>\d+)\] : (?P<message>.*)`)).toEqual([
      { level: 'error', line: 12, column: 1, field: '', message: expect.stringMatching(/^unknown keyword .*binb/), remedy: '' },
    ]);
    expect(toldProblems('nothing of it is understood\n', 'line (?P<line>\\d+)')).toEqual([
      { level: 'error', line: 1, column: 1, field: '', message: 'nothing of it is understood', remedy: '' },
    ]);
    expect(toldProblems('', undefined)[0]?.message).toBe('It was refused without a word.');
  });
});
