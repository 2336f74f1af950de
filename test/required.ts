import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'vitest';

/** QUARTERDECK_TEST_LONG=1: tests also repeat what another engine, moment or program shows already. */
export const isLong = process.env['QUARTERDECK_TEST_LONG'] === '1';

const folders = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin', ...(process.env['PATH'] ?? '').split(':')];

/**
 * Passes on why tests cannot run, where there is a reason: they are skipped with it. Used for what .ci/install and .ci/run provide.
 * @throws under QUARTERDECK_REQUIRE_REAL=1, which CI sets
 */
export function requiredInCi(missing: string | undefined): string | undefined {
  if (missing && process.env['QUARTERDECK_REQUIRE_REAL'] === '1')
    throw new Error(`QUARTERDECK_REQUIRE_REAL=1, but tests cannot run: ${missing}`);
  return missing;
}

/** The same for a program of the PATH, or a file. */
export function requiredProgram(program: string, fromPackage = program): string | undefined {
  const isPresent = program.includes('/') ? existsSync(program) : folders.some((folder) => existsSync(join(folder, program)));
  return requiredInCi(isPresent ? undefined : `no ${program}: apt-get install ${fromPackage}`);
}

/** A group of tests that is skipped, with the reason in its title, where there is one. */
export function describeUnless(missing: string | undefined, name: string, tests: () => void): void {
  describe.skipIf(missing)(missing ? `${name} (skipped: ${missing})` : name, tests);
}
