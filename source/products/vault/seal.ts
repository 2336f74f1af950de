import { componentOf } from '../../flows/components/service-targets.ts';
import type { Procedure } from '../../flows/flow.ts';
import { secretsManagerOf, targetOfVault, tokenFor } from './vault-open.ts';

export const seal: Procedure = async (session, input, context) => {
  const component = componentOf(input);
  const manager = await secretsManagerOf(context, component, session.signal);
  const { sealed, initialized, threshold, shares, recoverySeal, type } = await manager.seal(session.signal);
  if (sealed) return { message: `${component.id} is ${initialized ? 'sealed' : 'not initialised, and sealed'} already.` };
  const target = targetOfVault(component, input.engineName);
  const { token } = session.dryRun ? { token: '' } : await tokenFor(session, context, target, { may: 'sudo on sys/seal' });
  await session.act({
    id: 'seal',
    right: 'destroy',
    title: `Seal ${component.id}`,
    request: 'PUT /v1/sys/seal',
    target,
    consequences: [
      'Nobody reads or writes a secret there until it is unsealed.',
      recoverySeal
        ? `It stays sealed until it is restarted (it opens itself, ${type}), or ${threshold} of the ${shares} recovery shares are given.`
        : `Unsealing takes ${threshold} of the ${shares} key shares: have their holders at hand.`,
    ],
    done: async () => (await manager.seal(session.signal)).sealed,
    run: (grant) => manager.close(grant, token),
  });
  if (session.dryRun) return { message: `Dry run: ${component.id} is still open.` };
  return { message: `${component.id} is sealed.` };
};
