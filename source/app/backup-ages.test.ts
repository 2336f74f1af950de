import { expect, test } from 'vitest';
import type { EngineWatch } from '../fleet/engine-watch.ts';
import { backupAgesOf } from './backup-ages.ts';

test.each([
  ['no destination in the settings', undefined, 'no-destination'],
  ['a restic repository, which is not queried', 'restic:/srv/repository', undefined],
])('with %s, it is unknown whether there are backups', async (_, target, ages) => {
  const read = backupAgesOf(() => target, { entries: [], get: () => undefined, problems: [] }, '~/stack');
  expect(await read({ name: 'local' } as EngineWatch, AbortSignal.timeout(5_000))).toBe(ages);
});
