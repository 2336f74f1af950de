import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { intrusionPreventionContract } from '../contract/intrusion-prevention.contract.ts';
import { runOrThrow, runProgram, variablesOf } from './scripts.ts';

const script = fileURLToPath(new URL('crowdsec', import.meta.url));

// Where the package cannot be had the suite is skipped with the reason, and under QUARTERDECK_REQUIRE_REAL=1 it fails.
const base = await mkdtemp(join(tmpdir(), 'qd-crowdsec-'));
const folder = join(base, 'server');
const started = await runProgram([script, 'up', folder], { env: { QUARTERDECK_ENGINES_OWNER: String(process.pid) } });
if (started.code !== 0) await rm(base, { recursive: true, force: true });
const reason = started.stderr.trim().split('\n').at(-1) ?? '';

if (started.code === 0) {
  const facts = variablesOf(started.stdout);
  const fact = (name: string) => facts[`QUARTERDECK_TEST_CROWDSEC_${name}`] ?? '';
  describe('the real CrowdSec 1.4.6', () => {
    afterAll(async () => {
      await runOrThrow([script, 'down', folder]);
      await rm(base, { recursive: true, force: true });
    });
    intrusionPreventionContract(
      () => ({
        url: fact('URL'),
        metricsUrl: fact('METRICS'),
        machine: { login: fact('MACHINE'), password: fact('PASSWORD') },
        bouncerKey: fact('KEY'),
        cscli: async (...argv) => {
          const { code, stdout, stderr } = await runProgram([script, 'cli', folder, ...argv], { bare: true });
          return { exitCode: code, stdout, stderr };
        },
      }),
      { version: '1.4.6' },
    );
  });
} else if (process.env.QUARTERDECK_REQUIRE_REAL === '1') {
  it('the real CrowdSec', () => expect.fail(`must run, and cannot: ${reason}`));
} else {
  describe.skip(`the real CrowdSec (skipped: ${reason})`, () => it('runs', () => {}));
}
