import { Fault } from '../faults/fault.ts';
import { deleteMachine, machinesOf, validateMachine } from '../products/crowdsec-lists.ts';
import { agoText, countText } from '../text/quantities.ts';
import { machinesDeleteAbout, machinesListAbout, machinesValidateAbout } from './about-prevention.ts';
import type { Flow } from './flow.ts';
import { leavingSays, lookingIn, notedName, oneNamed, requestText } from './prevention-questions.ts';
import { onHostsThatHaveIt, preventionOf } from './prevention-target.ts';

export const machinesList: Flow = onHostsThatHaveIt({
  ...machinesListAbout,
  async run(session, input, world) {
    const { crowdsec } = await preventionOf(world, input, lookingIn(session));
    const machines = await machinesOf(crowdsec, session.signal);
    if (machines.length > 0) {
      session.show({
        kind: 'table',
        columns: ['machine', 'version', 'from', 'heard of last', ''],
        rows: machines.map(({ name, version, address, lastHeartbeatMs, validated }) => [
          name,
          version,
          address,
          lastHeartbeatMs === undefined ? 'never' : agoText(Date.now() - lastHeartbeatMs),
          validated ? '' : 'waits to be let in',
        ]),
      });
    }
    return {
      message: machines.length === 0 ? 'No machine is registered: no log is analysed.' : `${countText(machines.length, 'machine')}.`,
      data: {
        machines: machines.map(({ lastHeartbeatMs, ...machine }) => ({
          ...machine,
          lastHeartbeat: lastHeartbeatMs === undefined ? null : new Date(lastHeartbeatMs).toISOString(),
        })),
      },
    };
  },
});

export const machinesValidate: Flow = {
  ...machinesValidateAbout,
  async run(session, input, world) {
    const { crowdsec, component } = await preventionOf(world, input, lookingIn(session));
    const machines = await machinesOf(crowdsec, session.signal);
    const waiting = machines.filter(({ validated }) => !validated);
    const [given] = input.words;
    if (given === undefined && notedName(session) === undefined && waiting.length === 0)
      return { message: 'No machine waits to be let in.', data: { validated: null } };
    const name = await leavingSays(
      () => 'No machine was let in.',
      () => oneNamed(session, input, 'machine', (given ?? notedName(session)) === undefined ? waiting : machines),
    );
    await session.act({
      id: 'validate',
      right: 'operate',
      request: requestText(['machines', 'validate', name]),
      target: { host: input.place, ...(component && { component: component.key }) },
      done: async () => (await machinesOf(crowdsec, session.signal)).some((machine) => machine.name === name && machine.validated),
      run: (grant) => validateMachine(crowdsec, grant, name),
    });
    if (session.rehearsing) return { message: 'Rehearsed: no machine was let in.' };
    return { message: `The machine ${name} may log in and report.`, data: { validated: name } };
  },
};

export const machinesDelete: Flow = {
  ...machinesDeleteAbout,
  async run(session, input, world) {
    const { crowdsec, component } = await preventionOf(world, input, lookingIn(session));
    const machines = await machinesOf(crowdsec, session.signal);
    const begun = notedName(session);
    if (begun !== undefined && !machines.some((machine) => machine.name === begun))
      return { message: `The machine ${begun} is gone.`, data: { name: begun } };
    const name = await leavingSays(
      () => 'No machine was deleted.',
      () => oneNamed(session, input, 'machine', machines),
    );
    await session.act({
      id: 'delete',
      right: 'destroy',
      title: `Delete the machine ${name}`,
      request: requestText(['machines', 'delete', name]),
      target: { host: input.place, ...(component && { component: component.key }) },
      consequences: [
        'What it reads leads to no decision any more, until it is registered anew.',
        ...(machines.length === 1 ? ['It is the only one: nothing is analysed then, and cscli here loses its own login with it.'] : []),
      ],
      run: (grant) => deleteMachine(crowdsec, grant, name),
    });
    if (session.rehearsing) return { message: 'Rehearsed: no machine was deleted.' };
    // cscli ends well also where it did nothing.
    if ((await machinesOf(crowdsec, session.signal)).some((machine) => machine.name === name))
      throw new Fault({ code: 'failed.crowdsec', message: `The machine ${name} is still there.`, remedy: 'Look at the log of CrowdSec.' });
    return { message: `The machine ${name} is gone.`, data: { name } };
  },
};
