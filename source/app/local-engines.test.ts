import { expect, test } from 'vitest';
import { hostDouble } from '../../test/doubles/live-engine.ts';
import { throwIfNothingAnswers } from '../fleet/engine-view.ts';
import { openFleet } from '../fleet/open-fleet.ts';
import { enginesOn } from './local-engines.ts';

test('a machine without an engine has one code for it, from the search to the command that needs one', async () => {
  const { engines, engineMissing } = await enginesOn(hostDouble(), AbortSignal.timeout(5_000));
  expect(engineMissing).toBe(true);
  const fleet = openFleet({
    engines,
    catalog: { entries: [], get: () => undefined, problems: [] },
    stackFolder: '~/stack',
    execAllowed: true,
  });
  await fleet.settle(AbortSignal.timeout(5_000));
  const snapshot = fleet.snapshot();
  fleet.close();
  expect(() => throwIfNothingAnswers(snapshot)).toThrow(
    expect.objectContaining({
      code: 'unreachable.noEngine',
      remedy: expect.stringMatching(/^To try Quarterdeck without an engine: .*practice\. /),
    }),
  );
});
