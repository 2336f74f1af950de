import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { printable, shellWord } from './shell-words.ts';

const shells = ['/bin/dash', '/bin/bash', '/bin/busybox'].filter((path) => existsSync(path));
const run = (shell: string, script: string, input = '') =>
  execFileSync(shell, shell.endsWith('busybox') ? ['sh', '-c', script] : ['-c', script], { input });

// Each word starts a shell, which is slow from a process as large as a test worker.
describe.each(shells)('words for %s', { timeout: 90_000 }, (shell) => {
  test('come out as they went in', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0')),
          { minLength: 1, maxLength: 5 },
        ),
        (words) => {
          const answer = run(shell, `for word in ${words.map(shellWord).join(' ')}; do printf '%s\\000' "$word"; done`);
          expect(answer.toString('utf8').split('\0').slice(0, -1)).toEqual(words);
        },
      ),
      { numRuns: 20 },
    );
  });

  test('and bytes of every value come through the line that is read', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
        const line = printable(bytes);
        expect(line).toMatch(/^[\x20-\x7e]*$/);
        expect([...run(shell, 'IFS= read -r q; printf %b "$q"', `${line}\n`)]).toEqual([...bytes]);
      }),
      { numRuns: 20 },
    );
  });
});

test('a NUL is refused: no argument can hold one', () => {
  expect(() => shellWord('a\0b')).toThrow(expect.objectContaining({ code: 'usage.nul' }));
});
