import type { ContainerDetail } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import { pauseFor } from '../../faults/waits.ts';
import { cleanLine } from '../../text/clean.ts';
import { cut } from '../../text/width.ts';
import { namesText } from '../../text/words.ts';
import type { EngineScope } from '../engine-scope.ts';

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
      const output = cut(cleanLine(detail.healthLog.at(-1)?.output.trim() ?? ''), outputCharacters);
      const message = `The health check of ${name} fails${output ? `: ${output}` : '.'}`;
      throw new Fault('failed.unhealthy', message, `Its log says why: quarterdeck logs ${name}`);
    }
    if (isAwaited(detail)) silent.push(name);
    else if (checked && detail?.health === 'healthy') passed.push(name);
  }
  return [
    passed.length > 0 && ` The health check of ${namesText(passed)} passes.`,
    silent.length > 0 && ` The engine has not run the health check of ${namesText(silent)} in its time.`,
  ]
    .filter(Boolean)
    .join('');
}

function isAwaited(detail: ContainerDetail | undefined): boolean {
  return detail?.state === 'running' && detail.health === 'starting';
}
