import type { Reporter, TestModule } from 'vitest/node';

/** How it went in one plain line, the last, for whoever reads it with a program: `2834 passed, 0 failed, 133 skipped`. */
export class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state !== 'pending') counts[state]++;
      }
      // A file that cannot be loaded has no tests.
      if (module.errors().length > 0) counts.failed++;
    }
    // Behind what the usual reporter writes.
    process.once('exit', () => console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`));
  }
}
