import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tracesInTurn } from '../../../test/doubles/break-offs.ts';
import { PracticeFixture } from '../../../test/doubles/practice-fixture.ts';
import { answering, onPractice, type PracticeTry } from '../../../test/doubles/practice-ground.ts';

/* Flows that apply plans, which the secret search of the contract test over the registry does not cover: test/contract/flows. */

let fixture: PracticeFixture;

interface Case extends Omit<PracticeTry, 'operator'> {
  about?: string;
  answers?: (fixture: PracticeFixture) => Parameters<typeof answering>[0];
  /** The minimum number of secrets that it handles. */
  secrets: number;
  /** Number of actions at which it crashes; all by default. Flows that apply plans take seconds for each. */
  crashes?: number;
}

/** Run in this order on one practice stack: each case finds the results of the previous ones. */
const cases: Record<string, Case> = {
  'secrets-rotate': { words: ['llm-proxy', 'LITELLM_MASTER_KEY'], secrets: 2, crashes: 1 },
  update: { about: 'rss-reader', secrets: 0, crashes: 1 },
  'admin-token': { about: 'password-vault', answers: () => ({ 'old-token': '', kept: 'yes' }), secrets: 1, crashes: 2 },
};

describe('no secret stays anywhere, in a crash neither', () => {
  beforeAll(async () => {
    fixture = await PracticeFixture.open();
  });
  afterAll(() => fixture.close());

  for (const [id, { about = '', answers, secrets, crashes, ...played }] of Object.entries(cases)) {
    test(id, { timeout: 120_000 }, async () => {
      const ground = await onPractice(id, about, { ...played, operator: () => answering(answers?.(fixture) ?? {}) }, () => fixture)();
      const seen = await tracesInTurn(ground, crashes);
      expect(seen.found).toEqual([]);
      expect(seen.secrets).toBeGreaterThanOrEqual(secrets);
    });
  }
});
