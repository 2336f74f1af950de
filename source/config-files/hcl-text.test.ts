import { expect, it } from 'vitest';
import { readHcl } from './hcl-text.ts';

it('reads settings, blocks with labels, lists, maps and comments, and knows where each stands', () => {
  const { value, problem, position } = readHcl(`# server
ui = true // yes
cluster_addr  = "https://127.0.0.1:8201"
storage "raft" {
  path = "/data \\"x\\" #1"
  retry_join { leader_api_addr = "http://a:8200" }
  retry_join { leader_api_addr = "http://b:8200" }
}
listener "tcp" { address = "[::]:8200" tls_disable = 1 }
/* two
lines */
listener "unix" {
  custom_response_headers { "default" = { "X-A" = ["a", "b",], } }
}
ttl = -1.5
policy = <<-EOF
    path "x" {}
  EOF
`);
  expect(problem).toBeUndefined();
  expect(value).toEqual({
    ui: true,
    cluster_addr: 'https://127.0.0.1:8201',
    storage: [
      { label: 'raft', path: '/data "x" #1', retry_join: [{ leader_api_addr: 'http://a:8200' }, { leader_api_addr: 'http://b:8200' }] },
    ],
    listener: [
      { label: 'tcp', address: '[::]:8200', tls_disable: 1 },
      { label: 'unix', custom_response_headers: [{ default: { 'X-A': ['a', 'b'] } }] },
    ],
    ttl: -1.5,
    policy: '    path "x" {}',
  });
  expect(position(['storage', 0, 'retry_join', 1, 'leader_api_addr'], 'value')).toEqual({ line: 7, column: 34 });
  expect(position(['listener', 1], 'key')).toEqual({ line: 12, column: 1 });
  expect(position(['storage', 0, 'node_id'], 'value')).toEqual({ line: 4, column: 1 });
});

it.each([
  ['a = 1\nstorage "raft" {\n  path = "/x"\n', 2, 16, /never closed/, /Add \}/],
  ['ui = yes\n', 1, 6, /"yes" is not a valid value/, /"yes"/],
  ['ui =\n}\n', 2, 1, /value is missing/, /"" for an empty one/],
  ['ui = true\n}\n', 2, 1, /Expected a name, not "\}"/, /no block is open/],
  ['path = "/data\nnode = "a"\n', 1, 8, /quote is not closed/, /\\"/],
  ["path = '/data'\n", 1, 8, /not a valid value/, /Use " instead/],
  ['path = /data\n', 1, 8, /"\/data" is not a valid value/, /Quote/],
  ['ui: true\n', 1, 3, /":" is not a valid value|Expected =/, /./],
  ['ui true\n', 1, 1, /Expected = or a block/, /ui = value/],
  ['a = 1\na = 2\n', 2, 1, /set twice/, /one of the two/],
  ['a = ["b" "c"]\n', 1, 10, /comma is missing/, /./],
  ['a = ["b",\n', 1, 5, /bracket is never closed/, /Add \]/],
  ['a = <<-END\n  text\n', 1, 5, /heredoc is never closed/, /END on a line of its own/],
  ['/* a\nb = 1\n', 1, 1, /comment is never closed/, /Add \*\//],
])('says what is wrong with %j, and where', (text, line, column, message, remedy) => {
  expect(readHcl(text).problem).toMatchObject({
    line,
    column,
    message: expect.stringMatching(message),
    remedy: expect.stringMatching(remedy),
  });
});

it('takes its time with nothing: deep and long texts are answered at once', () => {
  const before = performance.now();
  expect(readHcl('a = '.padEnd(200_000, '[')).problem?.message).toMatch(/Nested more than/);
  expect(readHcl(`a = "${'\\"'.repeat(100_000)}`).problem?.message).toMatch(/not closed/);
  expect(readHcl('#'.repeat(100_000)).problem).toBeUndefined();
  expect(performance.now() - before).toBeLessThan(2000);
});
