import { EngineScope } from '../engine-scope.ts';
import type { Flow } from '../flow.ts';
import { awaitHealthChecks } from './await-health-checks.ts';
import { restartContainer, restartJoined } from './joined-containers.ts';
import { graceFlag, graceOf, serviceFlag } from './service.ts';
import { componentOf, hasContainer, sentenceAbout, serviceTargets } from './service-targets.ts';
import { settle } from './start.ts';

export const restart: Flow = {
  id: 'restart',
  verb: 'restart',
  title: 'Restart the component',
  summary:
    'Restarts the containers of a component, what others depend on first, and waits until they are seen running again and their health checks have answered.',
  right: 'operate',
  about: 'component',
  flags: { ...serviceFlag, ...graceFlag },
  interrupts: 'It is not available until it is up again.',
  offered: (component) => component.services.some(hasContainer),
  async run(session, input, context) {
    const component = componentOf(input);
    const scope = new EngineScope(session, context, input.engineName);
    // Loaded on demand: the first frame does not need restores.
    const { throwIfRestoreOpen } = await import('../backup/recover-restore.ts');
    await throwIfRestoreOpen(scope, component);
    const graceSeconds = graceOf(input);
    const targets = await serviceTargets(scope, input);
    for (const [index, target] of targets.entries()) {
      session.progress({ id: 'restart', label: `Restarting ${target.name}`, fraction: index / targets.length });
      await restartContainer(scope, target, { host: input.engineName, component: component.key }, { graceSeconds });
    }
    const ids = targets.map(({ id }) => id);
    const joined = await restartJoined(scope, ids);
    if (session.dryRun) return { message: 'Dry run: nothing was restarted.' };
    await settle(scope, targets);
    session.progress({ id: 'restart', label: `Restarted ${component.id}`, fraction: 1, done: true });
    context.fleet.refresh(component.key);
    const health = await awaitHealthChecks(scope, targets);
    const names = targets.map(({ name }) => name);
    return { message: `${sentenceAbout(component.id, names, `${names.length === 1 ? 'was' : 'were'} restarted.`)}${health}${joined}` };
  },
};
