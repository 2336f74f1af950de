import { startVitest } from 'vitest/node';
import { hashSuite, readProofs, type Suite, type SuiteName, suiteNames, suites, writeProofs } from './suites.ts';

// npm run prove [SUITE...]: runs contract suites, by default all, against their real servers, and records in proven.json which passed. A suite that fails, or whose
// server is missing, keeps its entry. Build servers with test/real/servers first; for `engine` set QUARTERDECK_TEST_DOCKER, or be root on Linux.

const requested = process.argv.slice(2);
const fileOf = (name: SuiteName) => (suites[name] as Suite).real;
const provable = suiteNames.filter(fileOf);
const unknown = requested.filter((name) => !provable.includes(name as SuiteName));
if (unknown.length > 0) throw new Error(`No real server for suite "${unknown.join(', ')}". Use ${provable.join(', ')}.`);
const wanted = provable.filter((name) => requested.length === 0 || requested.includes(name));

const vitest = await startVitest('test', [], {
  config: false,
  watch: false,
  include: [...new Set(wanted.map((name) => `test/real/${fileOf(name)}.test.ts`))],
  globalSetup: wanted.includes('engine') ? ['test/real/global-setup.ts'] : [],
  testTimeout: 180_000,
  hookTimeout: 300_000,
  maxWorkers: 2,
});

const proofs = readProofs();
const proven = new Set<SuiteName>();
for (const module of vitest.state.getTestModules()) {
  for (const test of module.children.allTests('passed')) {
    const { proof } = test.meta();
    const group = test.parent;
    if (!proof || group.type !== 'suite' || !group.ok()) continue;
    proven.add(proof.suite);
    proofs[proof.suite] = {
      server: proof.version,
      date: new Date().toISOString().slice(0, 10),
      tests: [...group.children.allTests('passed')].length,
      hash: await hashSuite(suites[proof.suite]),
    };
  }
}
await vitest.close();
writeProofs(proofs);
for (const name of wanted) console.log(`${name}: ${proven.has(name) ? `proven, ${JSON.stringify(proofs[name])}` : 'not proven'}`);
process.exitCode = requested.length > 0 && wanted.some((name) => !proven.has(name)) ? 1 : 0;
