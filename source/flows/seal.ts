import { sealAbout } from './about-vault.ts';
import type { Flow } from './flow.ts';
import { componentOf } from './service-targets.ts';
import { secretsManagerOf } from './vault-target.ts';

export const seal: Flow = {
  ...sealAbout,
  async run(session, input, world) {
    const component = componentOf(input);
    const manager = await secretsManagerOf(world, component, session.signal);
    const { sealed, initialized, threshold, shares } = await manager.seal(session.signal);
    if (sealed) return { message: `${component.id} is ${initialized ? 'sealed' : 'not initialised, and sealed'} already.` };
    const token = session.rehearsing
      ? ''
      : await session.ask.secret({
          id: 'token',
          label: 'Token that may seal it',
          help: 'Its policy needs sudo on sys/seal; the root token has it. It goes into a header of PUT /v1/sys/seal, and is kept nowhere.',
          check: (text) => (text.trim() === '' ? 'Type a token, or leave with Esc.' : undefined),
        });
    await session.act({
      id: 'seal',
      right: 'destroy',
      title: `Seal ${component.id}`,
      request: 'PUT /v1/sys/seal',
      target: { host: input.place, component: component.id },
      consequences: [
        'Nobody reads or writes a secret there until it is unsealed.',
        `Unsealing takes ${threshold} of the ${shares} key shares: have their holders at hand.`,
      ],
      done: async () => (await manager.seal(session.signal)).sealed,
      run: (grant) => manager.close(grant, token.trim()),
    });
    if (session.rehearsing) return { message: `Rehearsed: ${component.id} is still open.` };
    return { message: `${component.id} is sealed.` };
  },
};
