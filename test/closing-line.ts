import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Reporter, TestCase, TestModule } from 'vitest/node';

/**
 * Prints the result as one plain line, the last, for programs that read it: `2834 passed, 0 failed, 133 skipped`. Above it: groups that were skipped because this
 * machine lacks something, and tests that passed only at the second try, with the failure of the first, so that neither is overlooked.
 */
export class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0 };
    const retried: string[] = [];
    const skipped: string[] = [];
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state !== 'pending') counts[state]++;
        if (test.diagnostic()?.flaky) retried.push(`${module.relativeModuleId} > ${test.fullName}${firstTry(test)}`);
      }
      // A file that cannot be loaded has no tests, and where a hook fails those behind it count as skipped.
      for (const group of [module, ...module.children.allSuites()]) if (group.errors().length > 0) counts.failed++;
      for (const { name, fullName } of [...module.children.allSuites(), ...module.children.allTests('skipped')])
        if (name.includes('(skipped: ') && !name.includes('QUARTERDECK_TEST_LONG'))
          skipped.push(`${module.relativeModuleId} > ${fullName}`);
    }
    const lines = [
      ...skipped,
      ...retried.map((name) => `passed at the second try: ${name}`),
      `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`,
    ];
    // Behind what the usual reporter writes.
    process.once('exit', () => console.log(lines.join('\n')));
  }
}

/** What the first try failed with, and where: the usual reporter shows that of failed tests alone. */
function firstTry(test: TestCase): string {
  return (test.result().errors ?? [])
    .map(({ message, stacks }) => {
      const at = stacks?.[0];
      return `\n  at the first: ${stripVTControlCharacters(message).split('\n').slice(0, 6).join('\n    ')}${at ? `\n    ${relative(process.cwd(), at.file)}:${at.line}` : ''}`;
    })
    .join('');
}
