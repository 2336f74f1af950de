import { expect, test } from 'vitest';
import { engineView } from '../../test/doubles/fleet-double.ts';
import type { FaultCode } from '../faults/fault.ts';
import { throwIfNothingAnswers } from './engine-view.ts';
import type { FleetSnapshot } from './model.ts';

const away = (name: string, code?: FaultCode) =>
  engineView(name, {
    engine: { ...engineView().engine, reachable: false },
    link: { state: 'away', sinceMs: 0, message: `${name} is away.`, remedy: 'Start it.', retryAtMs: undefined, ...(code && { code }) },
  });

function thrownFor(...engines: FleetSnapshot['engines']): unknown {
  try {
    throwIfNothingAnswers({ engines } as FleetSnapshot);
  } catch (thrown) {
    return thrown;
  }
  return undefined;
}

test('the code is that of the cause; different causes share the general one', () => {
  expect(thrownFor(away('local', 'unreachable.noEngine'))).toMatchObject({ code: 'unreachable.noEngine', message: 'local is away.' });
  expect(thrownFor(away('a', 'unreachable.silent'), away('b', 'unreachable.silent'))).toMatchObject({ code: 'unreachable.silent' });
  expect(thrownFor(away('a', 'unreachable.silent'), away('b', 'unreachable.noEngine'))).toMatchObject({
    code: 'unreachable.engine',
    message: 'a is away. b is away.',
  });
  expect(thrownFor(away('a'), away('b', 'unreachable.noEngine'))).toMatchObject({ code: 'unreachable.engine' });
  expect(thrownFor()).toMatchObject({ code: 'unreachable.engine' });
  expect(thrownFor(away('local', 'unreachable.noEngine'), engineView('nas'))).toBeUndefined();
});
