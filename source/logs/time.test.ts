import { expect, test } from 'vitest';
import { ownTime } from './time.ts';

const timeMs = Date.UTC(2026, 10, 20, 10, 0, 0, 500);

function without(text: string, at: number | undefined = timeMs): string {
  const range = ownTime(text, at);
  return range ? text.slice(0, range.start) + text.slice(range.end) : text;
}

test.each([
  ['2026-11-20T10:00:00Z started', 'started'],
  ['2026-11-20T10:00:00.123456789Z\tINFO\tstarted', 'INFO\tstarted'],
  ['2026-11-20T11:00:00.5+01:00  INFO 1 --- [main] started', 'INFO 1 --- [main] started'],
  ['2026-11-20 10:00:00.777 UTC [27] LOG:  checkpoint', '[27] LOG:  checkpoint'],
  ['2026-11-20 11:00:00.777 CET [27] LOG:  checkpoint', '[27] LOG:  checkpoint'],
  ['2026-11-20 10:00:00,458 WARN  [org.keycloak] slow', 'WARN  [org.keycloak] slow'],
  ['2026-11-20 10:00:00,458 - root - INFO - ready', 'root - INFO - ready'],
  ['2026-11-20 10:00:00 | INFO | ready', 'INFO | ready'],
  ['2026/11/20 10:00:00 listening', 'listening'],
  ['2026/11/20 10:00:00 [error] 12#12: *1 connect() failed', '[error] 12#12: *1 connect() failed'],
  ['[2026-11-20 10:00:00.123 +00:00] [INFO] ready', '[INFO] ready'],
  ['[2026-11-20T10:00:00Z] ready', 'ready'],
  ['[10:00:00] [INF] [1] Main: ready', '[INF] [1] Main: ready'],
  ['15:30:00.123 ready', 'ready'],
  ['I1120 10:00:00.123456       1 main.go:12] ready', 'I 1 main.go:12] ready'],
  ['Nov 20 10:00:01 host sshd[1]: ready', 'host sshd[1]: ready'],
  ['[Fri Nov 20 10:00:00.123456 2026] [core:notice] ready', '[core:notice] ready'],
  ['192.0.2.1 - - [20/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200', '192.0.2.1 - - "GET / HTTP/1.1" 200'],
  ['[2026-11-20 10:00:00.059][request][INFO] GET /', '[request][INFO] GET /'],
  ['INFO  192.0.2.1 - [Fri, 20 Nov 2026 10:00:00 UTC] "GET /v1 HTTP/1.1 200"', 'INFO  192.0.2.1 - "GET /v1 HTTP/1.1 200"'],
  ['[GIN] 2026/11/20 - 10:00:00 | 200 |    1ms', '[GIN] 200 |    1ms'],
  ['OSPD[7] 2026-11-20 10:00:00,993: INFO: ready', 'OSPD[7] INFO: ready'],
  ['md manage:   INFO:2026-11-20 10h00.00 UTC:123: ready', 'md manage:   INFO:123: ready'],
  ['1:M 20 Nov 2026 10:00:00.123 * Ready', '1:M * Ready'],
])('leaves out the time that a line states itself: %s', (text, rest) => {
  expect(without(text)).toBe(rest);
});

test.each([
  ['further in', 'backup of 2026-11-20 10:00:00 is done'],
  ['nothing else', '2026-11-20 10:00:00'],
  ['a name of a file', '2026-11-20T10:00:00Z.tar.gz written'],
  ['a bracket with more', '[2026-11-20 10:00:00 INFO] ready'],
  ['a date alone', '2026-11-20 is a Friday'],
  ['another day', '2026-11-18 10:00:00 shown again'],
  ['another minute', '2026-11-20 10:07:00 shown again'],
  ['numbers', '10:00:00:00:00:01 is an address'],
  ['rubbish', '2026-99-99 99:99:99 rubbish'],
])('leaves a line alone: %s', (_, text) => {
  expect(without(text)).toBe(text);
});

test('leaves a time alone that nothing else tells', () => {
  expect(ownTime('2026-11-20 10:00:00 started', undefined)).toBeUndefined();
});

test('finds the year of a line at its turn', () => {
  expect(without('Dec 31 23:59:59 host last', Date.UTC(2027, 0, 1, 0, 0, 1))).toBe('host last');
});
