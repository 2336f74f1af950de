import type { ContainerDetail, Engine } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import { pauseFor } from '../faults/waits.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { cut } from '../text/width.ts';
import { namesText } from '../text/words.ts';

const everyMs = 1_000;
/** Engines start a check a little late. */
const slackMs = 5_000;
/** What fails for so long without a break does not heal by waiting. Podman counts failures from before the restart, so its first verdict may be none. */
const failingLimitMs = 30_000;
const outputCharacters = 200;

/**
 * Waits until the health checks of these containers have answered, with a countdown. Returns a sentence for the outcome, empty where none declares one.
 * Throws `failed.unhealthy`.
 */
export async function awaitHealthChecks(
  session: Session,
  engine: Engine,
  containers: readonly { id: string; name: string }[],
): Promise<string> {
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
      throw new Fault({
        code: 'failed.unhealthy',
        message: `The health check of ${name} fails${output ? `: ${output}` : '.'}`,
        remedy: `Its log says why: quarterdeck logs ${name}`,
      });
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
