import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openLocalHost } from '../../hosts/local-host.ts';
import { versionsInForce } from './recover.ts';

const signal = AbortSignal.timeout(20_000);
let stackFolder: string;
beforeEach(async () => {
  stackFolder = await mkdtemp(join(tmpdir(), 'qd-force-'));
});
afterEach(() => rm(stackFolder, { recursive: true, force: true }));

async function put(path: string, value: unknown): Promise<void> {
  const at = join(stackFolder, '.quarterdeck', path);
  await mkdir(dirname(at), { recursive: true });
  await writeFile(at, typeof value === 'string' ? value : JSON.stringify(value));
}
const record = (TOKEN: string) => ({ schema: 1, component: 'web', files: {}, images: {}, secrets: { TOKEN } });

/** A run that changes `web` from one version to the next. */
async function run(number: number, from: string, to: string, ...steps: string[]): Promise<void> {
  const name = `2026112${number}T000000000-aaaaaa`;
  const empty = { files: [], services: [], networks: [], volumes: [], after: [] };
  await put(`runs/${name}/transaction.json`, {
    schema: 1,
    run: name,
    by: 'ada@nas',
    startedAt: 'then',
    plans: [{ ...empty, component: 'web', project: 'web', secrets: [{ variable: 'TOKEN', version: to }] }],
  });
  await put(`runs/${name}/before/.quarterdeck/components/web.json`, record(from));
  await put(
    `runs/${name}/journal`,
    steps.map((step) => `${JSON.stringify({ at: 'then', step, state: step.includes(':') ? 'begun' : 'done' })}\n`).join(''),
  );
}
const named = async (variable = 'TOKEN') =>
  [...(await versionsInForce(openLocalHost(), { stackFolder, component: 'web', variable }, signal))].sort();

test('named are the version deployed, those before the last two changes, and those of a change that broke off', async () => {
  await put('components/web.json', record('v5'));
  await run(1, 'v0', 'v1', 'stage', 'all', 'verified');
  await run(2, 'v1', 'v2', 'stage', 'all', 'undone');
  await run(3, 'v1', 'v3', 'stage', 'all', 'verified');
  await run(4, 'v3', 'v5', 'stage', 'all', 'verified');
  expect(await named()).toEqual(['v1', 'v3', 'v5']);
  await run(5, 'v5', 'v6', 'stage', 'place:web');
  expect(await named()).toEqual(['v3', 'v5', 'v6']);
  expect(await named('OTHER')).toEqual([]);
});

test('where nothing was deployed nothing is named, and a damaged record names nothing', async () => {
  expect(await named()).toEqual([]);
  await put('components/web.json', '{"secrets":');
  expect(await named()).toEqual([]);
});
