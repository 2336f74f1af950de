import { Fault } from '../faults/fault.ts';
import { exitFailure } from './exec.ts';
import type { Flow } from './flow.ts';
import { runInTerminal } from './inner-terminal.ts';
import { componentOf, isUp, oneTarget } from './service-targets.ts';
import { serviceFlag } from './start.ts';

/** Every image that has a shell has sh; it looks for a better one inside. A fixed argument list: nothing from outside is in it. */
export const shellArgv = ['/bin/sh', '-c', 'if command -v bash >/dev/null 2>&1; then exec bash; else exec sh; fi'] as const;

/** A runtime's answers where the program is not there or may not be run. */
const cannotRun: ReadonlySet<number> = new Set([126, 127]);

export const shell: Flow = {
  id: 'shell',
  verb: 'shell',
  title: 'Open a shell inside',
  summary:
    'Opens a terminal inside a running container: bash where there is one, otherwise sh. Ctrl-] three times leaves without ending what runs.',
  right: 'operate',
  about: 'component',
  flags: serviceFlag,
  offered: (component) => component.services.some(isUp),
  async run(session, input, world) {
    const component = componentOf(input);
    const engine = world.engineOf(input.place);
    const { id, name } = await oneTarget(session, input, engine, { running: true });
    const end = await session.act({
      id: 'shell',
      right: 'operate',
      request: `exec in ${name}, with a terminal: sh`,
      target: { host: input.place, component: component.key },
      confirmOnProduction: true,
      limitMs: Number.POSITIVE_INFINITY,
      run: (grant) => session.lend((terminal) => runInTerminal(engine.writer(grant), id, shellArgv, terminal, grant.signal)),
      failure: (ended) => (!ended.left && cannotRun.has(ended.exitCode) ? exitFailure(ended) : undefined),
    });
    if (end === undefined) return { message: 'Rehearsed: no shell was opened.' };
    if (end.left) return { message: `Left ${name}. What was running in that shell may go on.`, data: { left: true } };
    if (cannotRun.has(end.exitCode)) {
      throw new Fault({
        code: 'failed.noShell',
        message: `The shell in ${name} ended with exit code ${end.exitCode}: the image may have none.`,
        remedy: `Run a program that it has: quarterdeck exec ${component.id} -- PROGRAM`,
      });
    }
    return { message: `The shell in ${name} ended with exit code ${end.exitCode}.`, data: { exitCode: end.exitCode } };
  },
};
