import { uptimeInStatus } from '../engine/container-facts.ts';
import type { ContainerDetail, ContainerFacts } from '../engine/engine.ts';
import { cleanLine } from '../text/clean.ts';
import { agoText, countText } from '../text/quantities.ts';
import { cut } from '../text/width.ts';
import type { ComponentView, ServiceStateId, ServiceView, Severity } from './model.ts';
import type { Outage } from './observations.ts';

/** Events seen for a container and for its engine. All times are epoch milliseconds by the machine's clock. */
export interface ContainerHistory {
  diedMs: readonly number[];
  /** When the engine last received a request to stop it, or to send it a signal that ends programs. */
  stopAskedMs: number | undefined;
  /** A stop by Quarterdeck: its time, and the start time of the run that it stopped, where known. */
  ownStop?: { atMs: number; startedMs?: number };
  oomMs?: number;
  tidiedMs?: number;
  /** When the engine was unreachable, and was restarted since. */
  outages?: readonly Outage[];
  /** When the engine started, where it reports that (Docker). Restart policies apply from then on. */
  engineStartedMs?: number;
  /** When the host started, for an engine whose restart policies do not cover a reboot by themselves (Podman). */
  bootedMs?: number;
  /** Whether a stop through the engine leaves a trace: in the events of Docker, in an inspect of Podman from 5 on. */
  reportsStops?: boolean;
}

export interface ServiceState
  extends Pick<ServiceView, 'state' | 'severity' | 'detail' | 'sinceMs' | 'exitCode' | 'restarts' | 'causeUnknown' | 'mayBeMissed'> {
  reconsiderMs: number | undefined;
}

export const severities = {
  healthy: 'ok',
  running: 'ok',
  unhealthy: 'error',
  starting: 'busy',
  restarting: 'error',
  stopped: 'off',
  failed: 'error',
  killed: 'error',
  completed: 'off',
  paused: 'warning',
  created: 'off',
  removing: 'busy',
  missing: 'warning',
  unknown: 'unknown',
} as const satisfies Record<string, Severity>;

const serving: ReadonlySet<ServiceStateId> = new Set(['healthy', 'running', 'unhealthy', 'starting']);

export const isServing = (state: ServiceStateId): boolean => serving.has(state);

/** Returns whether the main service of a component runs; others may be down. */
export function mainRuns({ services }: Pick<ComponentView, 'services'>): boolean {
  return services.some(({ main, state }) => main && isServing(state));
}

/** Returns whether its programs run, or the engine will restart them by itself. */
export const isUpState = (state: ServiceStateId): boolean => serving.has(state) || state === 'restarting';

const loopDeaths = 3;
const loopWindowMs = 5 * 60_000;
/** A container that has stayed up for this long has left its loop: the engine resets its own back-off after 10 s. */
const stableMs = 30_000;
/** Delay between the end of a container and its next start by the restart policy, where the engine has no state for it (Podman). */
const restartGapMs = 2_000;
/** A stop waits for its grace period (10 s by default) before the container ends. */
const stopGraceMs = 120_000;
/** Delay between the end of a container and the event that reports it. */
const eventDelayMs = 5_000;
/** Before the host goes down, its services end containers. */
const shutdownMs = 180_000;
/** Margin around an outage of the engine: containers end a little before it is noticed, and leftovers are ended when the engine is back. */
const outageBeforeMs = 5_000;
const outageAfterMs = 3_000;
/** When Docker starts, it looks for leftover containers and gives them ten seconds to end, before it accepts requests. */
const startMs = 15_000;

const signalNames: Record<number, string> = {
  129: 'SIGHUP',
  130: 'SIGINT',
  131: 'SIGQUIT',
  134: 'SIGABRT',
  137: 'SIGKILL',
  139: 'SIGSEGV',
  143: 'SIGTERM',
};

/** Exit codes of signals that come from faults of the program; the others come from people and shutdowns. */
const faultCodes: ReadonlySet<number> = new Set([134, 139]);

function exitText(code: number): string {
  const signal = signalNames[code];
  return signal ? `exit code ${code}, ${signal}` : `exit code ${code}`;
}

/** Returns whether a list is enough to tell its state: it has been up for too long to be in a loop, and its health is all that it says. */
export function isDecidedByList({ state, health, statusText, networkMode }: ContainerFacts): boolean {
  const isWell = state === 'running' && (health === 'healthy' || health === 'none');
  return isWell && uptimeInStatus(statusText) !== undefined && !networkMode.startsWith('container:');
}

/** Reads the exit code in `Exited (137) 2 minutes ago`, for the time before an inspect has responded. */
function exitCodeOfStatus(statusText: string): number | undefined {
  const [, code] = /^Exited \((\d+)\)/.exec(statusText) ?? [];
  return code === undefined ? undefined : Number(code);
}

/** Docker before 28 and Podman, Docker since, Docker about its own containers. */
const takenPort: readonly RegExp[] = [
  /listen (?<protocol>tcp|udp)[46]? (?<address>\S+): bind: address already in use/,
  /bind host port (?:for )?(?<address>(?:\[[^\]\s]*\]|[^\s:/]+):\d+)\S*\/(?<protocol>tcp|udp|sctp): address already in use/,
  /Bind for (?<address>\S+) failed: port is already allocated/,
];

/** `127.0.0.1:8180` */
export function takenPortIn(error: string): { address: string; protocol: string | undefined } | undefined {
  for (const pattern of takenPort) {
    const { address, protocol } = pattern.exec(error)?.groups ?? {};
    if (address !== undefined) return { address, protocol };
  }
  return undefined;
}

/** Returns an engine's reason in one line, the cause first: the text before it is long, and a narrow screen cuts off the end. */
export function startProblem(error: string): string {
  const text = cleanLine(error);
  const taken = takenPortIn(text);
  if (taken) return `port ${taken.address}${taken.protocol === undefined ? '' : `/${taken.protocol}`} is already in use`;
  return cut(text.replace(/\b([0-9a-f]{12})[0-9a-f]{52}\b/g, '$1'), 300);
}

function isNearStart(atMs: number | undefined, engineStartedMs: number): boolean {
  return atMs !== undefined && atMs > engineStartedMs - startMs && atMs < engineStartedMs + outageAfterMs;
}

/**
 * The state of one container in the operator's words (R5). An engine does not record who stopped a container, so that is inferred, in
 * this order: observed events (a stop by Quarterdeck, a request to the engine, an outage), and what the restart policy rules out: the
 * engine restarts containers that ended by themselves. If neither decides, the state is `stopped`, and the detail says that there is no
 * record.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: the order of its checks is the decision
export function serviceState(
  container: ContainerFacts | ContainerDetail,
  history: ContainerHistory,
  nowMs: number,
  { oneShot = false }: { oneShot?: boolean } = {},
): ServiceState {
  const detail = 'restartCount' in container ? container : undefined;
  const restarts = detail?.restartCount ?? 0;
  const base = { exitCode: undefined, restarts, reconsiderMs: undefined, sinceMs: detail?.startedMs };
  const say = (state: ServiceStateId, text: string, more: Partial<ServiceState> = {}): ServiceState => ({
    state,
    severity: severities[state],
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
      return say('paused', 'paused: its processes are frozen');
    case 'restarting':
      return loop(detail);
    case 'running': {
      const deaths = history.diedMs.filter((at) => nowMs - at < loopWindowMs);
      const startedMs = detail?.startedMs;
      const young = startedMs !== undefined && nowMs - startedMs < stableMs;
      // Only restarts by the engine itself count: Podman does not report who stopped and started a container by hand.
      const looping = restarts > 0 && deaths.length >= loopDeaths;
      const seenAsLoop = young && restarts >= loopDeaths;
      // A stop and a start by hand are deaths too, but no loop.
      const stoppedMs = Math.max(history.stopAskedMs ?? 0, history.ownStop?.atMs ?? 0);
      const byHand = startedMs !== undefined && startedMs - stoppedMs < stopGraceMs && startedMs >= stoppedMs;
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
        const output = cut(cleanLine(detail?.healthOutputs.at(-1)?.trim() ?? ''), 200);
        return say('unhealthy', output ? `its health check fails: ${output}` : 'its health check fails');
      }
      case 'starting':
        return say('starting', 'up, but its health check has not passed yet');
      case 'none':
        return say('running', 'up; it declares no health check');
    }
  }

  function loop(known: ContainerDetail | undefined): ServiceState {
    const count = known?.restartCount || history.diedMs.length;
    const code = known?.exitCode;
    const often = count > 0 ? `restarted ${countText(count, 'time')}` : 'restarting';
    // A running container's exit code is 0 and says nothing about the previous run.
    const why = known?.outOfMemory
      ? ', last killed because memory ran out'
      : code !== undefined && known?.state !== 'running'
        ? `, last ${exitText(code)}`
        : '';
    return say('restarting', `${often}${why}`, { exitCode: known?.state === 'running' ? undefined : code, restarts: count });
  }

  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: the order of its checks is the decision
  function ended(): ServiceState {
    const exitCode = detail?.exitCode ?? exitCodeOfStatus(container.statusText);
    const sinceMs = detail?.finishedMs;
    const more = { exitCode, sinceMs };
    const when = sinceMs === undefined ? '' : `, ${agoText(nowMs - sinceMs)}`;
    if (detail?.error && exitCode !== 0) return say('failed', `could not be started: ${startProblem(detail.error)}`, more);
    const startedMs = detail?.startedMs;
    const { stopAskedMs, ownStop, outages = [], bootedMs, engineStartedMs } = history;
    const isOfThisRun = (atMs: number | undefined) => atMs !== undefined && (startedMs === undefined || atMs >= startedMs);
    const isNearEnd = (atMs: number) => sinceMs === undefined || Math.abs(sinceMs - atMs) < stopGraceMs;
    // A stop before this run began belongs to another run: a restart is not a stop.
    const stoppedFromHere =
      ownStop !== undefined &&
      (ownStop.startedMs !== undefined && startedMs !== undefined
        ? ownStop.startedMs === startedMs
        : isOfThisRun(ownStop.atMs) && isNearEnd(ownStop.atMs));
    // An unreachable engine gets no requests: signals that it sends until it accepts requests again are its own cleanup.
    const isTidyingUp = (atMs: number) => outages.some(({ fromMs, untilMs }) => atMs >= fromMs && atMs < untilMs);
    const asked =
      detail?.stoppedByUser ||
      stoppedFromHere ||
      (stopAskedMs !== undefined && isOfThisRun(stopAskedMs) && isNearEnd(stopAskedMs) && !isTidyingUp(stopAskedMs));
    const ranOutOfMemory = detail?.outOfMemory || (exitCode === 137 && isOfThisRun(history.oomMs));
    if (ranOutOfMemory && (exitCode === 137 || !asked))
      return say('killed', `killed because memory ran out (${exitText(exitCode ?? 137)})${when}`, more);
    if (asked) return say('stopped', `stopped by an operator${when}`, more);

    const kept = (detail?.restartPolicy === 'always' || detail?.restartPolicy === 'unless-stopped') && !oneShot;
    // Docker's code for an end that it did not see: it found no trace of the container's process when it started.
    const isUnseenEnd = exitCode === 255 && engineStartedMs !== undefined && isNearStart(sinceMs, engineStartedMs);
    const wentDownWithEngine =
      sinceMs !== undefined &&
      (isUnseenEnd ||
        (history.tidiedMs !== undefined && Math.abs(sinceMs - history.tidiedMs) < eventDelayMs) ||
        outages.some(({ fromMs, untilMs }) => sinceMs > fromMs - outageBeforeMs && sinceMs < untilMs + outageAfterMs));
    // After a crash, Docker 20.10 records its own ending of leftovers as a requested stop, and leaves `unless-stopped` containers down.
    if (wentDownWithEngine)
      return say('failed', `went down with the engine${when}, and was not started again`, isUnseenEnd ? { sinceMs } : more);
    if (bootedMs !== undefined && startedMs !== undefined && startedMs < bootedMs) {
      // The end of a container in a power cut is not recorded: then the known end belongs to an earlier run.
      const isEndRecorded = sinceMs !== undefined && sinceMs >= startedMs - eventDelayMs;
      const isNearBoot = kept && (sinceMs ?? 0) > bootedMs - shutdownMs;
      if (!isEndRecorded || (isNearBoot && history.reportsStops))
        return say('failed', 'went down with the host and was not started again', isEndRecorded ? more : { sinceMs: bootedMs });
      if (isNearBoot) {
        const code = exitCode === undefined ? '' : ` with exit code ${exitCode}`;
        const text = `ended${code}${when}; no record of whether it was stopped or went down with the host`;
        return say('stopped', text, { ...more, severity: 'warning', causeUnknown: true, mayBeMissed: true });
      }
    }
    const ends = Math.max(detail?.restartCount ?? 0, history.diedMs.filter((at) => nowMs - at < loopWindowMs).length);
    const isRecent = sinceMs !== undefined && nowMs - sinceMs < restartGapMs;
    if (detail && detail.restartPolicy !== 'no' && ends >= loopDeaths && isRecent)
      return { ...loop(detail), reconsiderMs: sinceMs + restartGapMs };
    const wouldRunAgain =
      kept &&
      sinceMs !== undefined &&
      !isRecent &&
      (engineStartedMs !== undefined
        ? sinceMs > engineStartedMs
        : // Podman reports 255 or -1 for a container whose monitor was killed.
          bootedMs !== undefined && sinceMs > bootedMs && exitCode !== undefined && exitCode >= 0 && exitCode < 255);
    const onRequest = `stopped on request (${exitText(exitCode ?? 0)})${when}`;
    if (wouldRunAgain) return say('stopped', `${onRequest}; otherwise its restart policy would have started it again`, more);
    const unknown = (text: string): ServiceState =>
      say('stopped', text, {
        ...more,
        severity: exitCode === 137 ? 'warning' : severities.stopped,
        causeUnknown: true,
        ...(kept && isRecent && { reconsiderMs: sinceMs + restartGapMs }),
      });
    if (exitCode === undefined) return unknown(`ended${when}; the engine reports no exit code`);
    const sawWholeEnd =
      history.reportsStops === true && sinceMs !== undefined && history.diedMs.some((at) => Math.abs(at - sinceMs) < eventDelayMs);
    if (exitCode === 0) {
      if (oneShot || sawWholeEnd) return say('completed', `finished its work${when}`, more);
      return unknown(`ended with exit code 0${when}; no record of whether it was stopped or finished its work`);
    }
    const signal = faultCodes.has(exitCode) ? undefined : signalNames[exitCode];
    if (signal !== undefined) {
      if (sawWholeEnd) return say('killed', `killed by ${signal} from outside the engine (exit code ${exitCode})${when}`, more);
      return unknown(`ended by ${signal} (exit code ${exitCode})${when}; no record of what sent it`);
    }
    // The engine would have restarted it; it may have been stopped.
    if (kept && !sawWholeEnd) return unknown(`ended with ${exitText(exitCode)}${when}; no record of why`);
    const after = restarts > 0 ? `, after ${countText(restarts, 'restart')}` : '';
    return say('failed', `failed with ${exitText(exitCode)}${after}${when}`, more);
  }
}
