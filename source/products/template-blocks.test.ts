import { describe, expect, it } from 'vitest';
import { examineConfig } from './config-check.ts';

const schema = JSON.stringify({
  type: 'object',
  properties: {
    routers: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        properties: {
          rule: { type: 'string' },
          weight: { type: 'integer' },
          mode: { enum: ['on', 'off'] },
          tags: { type: 'array', items: { type: 'string' } },
        },
        required: ['rule'],
        additionalProperties: false,
      },
    },
    names: { type: 'array', items: { type: 'string' } },
  },
  additionalProperties: false,
});
const rules = [{ when: '!(one in config.names)', at: ['routers', '*', 'tags', '*'], message: 'Nobody knows it.', remedy: 'Name it.' }];
const check = (text: string, format: 'yaml' | 'json' = 'yaml') => {
  const { problems, unjudged } = examineConfig(text, { format, templates: 'go', rules }, schema);
  return {
    problems: problems.map(({ line, column, field, message }) => `${line}:${column} ${field} ${message}`),
    unjudged: unjudged.map(({ line }) => line),
  };
};

describe('a file that its program fills in first', () => {
  it.each([
    ['routers:\n  a:\n    rule: x\n    weight: {{ env "WEIGHT" }}\n', [4]],
    ['routers:\n  a: {rule: "Host(`{{ env "NAME" }}`)", weight: {{ .w }}}\n', [2]],
    ['routers:\n  {{ env "NAME" }}:\n    rule: x\n', [2]],
    ['routers:\n  a-{{ env "NAME" }}-b: {rule: x}\n', [2]],
    ['routers:\n{{ range $i, $e := until 3 }}\n  a{{ $i }}:\n    rule: x\n    tags: [t{{ $i }}]\n{{ end }}\n', [2]],
    ['routers:\n  {{- if env "X" }}\n  a: {rule: x}\n  {{- else }}\n  a: {rule: y}\n  {{- end }}\n', [2]],
    ['{{ if env "X" }}\nrouters: {a: {rule: x}}\n{{ else if env "Y" }}\nrouters: {a: {rule: y}}\n{{ end }}\n', [1]],
    ['{{ $name := env "NAME" }}\nrouters:\n  a:\n    rule: {{ if $name }}{{ $name }}{{ else }}x{{ end }}\n', [1]],
    ['{{/* a word\n about it */}}\nrouters: {a: {rule: x}}\n', [1]],
    ['routers:\n  a:\n    {{ if .x }}\n    rule: x\n    {{ end }}\n', [3]],
    // In quotes and comments there is nothing that YAML would stumble over.
    ['routers:\n  a: {rule: \'{{ env "X" }}\', mode: \'{{ env "Y" }}\'}\n  # {{ if x }}\n  # {{ end }}\n', []],
    ['routers: {a: {rule: x, weight: 3}}\n', []],
    // Two parts that are YAML only together.
    ['routers:\n  a: {rule: x{{ if .y }}, weight: 1\n  {{ end }}}\n', [2]],
  ])('is right as far as it can be judged, and it is said where it cannot: %j', (text, unjudged) => {
    expect(check(text)).toEqual({ problems: [], unjudged });
  });

  it('what stands between the blocks is checked', () => {
    expect(check('routers:\n{{ range .x }}\n  {{ . }}:\n    rule: x\n    weigth: 3\n  b:\n    rule: 3\n{{ end }}\n').problems).toEqual([
      expect.stringMatching(/^5:5 routers\.\{\{\.\.\.\}\}\.weigth "weigth" is not known here/),
      expect.stringMatching(/^7:11 routers\.b\.rule "rule" must be text/),
    ]);
    expect(check('names: [a]\nrouters:\n  a: {rule: x, weight: {{ .w }}, tags: [a, b, {{ .t }}]}\n').problems).toEqual([
      expect.stringMatching(/routers\.a\.tags\[1\] Nobody knows it/),
    ]);
    expect(check('{"names": [{{ .a }}, 3]}', 'json').problems).toEqual([expect.stringMatching(/^1:22 names\[1\] .*must be text/)]);
  });

  it.each([
    ['routers:\n  a: {rule: {{ .x }\n', /^2:13 .*never closed/],
    ['{{ range .x }}\nnames: [a]\n', /^1:1 .*range.* has no \{\{ end \}\}/],
    ['names: [a]\n{{ end }}\n', /^2:1 .*without a block/],
    ['names: [a]\n# {{ else }}\n', /^2:3 .*without a block/],
  ])('what no template is, is told: %j', (text, said) => {
    expect(check(text)).toEqual({ problems: [expect.stringMatching(said)], unjudged: [] });
  });
});
