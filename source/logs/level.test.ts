import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type LogLevel, levelNamed, levelOf } from './level.ts';

const stated: [LogLevel, string][] = [
  ['error', '[ERROR] disk is full'],
  ['error', 'level=error msg="no route" peer=3'],
  ['warn', 'time="2026-11-20T10:00:00Z" level=warning msg="decision expired"'],
  ['info', 'ts=2026-11-20T10:00:00Z caller=main.go:12 level="info" msg=ready'],
  ['error', '{"time":"2026-11-20T10:00:00Z","level":"error","msg":"boom"}'],
  ['error', '{"ts":1732000000.12, "severity": "ERROR", "message": "boom"}'],
  ['error', '{"log.level":"ERROR","message":"boom"}'],
  ['warn', '{"@t":"2026-11-20T10:00:00Z","@mt":"late","@l":"Warning"}'],
  ['fatal', '{"level":60,"time":1732000000000,"pid":1,"msg":"gone"}'],
  ['error', '{"message":"boom","context":{},"level":400,"level_name":"ERROR"}'],
  ['debug', '{"level":20,"msg":"tick"}'],
  ['warn', '{"t":{"$date":"2026-11-20T10:00:00.000+00:00"},"s":"W",  "c":"NETWORK","id":1,"msg":"slow"}'],
  ['error', 'E1120 12:00:00.123456       1 reflector.go:138] watch failed'],
  ['info', 'I1120 12:00:00.123456       1 server.go:42] serving'],
  ['warn', 'WARNING:root:low on space'],
  ['info', 'INFO:     172.18.0.1:51234 - "GET / HTTP/1.1" 200 OK'],
  ['error', '2026/11/20 10:00:00 [error] 29#29: *1 open() "/x" failed (2: No such file or directory)'],
  ['fatal', 'nginx: [emerg] bind() to 0.0.0.0:80 failed'],
  ['error', '2026-11-20 10:00:00.123 UTC [71] ERROR:  relation "users" does not exist at character 15'],
  ['fatal', '2026-11-20 10:00:00.123 UTC [71] FATAL:  password authentication failed'],
  ['info', '2026-11-20 10:00:00.123 UTC [1] LOG:  database system is ready'],
  ['warn', '2026-11-20 10:00:00,123 WARN  [org.keycloak.services] (main) KC-SERVICES0001: slow'],
  ['info', '2026-11-20T10:00:00.000Z  INFO 1 --- [           main] c.e.Application : Started'],
  ['debug', '10:00:00.123 [main] DEBUG c.e.Application - tick'],
  ['info', '2026-11-20T10:00:00.000Z [INFO]  core: vault is sealed'],
  ['warn', '[2026-11-20T10:00:00,000][WARN ][o.e.n.Node] [n1] slow'],
  ['info', '[2026-11-20 10:00:00.000][vaultwarden::api][INFO] Listening'],
  ['error', '[Fri Nov 20 10:00:00.000000 2026] [core:error] [pid 7:tid 1] AH00126: Invalid URI'],
  ['warn', '[10:00:00] [Server thread/WARN]: Cannot keep up!'],
  ['info', '[10:00:00 INF] Bound to port'],
  ['info', '[10:00:00] [INF] [1] Main: Jellyfin version'],
  ['error', '2026-11-20T10:00:00Z ERR failed to fetch error=timeout'],
  ['fatal', '2026-11-20T10:00:00Z FTL cannot open database'],
  ['error', 'fail: Microsoft.AspNetCore.Server[13] Connection id "x"'],
  ['info', '2026-11-20 10:00:00 0 [Note] mariadbd: ready for connections.'],
  ['info', '2026-11-20 10:00:00,000 - synapse.http.server - 123 - INFO - GET-1 - Processed'],
  ['warn', '2026-11-20 10:00:00 | WARNING | app | low'],
  ['warn', '2026-11-20 10:00:00.123 WARNING (MainThread) [homeassistant.helpers] slow'],
  ['warn', '1:M 20 Nov 2026 10:00:00.000 # WARNING Memory overcommit must be enabled!'],
  ['info', '1:M 20 Nov 2026 10:00:00.000 * Ready to accept connections tcp'],
  ['error', '<11>1 2026-11-20T10:00:00Z host app - - - broken'],
  ['fatal', 'panic: runtime error: index out of range [3] with length 3'],
  ['error', 'Error: connect ECONNREFUSED 127.0.0.1:5432'],
  ['error', '10.0.0.7 - - [20/Nov/2026:10:00:00 +0000] "GET /api HTTP/1.1" 502 157 "-" "curl/8"'],
  ['warn', '10.0.0.7 - bob [20/Nov/2026:10:00:00 +0000] "POST /login HTTP/2" 401 12'],
  ['trace', 'TRACE entering'],
];
test.each(stated)('%s: %s', (level, line) => {
  expect(levelOf(line)).toBe(level);
});

test.each([
  'an error occurred while nobody looked',
  'error handling is enabled',
  'Information about your account',
  'retrying after error: timeout',
  'Warning signs were seen',
  'GET /error 200',
  'Fine, thanks',
  'LOG rotated',
  'GET ERROR page',
  'user set level to error',
  'msg="the client said level=error here" code=1',
  '{"user":{"name":"level"},"msg":"ERROR in the text"}',
  '{"text":"\\"level\\":\\"error\\""}',
  '{"level":"audit","msg":"x"}',
  '{"user":{"level":3}}',
  '10.0.0.7 - - [20/Nov/2026:10:00:00 +0000] "GET /api HTTP/1.1" 200 157',
  'TypeError: x is not a function',
  '    at Object.error (/app/index.js:1:1)',
  '<999>1 x',
  '',
  '[',
  '"quoted" ERROR',
])('no level: %s', (line) => {
  expect(levelOf(line)).toBeUndefined();
});

test('words and numbers that are no level have none, inherited names included', () => {
  for (const name of ['constructor', '__proto__', 'toString', '', 'audit', 35, Number.NaN, null, undefined, {}])
    expect(levelNamed(name)).toBeUndefined();
  expect(levelNamed('WARNING ')).toBe('warn');
});

test('any line is answered, and a long one as fast as a short one', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'[](){}|-: "=<>,TZerorERORlvINFO0129.\\'), maxLength: 300 }), (line) => {
      levelOf(line);
    }),
    { numRuns: 2_000 },
  );
  const startedMs = performance.now();
  for (const piece of ['[', '{"level":', ' level=x', '"', '(', 'a.b.', '- ', '"GET ', 'ERROR-', '2026-', '{"level":7,']) {
    levelOf(piece.repeat(90_000 / piece.length));
    levelOf(`{"GET ${piece.repeat(90_000 / piece.length)} HTTP/`);
  }
  expect(performance.now() - startedMs).toBeLessThan(1_000);
});
