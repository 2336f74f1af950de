import { pauseFor } from '../faults/waits.ts';
import { awaitHealthChecks } from './await-health-checks.ts';
import type { Flow } from './flow.ts';
import { restartJoined } from './joined-containers.ts';
import { componentOf, hasContainer, sentenceAbout, serviceTargets } from './service-targets.ts';
import { endedAtOnce, serviceFlag, settleMs } from './start.ts';
import { graceFlag, graceOf, stopLimitMs } from './stop.ts';
import { watchContainer } from './watch-container.ts';

const seenLimitMs = 60_000;

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
  async run(session, input, world) {
    const component = componentOf(input);
    const engine = world.engineOf(input.place);
    // Loaded when used: the first frame needs nothing of restores.
    const { throwIfRestoreOpen } = await import('./recover-restore.ts');
    await throwIfRestoreOpen(session, world, component);
    const graceSeconds = graceOf(input);
    const targets = await serviceTargets(input, engine, session.signal);
    const names: string[] = [];

    for (const [index, target] of targets.entries()) {
      const { id, name } = target;
      session.progress({ id: 'restart', label: `Restarting ${name}`, fraction: index / targets.length });
      const before = await engine.inspect(id, session.signal);
      await session.act({
        id: `restart ${name}`,
        right: 'operate',
        request: `POST /containers/${name}/restart${graceSeconds === undefined ? '' : `?t=${graceSeconds}`}`,
        target: { host: input.place, component: component.key },
        limitMs: stopLimitMs(graceSeconds, before),
        run: (grant) => world.fleet.whileStopping(id, () => engine.writer(grant).restart(id, { graceSeconds })),
      });
      if (session.rehearsing) continue;
      await watchContainer(engine, id, (detail) => detail === undefined || detail.startedMs !== before?.startedMs, {
        signal: session.signal,
        limitMs: seenLimitMs,
        otherwise: 'was not seen to start anew',
        name,
      });
      names.push(name);
    }

    const joined = await restartJoined(
      session,
      world,
      input.place,
      targets.map(({ id }) => id),
    );
    if (session.rehearsing) return { message: 'Rehearsed: nothing was restarted.' };
    await pauseFor(settleMs, session.signal);
    for (const target of targets) {
      const detail = await engine.inspect(target.id, session.signal);
      const ended = detail?.state === 'exited' && detail.exitCode === 0;
      if (detail?.state !== 'running' && !ended) throw endedAtOnce(target, detail);
    }
    session.progress({ id: 'restart', label: `Restarted ${component.id}`, fraction: 1, done: true });
    world.fleet.refresh(component.key);
    const health = await awaitHealthChecks(session, engine, targets);
    return { message: `${sentenceAbout(component.id, names, `${names.length === 1 ? 'was' : 'were'} restarted.`)}${health}${joined}` };
  },
};
