import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from 'vitest';
import { intrusionPreventionContract } from '../contract/intrusion-prevention.contract.ts';
import { requiredInCi } from '../required.ts';
import { describeContract } from './describe-contract.ts';
import { findServer } from './real-server.ts';
import { runOrThrow, runProgram, variablesOf } from './scripts.ts';

const script = fileURLToPath(new URL('crowdsec', import.meta.url));

// Debian's package, and a newer release where it was built.
const packaged = await runProgram([script, 'fetch'], { env: { QUARTERDECK_TEST_CROWDSEC_TREE: '' } });
const built = findServer('crowdsec-1.7.8');
const servers = [
  {
    suite: 'crowdsec-1.4',
    version: '1.4.6',
    tree: '',
    missing: requiredInCi(packaged.code === 0 ? undefined : `there is no package of CrowdSec: ${packaged.stderr.trim()}`),
  },
  { suite: 'crowdsec-1.7', version: '1.7.8', tree: built.program ?? '', missing: built.missing },
] as const;

for (const { suite, version, tree, missing } of servers) {
  const env = { QUARTERDECK_TEST_CROWDSEC_TREE: tree, QUARTERDECK_ENGINES_OWNER: String(process.pid) };
  let base: string;
  let facts: Record<string, string>;
  const folder = () => join(base, 'server');
  const fact = (name: string) => facts[`QUARTERDECK_TEST_CROWDSEC_${name}`] ?? '';
  const cscli = async (...argv: string[]) => {
    const { code, stdout, stderr } = await runProgram([script, 'cli', folder(), ...argv], { bare: true, env });
    return { exitCode: code, stdout, stderr };
  };
  // Behind the time; 1.4 writes it to stderr, 1.7 to stdout.
  const versionText = async () => {
    const { stdout, stderr } = await cscli('version');
    return /version: .*/.exec(`${stdout}\n${stderr}`)?.[0] ?? '';
  };

  describeContract(suite, { name: 'CrowdSec', missing, version: versionText }, () => {
    beforeAll(async () => {
      base = await mkdtemp(join(tmpdir(), 'qd-crowdsec-'));
      facts = variablesOf(await runOrThrow([script, 'up', folder()], { env }));
    }, 60_000);
    afterAll(async () => {
      await runProgram([script, 'down', folder()]);
      await rm(base, { recursive: true, force: true });
    });
    const server = () => ({
      ...{ url: fact('URL'), bouncerKey: fact('KEY'), cscli },
      machine: { login: fact('MACHINE'), password: fact('PASSWORD') },
    });
    intrusionPreventionContract(server, { version });
  });
}
