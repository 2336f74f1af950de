import { describe, expect, test } from 'vitest';
import { Fault } from '../faults/fault.ts';
import { createMasking } from './masking.ts';

const secret = 'kX9-share';
const made = 'hvs.CAESIJmadeByTheServerAndNotCalledSecretYet';

function masking() {
  const one = createMasking();
  one.add(secret);
  return one;
}

describe('what was thrown', () => {
  test('a cause that is no error hides it too, and so does a text that was thrown', () => {
    const fault = new Fault('failed.x', 'It failed.', 'Look.', { cause: `sent ${secret}` });
    expect((masking().thrown(fault) as Fault).cause).toBeUndefined();
    expect(masking().thrown(`no ${secret}`)).toBe('no (secret)');
  });

  test('a mistake of ours leaves the run without what nobody has called a secret yet, and without what hangs on it', () => {
    const mistake = Object.assign(new TypeError(`cannot read ${made} of "${made}"`, { cause: new Error(made) }), {
      headers: { token: made },
    });
    const reported = masking().reported(mistake) as Error;
    expect(reported).toMatchObject({ name: 'TypeError', message: 'cannot read hvs.[hidden] of "[hidden]"' });
    expect(`${reported.stack} ${JSON.stringify(reported)} ${String(reported.cause)}`).not.toContain(made);
    expect(reported.stack).toContain('masking.test.ts');
  });

  test('a fault keeps its words, and a limit stays a limit', () => {
    const fault = new Fault('failed.x', `Made ${'a'.repeat(30)}.`, 'Look.');
    expect(masking().reported(fault)).toBe(fault);
    const late = new DOMException('late', 'TimeoutError');
    expect(masking().reported(late)).toBe(late);
  });
});
