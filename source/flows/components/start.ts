import type { ContainerDetail } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import { pauseFor } from '../../faults/waits.ts';
import { cleanLine } from '../../text/clean.ts';
import { cut } from '../../text/width.ts';
import { namesText } from '../../text/words.ts';
import { refuseDuringRestore } from '../backup/restore-data.ts';
import { type EngineScope, onEngine } from '../engine-scope.ts';
import { endedAtOnce, graceOf, restartContainer, restartJoined, settleMs, watchContainer } from './service.ts';
import { componentOf, type ServiceTarget, sentenceAbout, serviceTargets, subjectOf } from './service-targets.ts';

const startLimitMs = 60_000;
const dependencyLimitMs = 120_000;

export const start = onEngine(async (scope, input, session, context) => {
  const component = componentOf(input);
  const { engine, signal } = scope;
  await refuseDuringRestore(scope, component);
  const targets = await serviceTargets(scope, input);
  const started: ServiceTarget[] = [];
  const already: ServiceTarget[] = [];

  for (const [index, target] of targets.entries()) {
    const { id, name } = target;
    session.progress({ id: 'start', label: `Starting ${name}`, fraction: index / targets.length });
    if (!session.dryRun) await awaitDependencies(scope, target, targets);
    const answer = await session.act({
      id: `start ${name}`,
      right: 'operate',
      request: `POST /containers/${name}/start`,
      target: { host: input.engineName, component: component.key },
      limitMs: startLimitMs,
      done: async () => {
        const state = (await engine.inspect(id, signal))?.state;
        if (state === 'paused')
          throw new Fault('failed.paused', `${name} is paused.`, `Unpause the component: quarterdeck unpause ${component.id}`);
        return state === 'running';
      },
      run: (grant) => engine.writer(grant).start(id),
    });
    if (answer === undefined) {
      already.push(target);
      continue;
    }
    started.push(target);
    const hasStarted = (detail: ContainerDetail | undefined) => detail === undefined || detail.state !== 'created';
    await watchContainer(scope, target, hasStarted, { limitMs: startLimitMs, otherwise: 'did not start' });
  }

  const finished = await settle(scope, started);
  session.progress({ id: 'start', label: `Started ${component.id}`, fraction: 1, done: true });
  const ids = started.map(({ id }) => id);
  const joined = await restartJoined(scope, ids);
  context.fleet.refresh(component.key);
  if (session.dryRun) return { message: `Dry run: nothing was started.` };
  const health = await awaitHealthChecks(scope, started);
  if (started.length === 0) return { message: `${subjectOf(input)} is already running.` };
  return { message: `${startSentence(component.id, started, already, finished)}${health}${joined}` };
});

/** Checks again a moment later, and returns the containers that ended. One with another exit code than 0 has failed. */
export async function settle({ engine, signal }: EngineScope, started: readonly ServiceTarget[]): Promise<ServiceTarget[]> {
  if (started.length === 0) return [];
  await pauseFor(settleMs, signal);
  const finished: ServiceTarget[] = [];
  for (const target of started) {
    const detail = await engine.inspect(target.id, signal);
    if (detail?.state === 'exited' && detail.exitCode === 0) finished.push(target);
    else if (detail?.state !== 'running') throw endedAtOnce(target, detail);
  }
  return finished;
}

async function awaitDependencies(scope: EngineScope, target: ServiceTarget, targets: readonly ServiceTarget[]): Promise<void> {
  for (const { name, until } of target.dependsOn) {
    const dependency = targets.find(({ service }) => service.name === name);
    if (!dependency || until === 'started') continue;
    const label = `Waiting for ${dependency.name} to ${until === 'healthy' ? 'become healthy' : 'finish'}`;
    scope.session.progress({ id: 'start', label });
    const isMet = (detail: ContainerDetail | undefined) => {
      const ended = detail === undefined || detail.state === 'exited' || detail.state === 'dead';
      if (until === 'completed' && detail?.state === 'exited' && detail.exitCode === 0) return true;
      if (ended) throw endedAtOnce(dependency, detail);
      return until === 'healthy' && detail.state === 'running' && (detail.health === 'healthy' || detail.health === 'none');
    };
    const otherwise = until === 'healthy' ? 'did not become healthy' : 'did not finish';
    await watchContainer(scope, dependency, isMet, { limitMs: dependencyLimitMs, otherwise });
  }
}

function startSentence(
  component: string,
  started: readonly ServiceTarget[],
  already: readonly ServiceTarget[],
  finished: readonly ServiceTarget[],
): string {
  const running = started.filter((target) => !finished.includes(target)).map(({ name }) => name);
  const parts = [
    running.length > 0 && `${namesText(running)} ${running.length === 1 ? 'is' : 'are'} running`,
    finished.length > 0 && `${namesText(finished.map(({ name }) => name))} finished with exit code 0`,
    already.length > 0 && `already running: ${namesText(already.map(({ name }) => name))}`,
  ];
  const all = parts.filter(Boolean).join('; ');
  // A component that is one container of the same name is named once.
  return all.startsWith(`${component} `) && started.length + already.length === 1 ? `${all}.` : `${component}: ${all}.`;
}

export const restart = onEngine(async (scope, input, session, context) => {
  const component = componentOf(input);
  await refuseDuringRestore(scope, component);
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
  return { message: `${sentenceAbout(component.id, names, 'Restarted')}${health}${joined}` };
});

const everyMs = 1_000;
/** Engines may start a check a little late. */
const slackMs = 5_000;
/** Long, since Podman counts failures from before the restart: its first result may not be meaningful. */
const failingLimitMs = 30_000;
const outputCharacters = 200;

/** Waits with a countdown. Returns a sentence, empty if no container declares a health check. Throws `failed.unhealthy`. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one wait, whose two limits depend on each result
export async function awaitHealthChecks(scope: EngineScope, containers: readonly { id: string; name: string }[]): Promise<string> {
  const { session, engine } = scope;
  const passed: string[] = [];
  const silent: string[] = [];
  for (const { id, name } of containers) {
    const progress = { id: `health ${name}`, label: `Waiting for the health check of ${name}` };
    let detail = await engine.inspect(id, session.signal);
    const checked = isAwaited(detail);
    const limitMs = (detail?.verdictWithinMs ?? 0) + slackMs;
    let failingMs = 0;
    for (let waitedMs = 0; ; waitedMs += everyMs) {
      failingMs = detail?.state === 'running' && detail.health === 'unhealthy' ? failingMs + everyMs : 0;
      const leftMs = failingMs > 0 ? failingLimitMs - failingMs : isAwaited(detail) ? limitMs - waitedMs : 0;
      if (leftMs <= 0) break;
      session.progress({ ...progress, label: `${progress.label}, at most ${Math.ceil(leftMs / 1000)} s` });
      await pauseFor(everyMs, session.signal);
      detail = await engine.inspect(id, session.signal);
    }
    if (checked || failingMs > 0) session.progress({ ...progress, done: true });
    if (detail?.health === 'unhealthy') {
      const output = cut(cleanLine(detail.healthOutputs.at(-1)?.trim() ?? ''), outputCharacters);
      const message = `The health check of ${name} fails${output ? `: ${output}` : '.'}`;
      throw new Fault('failed.unhealthy', message, `Check the log: quarterdeck logs ${name}`);
    }
    if (isAwaited(detail)) silent.push(name);
    else if (checked && detail?.health === 'healthy') passed.push(name);
  }
  return [
    passed.length > 0 && ` The health check of ${namesText(passed)} passes.`,
    silent.length > 0 && ` The engine has not run the health check of ${namesText(silent)} yet.`,
  ]
    .filter(Boolean)
    .join('');
}

function isAwaited(detail: ContainerDetail | undefined): boolean {
  return detail?.state === 'running' && detail.health === 'starting';
}
