import { describe, expect, it } from 'vitest';
import { YamlDocument } from './document.ts';

describe('aliases of a YAML document', () => {
  it('are written out with what they name, at its place', () => {
    const document = new YamlDocument(`x-env: &env
  TZ: \${TZ:-Etc/UTC}
a: *env
b: [*env, 1]
`);
    expect(document.problems).toEqual([]);
    const env = { TZ: '${TZ:-Etc/UTC}' };
    expect(document.value).toEqual({ 'x-env': env, a: env, b: [env, 1] });
    expect([...document.scalars()].map(({ path }) => [path.join('.'), document.position(path).line])).toEqual([
      ['x-env.TZ', 2],
      ['a.TZ', 2],
      ['b.0.TZ', 2],
    ]);
    expect(document.position(['a', 'TZ'])).toEqual({ line: 2, column: 7 });
  });

  it('merge maps: the map itself before all, then who is named first', () => {
    const document = new YamlDocument(`x-a: &a {r: 1, l: {m: 2}}
x-b: &b {<<: *a, r: 3, z: 1}
one:
  <<: *a
  r: 9
two:
  k: 1
  <<: [*b, *a]
three: {<<: {k: 1}}
text: {"<<": 1}
`);
    expect(document.problems).toEqual([]);
    expect(document.value).toEqual({
      'x-a': { r: 1, l: { m: 2 } },
      'x-b': { r: 3, l: { m: 2 }, z: 1 },
      one: { r: 9, l: { m: 2 } },
      two: { k: 1, r: 3, l: { m: 2 }, z: 1 },
      three: { k: 1 },
      text: { '<<': 1 },
    });
    expect(document.position(['one', 'l', 'm'])).toEqual({ line: 1, column: 23 });
  });

  it.each([
    ['a: 1\nb: *gone', 2, 4, 'Unknown anchor "gone".', /&gone/],
    ['a: &a\n  b: *a', 2, 6, 'The anchor "a" contains itself.', /Remove the alias/],
    ['a: &a [1]\nb:\n  <<: *a', 3, 7, '"<<" requires a map.', /list of maps/],
    ['b:\n  <<: 5', 2, 7, '"<<" requires a map.', /list of maps/],
    ['a: &a {x: 1}\nb:\n  <<: *a\n  <<: *a', 4, 3, '"<<" is set twice.', /<<: \[\*one, \*other\]/],
  ])('are refused with their place in %j', (text, line, column, message, remedy) => {
    const { problems } = new YamlDocument(text);
    expect(problems).toMatchObject([{ line, column, message }]);
    expect(problems[0]?.remedy).toMatch(remedy);
  });

  it('refuses what would grow without end', () => {
    const lines = Array.from(
      { length: 12 },
      (_, at) =>
        `a${at}: &a${at} [${Array(9)
          .fill(at === 0 ? 'x' : `*a${at - 1}`)
          .join(', ')}]`,
    );
    expect(new YamlDocument(lines.join('\n')).problems).toHaveLength(1);
  });
});
