import { sealAbout } from './about-vault.ts';
import type { Flow } from './flow.ts';
import { componentOf } from './service-targets.ts';
import { targetOfVault, tokenFor } from './vault-open.ts';
import { secretsManagerOf } from './vault-target.ts';

export const seal: Flow = {
  ...sealAbout,
  async run(session, input, world) {
    const component = componentOf(input);
    const manager = await secretsManagerOf(world, component, session.signal);
    const { sealed, initialized, threshold, shares, recoverySeal, type } = await manager.seal(session.signal);
    if (sealed) return { message: `${component.id} is ${initialized ? 'sealed' : 'not initialised, and sealed'} already.` };
    const target = targetOfVault(component, input.place);
    const { token } = session.rehearsing ? { token: '' } : await tokenFor(session, world, target, { may: 'sudo on sys/seal' });
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
    if (session.rehearsing) return { message: `Rehearsed: ${component.id} is still open.` };
    return { message: `${component.id} is sealed.` };
  },
};
