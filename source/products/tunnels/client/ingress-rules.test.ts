import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readIngress, ruleFor } from './ingress-rules.ts';

const file = (ingress: string) =>
  `tunnel: 6ff42ae2-765d-4adf-8112-31c55c1551ef\ncredentials-file: /etc/cloudflared/credentials.json\ningress:\n${ingress}`;
const good = file('  - hostname: app.example.com\n    service: http://app:8080\n  - service: http_status:404\n');
const problems = (text: string) =>
  readIngress(text).problems.map(({ level, line, column, field, message }) => [`${line}:${column} ${field}`, level, message] as const);

test('rules in order have no problems', () => {
  expect(problems(good)).toEqual([]);
  expect(readIngress(good).rules).toMatchObject([
    { hostname: 'app.example.com', service: 'http://app:8080', line: 4 },
    { hostname: '', service: 'http_status:404' },
  ]);
});

describe('what is wrong, with line and column', () => {
  test.each([
    [
      'no catch-all at the end (R24)',
      '  - hostname: a.example.com\n    service: http://a:80\n',
      ['4:5 ingress[0]', 'error', /last rule must match all requests/],
    ],
    [
      'a catch-all in the middle (R24)',
      '  - service: http://a:80\n  - hostname: b.example.com\n    service: http://b:80\n  - service: http_status:404\n',
      ['4:5 ingress[0]', 'error', /the rules after it are never reached/],
    ],
    [
      'a catch-all that leads somewhere (R24)',
      '  - service: http://a:80\n',
      ['4:14 ingress[0].service', 'warning', /regardless of the host name/],
    ],
    [
      'a path at the end is none (R24)',
      '  - path: /x\n    service: http_status:404\n',
      ['4:5 ingress[0]', 'error', /neither hostname nor path/],
    ],
    [
      'a port in a name',
      '  - hostname: a.example.com:443\n    service: http://a:80\n  - service: http_status:404\n',
      ['4:15 ingress[0].hostname', 'error', /cannot have a port/],
    ],
    [
      'a star in the middle',
      '  - hostname: a.*.example.com\n    service: http://a:80\n  - service: http_status:404\n',
      ['4:15 ingress[0].hostname', 'error', /first part/],
    ],
    [
      'a path that Go does not understand',
      '  - hostname: a.example.com\n    path: "(?=x)"\n    service: http://a:80\n  - service: http_status:404\n',
      ['5:11 ingress[0].path', 'error', /regular expression in Go syntax/],
    ],
    ['no service', '  - hostname: a.example.com\n  - service: http_status:404\n', ['4:5 ingress[0]', 'error', /no service/]],
    [
      'a service without a scheme',
      '  - hostname: a.example.com\n    service: app:8080\n  - service: http_status:404\n',
      ['5:14 ingress[0].service', 'error', /must be an address/],
    ],
    [
      'a service with a path',
      '  - hostname: a.example.com\n    service: http://app:8080/\n  - service: http_status:404\n',
      ['5:14 ingress[0].service', 'error', /must not contain a path/],
    ],
    ['a status that is none', '  - service: http_status:4o4\n', ['4:14 ingress[0].service', 'error', /Unknown HTTP status "4o4"/]],
    [
      'the container itself (R14)',
      '  - hostname: a.example.com\n    service: http://localhost:80\n  - service: http_status:404\n',
      ['5:14 ingress[0].service', 'warning', /container itself/],
    ],
    [
      'a misspelt name',
      '  - hostnme: a.example.com\n    service: http://a:80\n  - service: http_status:404\n',
      ['4:14 ingress[0].hostnme', 'warning', /Unknown key "hostnme"/],
    ],
    [
      'never reached',
      '  - hostname: "*.example.com"\n    service: http://a:80\n  - hostname: b.example.com\n    service: http://b:80\n  - service: http_status:404\n',
      ['6:5 ingress[1]', 'warning', /rule in line 4 matches the same/],
    ],
  ] as const)('%s', (_, ingress, expected) => {
    const [position, level, message] = expected;
    expect(problems(file(ingress))).toContainEqual([position, level, expect.stringMatching(message)]);
  });

  test.each(['http://localhost.evil:80', 'http://127.evil:80', 'http://localhost-x:80'])(
    '%s is not the container itself, whatever it begins with (R14)',
    (service) => {
      expect(problems(file(`  - hostname: a.example.com\n    service: ${service}\n  - service: http_status:404\n`))).toEqual([]);
    },
  );

  test.each([
    ['nothing in it', '', /no configuration/],
    ['no rules', 'tunnel: x\ncredentials-file: /y\n', /answered with 503/],
    ['broken YAML', 'ingress:\n  - hostname: "a\n', /./],
    ['a token beside a tunnel id (R21)', `token: abc\n${good}`, /mutually exclusive/],
    ['credentials without a tunnel (R21)', good.replace(/^tunnel.*\n/, ''), /credentials but no tunnel/],
  ])('%s', (_, text, message) => {
    expect(
      readIngress(text)
        .problems.map((problem) => problem.message)
        .join(' '),
    ).toMatch(message);
  });
});

describe('which rule an address gets', () => {
  const { rules } = readIngress(
    file(
      [
        '  - {hostname: static.example.com, path: "\\\\.(png|css)$", service: "http://static:80"}',
        '  - {hostname: "*.example.com", service: "http://wild:80"}',
        '  - {path: ^/api, service: "http://api:80"}',
        '  - {hostname: bücher.example.org, service: "http://books:80"}',
        '  - {service: "http_status:404"}',
      ].join('\n'),
    ),
  );
  test.each([
    ['https://static.example.com/a.png', 0],
    ['https://static.example.com/a.html', 1],
    ['https://a.b.example.com', 1],
    ['https://example.com', 4],
    ['https://badexample.com', 4],
    ['https://other.org/api/v1', 2],
    ['https://other.org/x/api', 4],
    ['other.org/api', 2],
    ['https://xn--bcher-kva.example.org', 3],
    ['https://STATIC.example.com:8443/a.css?x=1', 0],
    ['http://[', undefined],
  ])('%s: %s', (address, at) => {
    expect(ruleFor(rules, address)).toBe(at);
  });
});

test('any text is read, and every place is in it', () => {
  const piece = fc.oneof(
    fc.constantFrom('ingress:', '\n', '  - ', 'hostname: ', 'service: ', '*.a', 'http_status:', '404', ': ', '"', '{', '[', '&a ', '*a'),
    fc.string({ maxLength: 6 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const text = pieces.join('');
      const { rules, problems: found } = readIngress(text);
      for (const { line, column } of found) {
        expect(line).toBeGreaterThanOrEqual(1);
        expect(line).toBeLessThanOrEqual(text.split('\n').length);
        expect(column).toBeGreaterThanOrEqual(1);
      }
      ruleFor(rules, 'https://a.example.com/x');
    }),
  );
});
