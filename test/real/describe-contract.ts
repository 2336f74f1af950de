import { expect, test } from 'vitest';
import type { SuiteName } from '../contract/suites.ts';
import { describeUnless } from '../required.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** Of the test that reads the server's version: what `npm run prove` records when everything beside it passed too. */
    proof?: { suite: SuiteName; version: string };
  }
}

/** A contract suite against its real server. */
export function describeContract(
  suite: SuiteName,
  server: { name: string; missing?: string | undefined; version(): Promise<string> },
  tests: () => void,
): void {
  describeUnless(server.missing, `the contract of ${suite} against a real ${server.name}`, () => {
    test('the server reports its version', async ({ task }) => {
      const [version] = /\d[\w.:-]*\d/.exec(await server.version()) ?? expect.fail('no version');
      task.meta.proof = { suite, version: `${server.name} ${version}` };
    });
    tests();
  });
}
