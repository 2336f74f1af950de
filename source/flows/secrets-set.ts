import { Fault } from '../faults/fault.ts';
import { valueProblem } from '../secrets/vault-place.ts';
import { cleanLine } from '../text/clean.ts';
import { secretsSetAbout } from './about-secrets.ts';
import type { Flow } from './flow.ts';
import { chooseName, fieldOf, partsOf } from './secret-names.ts';

export const secretsSet: Flow = {
  ...secretsSetAbout,
  async run(session, input, world) {
    const vault = await world.vault(session);
    const name = await chooseName(session, input, world, await vault.list(session.signal));
    const { component, variable } = partsOf(name);
    const shown = cleanLine(name);
    const field = fieldOf(world.catalog.get(component), variable);
    const { checkValue } = await import('../catalog/field-types.ts');
    const problem = (value: string) => valueProblem(value) ?? (field && checkValue(field, value));
    const value = await session.ask.secret({
      id: 'value',
      label: `New value of ${shown}`,
      ...(field && { help: [field.meaning, field.rule].filter(Boolean).join('; ') }),
      check: problem,
    });
    const again = await session.ask.secret({ id: 'again', label: 'The same again' });
    if (again !== value) {
      throw new Fault({ code: 'usage.answer', message: 'The two were not the same.', remedy: 'Nothing was kept. Run it again.' });
    }
    const version = await session.act({
      id: 'set',
      right: 'operate',
      request: `keep a new version of ${shown} in ${vault.where}`,
      target: { host: input.place, component },
      // A run that broke off behind it would make another version of the same.
      done: async () => (await vault.read(name, session.signal)) === value,
      run: (grant) => vault.write(grant, name, value, 'given'),
    });
    if (session.rehearsing) return { message: 'Rehearsed: nothing was kept.' };
    if (version === undefined) return { message: `${shown} has that value already: no version was added.`, data: { name } };
    return {
      message: `Version ${version} of ${shown} is kept. It is in force with the next deploy of ${component}.`,
      data: { name, version },
    };
  },
};
