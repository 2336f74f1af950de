import type { ContainerDetail, ContainerFacts } from '../engine/engine.ts';
import { cleanLine } from '../text/clean.ts';
import { agoText, countText } from '../text/quantities.ts';
import { cut } from '../text/width.ts';
import type { StateName, Tone } from './model.ts';

/** What was seen to happen to a container, from events. */
export interface ContainerHistory {
  /** When it died, epoch milliseconds, oldest first. */
  diedMs: readonly number[];
  /** When somebody last asked the engine to stop it, or sent it a signal that ends programs. */
  stopAskedMs: number | undefined;
  /** When the engine itself was away, as far as we saw it: from and until, epoch milliseconds. */
  outagesMs?: readonly (readonly [number, number])[];
  /** When the host started, of an engine whose restart policies do not reach over that by themselves (Podman). */
  bootedMs?: number;
}

export interface ServiceState {
  state: StateName;
  tone: Tone;
  detail: string;
  sinceMs: number | undefined;
  exitCode: number | undefined;
  restarts: number;
  /** When time alone may change this state, epoch milliseconds. */
  reconsiderMs: number | undefined;
}

const tones: Record<StateName, Tone> = {
  healthy: 'good',
  running: 'good',
  unhealthy: 'bad',
  starting: 'busy',
  restarting: 'bad',
  stopped: 'idle',
  failed: 'bad',
  finished: 'idle',
  paused: 'warn',
  created: 'idle',
  removing: 'busy',
  missing: 'warn',
  unknown: 'unknown',
};

const serving: ReadonlySet<StateName> = new Set(['healthy', 'running', 'unhealthy', 'starting']);

/** Do its programs run now, well or not? */
export function isServing(state: StateName): boolean {
  return serving.has(state);
}

/** Do its programs run, or will the engine start them again by itself? */
export function isUpState(state: StateName): boolean {
  return serving.has(state) || state === 'restarting';
}

export function toneOfState(state: StateName): Tone {
  return tones[state];
}

/** So many ends in so long are a loop and not bad luck. */
const loopDeaths = 3;
const loopWindowMs = 5 * 60_000;
/** A container that has stayed up for this long is out of its loop: the engine resets its own back-off after 10 s. */
const stableMs = 30_000;
/** Between the end of a container and its next start by the restart policy, where the engine has no word for it (Podman). */
const restartGapMs = 2_000;
/** A stop takes its grace period (10 s unless said otherwise) before the container ends. */
const stopGraceMs = 120_000;
/** Around an outage of the engine: containers end a little before it is noticed, and leftovers are ended when it comes back. */
const outageBeforeMs = 5_000;
const outageAfterMs = 3_000;

const signalNames: Record<number, string> = {
  129: 'SIGHUP',
  130: 'SIGINT',
  131: 'SIGQUIT',
  134: 'SIGABRT',
  137: 'SIGKILL',
  139: 'SIGSEGV',
  143: 'SIGTERM',
};

function exitText(code: number): string {
  const signal = signalNames[code];
  return signal ? `exit code ${code}, ${signal}` : `exit code ${code}`;
}

/** `Exited (137) 2 minutes ago` tells the code before an inspect has answered. */
function exitCodeOfStatus(statusText: string): number | undefined {
  const match = /^Exited \((\d+)\)/.exec(statusText);
  return match ? Number(match[1]) : undefined;
}

/** How engines say that a port is taken: Docker before 28 and Podman, Docker since, Docker about its own containers. */
const takenPort: readonly RegExp[] = [
  /listen (?<protocol>tcp|udp)[46]? (?<address>\S+): bind: address already in use/,
  /bind host port (?:for )?(?<address>(?:\[[^\]\s]*\]|[^\s:/]+):\d+)\S*\/(?<protocol>tcp|udp|sctp): address already in use/,
  /Bind for (?<address>\S+) failed: port is already allocated/,
];

/** The port, where an engine says that one is taken: `127.0.0.1:8180`. */
export function takenPortIn(error: string): { address: string; protocol: string | undefined } | undefined {
  for (const pattern of takenPort) {
    const { address, protocol } = pattern.exec(error)?.groups ?? {};
    if (address !== undefined) return { address, protocol };
  }
  return undefined;
}

/** An engine's reason in one line, the cause first: what stands before it is long, and a narrow screen cuts the end off. */
export function startProblem(error: string): string {
  const text = cleanLine(error);
  const taken = takenPortIn(text);
  if (taken) return `port ${taken.address}${taken.protocol === undefined ? '' : `/${taken.protocol}`} is taken already`;
  return cut(text.replace(/\b([0-9a-f]{12})[0-9a-f]{52}\b/g, '$1'), 300);
}

function isDetail(container: ContainerFacts | ContainerDetail): container is ContainerDetail {
  return 'restartCount' in container;
}

/**
 * The state of one container in the operator's words (R5). An engine does not record who stopped a container, so that is inferred, in this order:
 * what the engine says (Podman), what events said, and what the restart policy makes impossible: with `always` or `unless-stopped` a container
 * that ended by itself would have been started again.
 */
export function serviceState(
  container: ContainerFacts | ContainerDetail,
  history: ContainerHistory,
  nowMs: number,
  { oneShot = false }: { oneShot?: boolean } = {},
): ServiceState {
  const detail = isDetail(container) ? container : undefined;
  const restarts = detail?.restartCount ?? 0;
  const base = { exitCode: undefined, restarts, reconsiderMs: undefined, sinceMs: detail?.startedMs };
  const say = (state: StateName, text: string, more: Partial<ServiceState> = {}): ServiceState => ({
    state,
    tone: tones[state],
    detail: text,
    ...base,
    ...more,
  });

  switch (container.state) {
    case 'created': {
      if (detail?.error) return say('failed', `could not be started: ${startProblem(detail.error)}`, { sinceMs: container.createdMs });
      return say('created', 'created, never started', { sinceMs: container.createdMs });
    }
    case 'removing':
      return say('removing', 'being removed');
    case 'dead':
      return say('failed', 'dead: the engine could not remove it', { sinceMs: detail?.finishedMs });
    case 'paused':
      return say('paused', 'paused: its programs are frozen');
    case 'restarting':
      return loop(detail);
    case 'running': {
      const deaths = history.diedMs.filter((at) => nowMs - at < loopWindowMs);
      const startedMs = detail?.startedMs;
      const young = startedMs !== undefined && nowMs - startedMs < stableMs;
      // Only what the engine itself restarted counts: Podman does not tell who stopped and started a container by hand.
      const looping = restarts > 0 && deaths.length >= loopDeaths;
      const seenAsLoop = young && restarts >= loopDeaths;
      // A stop and a start by hand are deaths too, but no loop.
      const byHand =
        history.stopAskedMs !== undefined &&
        startedMs !== undefined &&
        startedMs - history.stopAskedMs < stopGraceMs &&
        startedMs >= history.stopAskedMs;
      if (young && !byHand && (looping || seenAsLoop)) {
        return { ...loop(detail), reconsiderMs: (startedMs ?? nowMs) + stableMs };
      }
      return up();
    }
    case 'exited':
      return ended();
  }

  function up(): ServiceState {
    switch (container.health) {
      case 'healthy':
        return say('healthy', 'its health check passes');
      case 'unhealthy': {
        const last = detail?.healthLog.at(-1);
        const output = last ? cut(cleanLine(last.output.trim()), 200) : '';
        return say('unhealthy', output ? `its health check fails: ${output}` : 'its health check fails');
      }
      case 'starting':
        return say('starting', 'up, its health check has not passed yet');
      case 'none':
        return say('running', 'up; it declares no health check');
    }
  }

  function loop(known: ContainerDetail | undefined): ServiceState {
    const count = known?.restartCount || history.diedMs.length;
    const code = known?.exitCode;
    const often = count > 0 ? `restarted ${countText(count, 'time')}` : 'restarting';
    // A running container's exit code is 0 and says nothing of the run before.
    const why = known?.outOfMemory
      ? ', last ended out of memory'
      : code !== undefined && known?.state !== 'running'
        ? `, last ended with ${exitText(code)}`
        : '';
    return say('restarting', `${often}${why}`, { exitCode: known?.state === 'running' ? undefined : code, restarts: count });
  }

  function ended(): ServiceState {
    const exitCode = detail?.exitCode ?? exitCodeOfStatus(container.statusText);
    const sinceMs = detail?.finishedMs;
    const more = { exitCode, sinceMs };
    const when = sinceMs === undefined ? '' : `, ${agoText(nowMs - sinceMs)}`;
    if (detail?.error && exitCode !== 0) return say('failed', `could not be started: ${startProblem(detail.error)}`, more);
    if (detail?.outOfMemory) return say('failed', `killed because memory ran out (${exitText(exitCode ?? 137)})${when}`, more);

    // Nobody asks an engine that is away: what it signals before it answers again is its own tidying up.
    const stopAskedMs = history.outagesMs?.some(
      ([from, until]) => history.stopAskedMs !== undefined && history.stopAskedMs > from && history.stopAskedMs < until,
    )
      ? undefined
      : history.stopAskedMs;
    // A stop before this run began was about another one: who restarts a program has not stopped it.
    const thisRun = stopAskedMs !== undefined && (detail?.startedMs === undefined || stopAskedMs >= detail.startedMs);
    const asked = thisRun && (sinceMs === undefined || Math.abs(sinceMs - stopAskedMs) < stopGraceMs);
    const kept = detail?.restartPolicy === 'always' || detail?.restartPolicy === 'unless-stopped';
    if (detail?.stoppedByUser || asked) return say('stopped', `stopped by an operator${when}`, more);
    const swept =
      sinceMs !== undefined &&
      history.outagesMs?.some(([from, until]) => sinceMs > from - outageBeforeMs && sinceMs < until + outageAfterMs);
    // Docker 20.10 takes its own ending of leftovers after a crash for a stop on request, and leaves `unless-stopped` containers down.
    if (swept) return say('failed', `went down with the engine${when}, and was not started again`, more);
    if (kept && !oneShot && history.bootedMs !== undefined && (detail?.startedMs ?? history.bootedMs) < history.bootedMs)
      return say('failed', 'went down with the host, and was not started again', more);
    const ends = Math.max(detail?.restartCount ?? 0, history.diedMs.filter((at) => nowMs - at < loopWindowMs).length);
    if (detail && detail.restartPolicy !== 'no' && ends >= loopDeaths && sinceMs !== undefined && nowMs - sinceMs < restartGapMs) {
      return { ...loop(detail), reconsiderMs: sinceMs + restartGapMs };
    }
    if (kept && !oneShot) return say('stopped', `stopped on request: ${detail?.restartPolicy} would have started it again${when}`, more);
    if (exitCode === 0) return say('finished', `finished its work${when}`, more);
    // These come from people and from shutdowns, not from faults of the program: what ran out of memory was told apart above.
    if (exitCode === 143 || exitCode === 130 || exitCode === 137)
      return say('stopped', `ended by a signal (${exitText(exitCode)})${when}`, more);
    return say(
      'failed',
      `failed with ${exitCode === undefined ? 'an unknown exit code' : exitText(exitCode)}${restarts > 0 ? `, after ${countText(restarts, 'restart')}` : ''}${when}`,
      more,
    );
  }
}
