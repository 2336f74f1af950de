import { Fault } from '../../faults/fault.ts';
import { EngineScope } from '../engine-scope.ts';
import type { Flow } from '../flow.ts';
import { exitFailure } from './exec.ts';
import { runInTerminal } from './inner-terminal.ts';
import { serviceFlag } from './service.ts';
import { componentOf, isUp, oneTarget } from './service-targets.ts';

/** Every image with a shell has sh; inside, it looks for a better one. A fixed argument list: nothing in it comes from outside. */
export const shellArgv = ['/bin/sh', '-c', 'if command -v bash >/dev/null 2>&1; then exec bash; else exec sh; fi'] as const;

/** Exit codes of a runtime if the program does not exist or may not be run. */
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
  async run(session, input, context) {
    const component = componentOf(input);
    const engine = context.engineOf(input.engineName);
    const { id, name } = await oneTarget(new EngineScope(session, context, input.engineName), input, { running: true });
    const end = await session.act({
      id: 'shell',
      right: 'operate',
      request: `exec in ${name}, with a terminal: sh`,
      confirmOnProduction: true,
      limitMs: Number.POSITIVE_INFINITY,
      run: (grant) => session.lend((terminal) => runInTerminal(engine.writer(grant), id, shellArgv, terminal, grant.signal)),
      failure: (ended) => (!ended.left && cannotRun.has(ended.exitCode) ? exitFailure(ended) : undefined),
    });
    if (end === undefined) return { message: 'Dry run: no shell was opened.' };
    if (end.left) return { message: `Left ${name}. What was running in that shell may go on.`, data: { left: true } };
    if (cannotRun.has(end.exitCode)) {
      const remedy = `Run a program that it has: quarterdeck exec ${component.id} -- PROGRAM`;
      throw new Fault('failed.noShell', `The shell in ${name} ended with exit code ${end.exitCode}: the image may have none.`, remedy);
    }
    return { message: `The shell in ${name} ended with exit code ${end.exitCode}.`, data: { exitCode: end.exitCode } };
  },
};
