import { expect, test } from 'vitest';
import { breakOffs, type Ground, type Killed, traces } from '../../test/doubles/break-offs.ts';
import type { OperatorDouble } from '../../test/doubles/operator-double.ts';
import { Holders, VaultStage } from '../../test/doubles/vault-stage.ts';
import type { SecretsManagerOptions } from '../practice/secrets-manager/secrets-manager.ts';
import type { Flow, FlowInput } from './flow.ts';
import { unseal } from './unseal.ts';

interface Played {
  words?: readonly string[];
  options?: FlowInput['options'];
  answers: (stage: VaultStage, killed: Killed | undefined) => ConstructorParameters<typeof Holders>[0];
  end: (stage: VaultStage) => Promise<unknown>;
  server?: SecretsManagerOptions;
  sealed?: true;
  /** Before the run. */
  first?: (stage: VaultStage) => Promise<unknown>;
}

/** A new server of practice, open unless said otherwise, with this flow about it. */
const ground =
  (flow: Flow, { words = [], options = {}, ...played }: Played) =>
  async (): Promise<Ground> => {
    const stage = await VaultStage.open(played.server);
    if (!played.sealed) await stage.unseal();
    await played.first?.(stage);
    return {
      flow,
      operator: (killed) => new Holders(played.answers(stage, killed)),
      run: (watched, operator, left) => {
        stage.stage.resume = left?.run;
        const input = { words: left?.words ?? words, options: left?.options ?? options };
        return stage.run(watched, operator as OperatorDouble, input, played.sealed ? 'sealed' : 'healthy');
      },
      journal: stage.stage.journal,
      end: () => played.end(stage),
      folders: [stage.stage.folder],
      close: () => stage.close(),
    };
  };

const problems = (tries: Awaited<ReturnType<typeof breakOffs>>['tries']) => tries.filter(({ problem }) => problem !== undefined);

test('unsealing, killed at each share: the others go on with what was given', async () => {
  const played = ground(unseal, {
    sealed: true,
    answers: (stage, killed) => ({ attempt: 'continue', share: stage.shares.slice(killed?.done ?? 0) }),
    end: async (stage) => (await stage.ask('GET', 'sys/seal-status')).sealed,
  });
  const { acts, tries } = await breakOffs(played);
  expect(acts).toEqual(['share-1', 'share-2', 'share-3']);
  expect(problems(tries)).toEqual([]);
  expect(await traces(played)).toMatchObject({ secrets: 3, crashes: 6, found: [] });
});
