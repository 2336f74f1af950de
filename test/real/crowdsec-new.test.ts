import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { intrusionPreventionContract } from '../contract/intrusion-prevention.contract.ts';
import { runOrThrow, runProgram, variablesOf } from './scripts.ts';

const script = fileURLToPath(new URL('crowdsec', import.meta.url));
const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
const tree = process.env.QUARTERDECK_TEST_CROWDSEC_TREE ?? join(cache, 'quarterdeck-test-servers', 'crowdsec-1.7.8');
const env = { QUARTERDECK_TEST_CROWDSEC_TREE: tree, QUARTERDECK_ENGINES_OWNER: String(process.pid) };

// It takes a quarter of an hour to build: no step of an installation.
if (existsSync(join(tree, 'usr/bin/crowdsec'))) {
  describe('the real CrowdSec 1.7.8', () => {
    let base: string;
    let facts: Record<string, string>;
    const folder = () => join(base, 'server');
    beforeAll(async () => {
      base = await mkdtemp(join(tmpdir(), 'qd-crowdsec-'));
      facts = variablesOf(await runOrThrow([script, 'up', folder()], { env }));
    }, 60_000);
    afterAll(async () => {
      await runProgram([script, 'down', folder()]);
      await rm(base, { recursive: true, force: true });
    });
    const fact = (name: string) => facts[`QUARTERDECK_TEST_CROWDSEC_${name}`] ?? '';
    intrusionPreventionContract(
      () => ({
        url: fact('URL'),
        metricsUrl: fact('METRICS'),
        machine: { login: fact('MACHINE'), password: fact('PASSWORD') },
        bouncerKey: fact('KEY'),
        cscli: async (...argv) => {
          const { code, stdout, stderr } = await runProgram([script, 'cli', folder(), ...argv], { bare: true, env });
          return { exitCode: code, stdout, stderr };
        },
      }),
      { version: '1.7.8' },
    );
  });
} else {
  describe.skip(`the real CrowdSec 1.7.8 (skipped: build it with test/real/servers crowdsec)`, () => it('runs', () => {}));
}
