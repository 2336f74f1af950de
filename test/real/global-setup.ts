import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import type { TestProject } from 'vitest/node';
import {
  type EngineOffer,
  type EngineOffers,
  engineKinds,
  engineVariable,
  moreDockerVariables,
  type RealEngineKind,
  registryVariable,
} from './engine-offer.ts';
import { enginesScript, imagesScript, makeEnginesFolder, runProgram, variablesOf } from './scripts.ts';
import { openTurns } from './turns.ts';

const strict = process.env.QUARTERDECK_REQUIRE_REAL === '1';

/**
 * Finds the engines for the real tests, once: those that variables name, or, where this is root on Linux and the programs are
 * there, private ones that end with the run. Everything else is left to the tests as a reason for not running.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const variables = [...engineKinds.map((kind) => engineVariable[kind]), ...moreDockerVariables, registryVariable];
  const given = Object.fromEntries(variables.map((name) => [name, process.env[name]]));
  let found: Record<string, string | undefined> = given;
  let reason = '';
  let folder: string | undefined;

  if (!Object.values(given).some(Boolean)) {
    if (process.platform !== 'linux') reason = 'starting engines needs Linux; name a running one in a variable';
    else if (process.getuid?.() !== 0) reason = 'starting engines needs root; name a running one in a variable';
    else {
      folder = await makeEnginesFolder();
      const outcome = await runProgram([enginesScript, 'up', folder], {
        env: { QUARTERDECK_ENGINES_OWNER: String(process.pid) },
        limitMs: 180_000,
      });
      found = variablesOf(outcome.stdout);
      reason = outcome.stderr.trim();
    }
  }
  const teardown = folder === undefined ? undefined : endEngines.bind(undefined, folder);
  // A run that is interrupted does not come to the teardown.
  if (teardown) process.once('exit', teardown);

  let composeFolder = '';
  if (Object.values(found).some(Boolean)) {
    const images = await runProgram([imagesScript], { env: found, limitMs: 600_000 });
    if (images.code === 0) composeFolder = (await runProgram([imagesScript, 'path'])).stdout.trim();
    else {
      reason = `no images: ${images.stderr.trim()}`;
      found = {};
    }
  }

  const offers = Object.fromEntries(
    engineKinds.map((kind): [RealEngineKind, EngineOffer] => {
      const url = found[engineVariable[kind]];
      return [kind, url ? { url } : { missing: reasonFor(kind, reason) }];
    }),
  ) as EngineOffers;
  project.provide('engineOffers', offers);
  const more = moreDockerVariables.map((name) => found[name]).filter((url) => url !== undefined);
  project.provide('moreDockers', found[engineVariable.docker] ? more : []);
  project.provide('composeFolder', composeFolder);
  const registry = found[registryVariable];
  project.provide('registryOffer', registry ? { address: registry } : { missing: reasonFor('registry', reason) });

  const turns = await openTurns();
  project.provide('turns', turns.path);
  project.provide('compiledCode', join(dirname(turns.path), 'compiled'));

  const missing = engineKinds.filter((kind) => 'missing' in offers[kind]);
  if (strict && missing.length > 0) {
    teardown?.();
    await turns.close();
    throw new Error(`QUARTERDECK_REQUIRE_REAL=1, but there is no ${missing.join(', no ')}:\n${reason}`);
  }
  for (const kind of missing) console.warn(`tests with ${kind} are skipped: ${reasonFor(kind, reason)}`);
  return async () => {
    await turns.close();
    teardown?.();
  };
}

/** What the script said about this kind, or what holds for all. */
function reasonFor(kind: RealEngineKind | 'registry', reason: string): string {
  const own = reason.split('\n').find((line) => line.startsWith(`engines: ${kind} `));
  return (
    (own ?? reason.split('\n')[0])?.replace(/^engines: /, '') ||
    `${kind === 'registry' ? registryVariable : engineVariable[kind]} is not set`
  );
}

function endEngines(folder: string): void {
  spawnSync(enginesScript, ['down', folder], { stdio: 'ignore', timeout: 120_000 });
}
