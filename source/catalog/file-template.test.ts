import { describe, expect, it } from 'vitest';
import { fillFile, templateVariables } from './file-template.ts';

describe('a file that is filled in', () => {
  it('takes settings, leaves out what is not set, and goes through lists', () => {
    const text =
      'zone {{ ZONE }}\n{%- if MTU != "" %}\nmtu {{ MTU }}\n{%- endif %}\n{%- assign servers = SERVERS | split: "," %}\n{%- for server in servers %}\nserver {{ server | strip }}\n{%- endfor %}\n';
    expect(fillFile(text, { ZONE: 'home.lan', MTU: '', SERVERS: '1.1.1.1, 9.9.9.9' })).toEqual({
      text: 'zone home.lan\nserver 1.1.1.1\nserver 9.9.9.9\n',
    });
    expect(templateVariables(text)).toEqual({ names: ['ZONE', 'MTU', 'SERVERS'] });
  });

  it('writes a text so that YAML and JSON read it to the letter', () => {
    expect(fillFile('name: {{ NAME | json }}', { NAME: 'a: "b" # {{ c }}' })).toEqual({ text: String.raw`name: "a: \"b\" # {{ c }}"` });
  });

  it.each([
    ['an unknown name', 'a\nb {{ ZOME }}', { line: 2, column: 6, message: 'undefined variable: ZOME' }],
    ['an unknown filter', '{{ ZONE | shout }}', { line: 1, column: 1, message: 'undefined filter: shout' }],
    ['an open tag', 'a\n{% if ZONE %}', { line: 2, column: 1, message: 'tag {% if ZONE %} not closed' }],
    ['another file', '{% include "/etc/passwd" %}', { line: 1, column: 1, message: expect.stringMatching(/ENOENT/) }],
  ])('%s is named with its line', (_, text, problem) => {
    expect(fillFile(text, { ZONE: 'home.lan' })).toEqual({ problem });
  });

  it('a template that goes on for ever is given up', () => {
    expect(fillFile('{% for i in (1..100000000) %}{{ i }}{% endfor %}', {})).toMatchObject({ problem: { line: 1 } });
  });
});
