import type { ContainerDetail, ContainerFacts } from '../engine/engine.ts';
import { cleanLine } from '../text/clean.ts';
import { agoText, countText } from '../text/quantities.ts';
import { cut } from '../text/width.ts';
import type { StateName, Tone } from './model.ts';
import type { Outage } from './observations.ts';

/** What was seen to happen to a container, and to its engine. All times are epoch milliseconds by the machine's clock. */
export interface ContainerHistory {
  /** When it died, oldest first. */
  diedMs: readonly number[];
  /** When the engine was last seen to be requested to stop it, or to send it a signal that ends programs. */
  stopAskedMs: number | undefined;
  /** A stop by Quarterdeck: when, and of the run that started when, where known. */
  ownStop?: { atMs: number; startedMs?: number };
  /** When the engine last reported that memory ran out in it. */
  oomMs?: number;
  /** When the engine itself last ended it, while it started. */
  tidiedMs?: number;
  /** When the engine was away, and was started again since. */
  outages?: readonly Outage[];
  /** When the engine started, where it tells (Docker). What it is to keep running is started again from then on. */
  engineStartedMs?: number;
  /** When the host started, of an engine whose restart policies do not reach over that by themselves (Podman). */
  bootedMs?: number;
  /** Whether a stop through the engine leaves a trace: in the events of Docker, in an inspect of Podman from 5 on. */
  reportsStops?: boolean;
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
  /** It ended, and there is no record of why. */
  causeUnknown?: true;
  /** With that: its host went down about then, and may be why. */
  mayBeMissed?: true;
}

const tones: Record<StateName, Tone> = {
  healthy: 'good',
  running: 'good',
  unhealthy: 'bad',
  starting: 'busy',
  restarting: 'bad',
  stopped: 'idle',
  failed: 'bad',
  killed: 'bad',
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
/** Between the end of a container and the event that reports it. */
const eventDelayMs = 5_000;
/** Before the host goes down, its services end containers. */
const shutdownMs = 180_000;
/** Around an outage of the engine: containers end a little before it is noticed, and leftovers are ended when it comes back. */
const outageBeforeMs = 5_000;
const outageAfterMs = 3_000;
/** Docker looks for what it left running when it starts, and gives it ten seconds to end, before it accepts requests. */
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

/** Exit codes of signals that come from people and shutdowns, not from faults of the program. */
const endingSignals: Readonly<Record<number, string>> = { 129: 'SIGHUP', 130: 'SIGINT', 131: 'SIGQUIT', 137: 'SIGKILL', 143: 'SIGTERM' };

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

function isNearStart(atMs: number | undefined, engineStartedMs: number): boolean {
  return atMs !== undefined && atMs > engineStartedMs - startMs && atMs < engineStartedMs + outageAfterMs;
}

function isDetail(container: ContainerFacts | ContainerDetail): container is ContainerDetail {
  return 'restartCount' in container;
}

/**
 * The state of one container in the operator's words (R5). An engine does not record who stopped a container, so that is inferred, in this order:
 * what was seen (a stop by Quarterdeck, a request to the engine, an outage), and what the restart policy rules out: the engine starts again what
 * ended by itself. Where neither tells, the state is `stopped`, and the detail says that there is no record.
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
    const startedMs = detail?.startedMs;
    const { stopAskedMs, ownStop, outages = [], bootedMs, engineStartedMs } = history;
    const isOfThisRun = (atMs: number | undefined) => atMs !== undefined && (startedMs === undefined || atMs >= startedMs);
    const isNearEnd = (atMs: number) => sinceMs === undefined || Math.abs(sinceMs - atMs) < stopGraceMs;
    // A stop before this run began was about another one: a restart is no stop.
    const stoppedFromHere =
      ownStop !== undefined &&
      (ownStop.startedMs !== undefined && startedMs !== undefined
        ? ownStop.startedMs === startedMs
        : isOfThisRun(ownStop.atMs) && isNearEnd(ownStop.atMs));
    // An engine that is away receives no requests: what it signals when it is stopped, and before it answers again, is its own tidying up.
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
    // Docker's code for an end that it did not see: it found nothing of the container when it started.
    const isUnseenEnd = exitCode === 255 && engineStartedMs !== undefined && isNearStart(sinceMs, engineStartedMs);
    const wentDownWithEngine =
      sinceMs !== undefined &&
      (isUnseenEnd ||
        (history.tidiedMs !== undefined && Math.abs(sinceMs - history.tidiedMs) < eventDelayMs) ||
        outages.some(({ fromMs, untilMs }) => sinceMs > fromMs - outageBeforeMs && sinceMs < untilMs + outageAfterMs));
    // Docker 20.10 takes its own ending of leftovers after a crash for a stop on request, and leaves `unless-stopped` containers down.
    if (wentDownWithEngine)
      return say('failed', `went down with the engine${when}, and was not started again`, isUnseenEnd ? { sinceMs } : more);
    if (bootedMs !== undefined && startedMs !== undefined && startedMs < bootedMs) {
      // The end of what a power cut ended is not recorded: then the end that is known is of an earlier run.
      const isEndRecorded = sinceMs !== undefined && sinceMs >= startedMs - eventDelayMs;
      const isNearBoot = kept && (sinceMs ?? 0) > bootedMs - shutdownMs;
      if (!isEndRecorded || (isNearBoot && history.reportsStops))
        return say('failed', 'went down with the host, and was not started again', isEndRecorded ? more : { sinceMs: bootedMs });
      if (isNearBoot) {
        const code = exitCode === undefined ? '' : ` with exit code ${exitCode}`;
        const text = `ended${code}${when}; no record of whether it was stopped or went down with the host`;
        return say('stopped', text, { ...more, tone: 'warn', causeUnknown: true, mayBeMissed: true });
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
        : // Podman says 255 or -1 of a container whose monitor was killed.
          bootedMs !== undefined && sinceMs > bootedMs && exitCode !== undefined && exitCode >= 0 && exitCode < 255);
    if (wouldRunAgain)
      return say(
        'stopped',
        `stopped on request (${exitText(exitCode ?? 0)})${when}: its restart policy would have started it again otherwise`,
        more,
      );
    const unknown = (text: string): ServiceState =>
      say('stopped', text, {
        ...more,
        tone: exitCode === 137 ? 'warn' : tones.stopped,
        causeUnknown: true,
        ...(kept && isRecent && { reconsiderMs: sinceMs + restartGapMs }),
      });
    if (exitCode === undefined) return unknown(`ended${when}; the engine reports no exit code`);
    const sawWholeEnd =
      history.reportsStops === true && sinceMs !== undefined && history.diedMs.some((at) => Math.abs(at - sinceMs) < eventDelayMs);
    if (exitCode === 0) {
      if (oneShot || sawWholeEnd) return say('finished', `finished its work${when}`, more);
      return unknown(`ended with exit code 0${when}; no record of whether it was stopped or finished its work`);
    }
    const signal = endingSignals[exitCode];
    if (signal !== undefined) {
      if (sawWholeEnd) return say('killed', `killed by ${signal} from outside the engine (exit code ${exitCode})${when}`, more);
      return unknown(`ended by ${signal} (exit code ${exitCode})${when}; no record of what sent it`);
    }
    // The engine would have started it again; it may have been stopped.
    if (kept && !sawWholeEnd) return unknown(`ended with ${exitText(exitCode)}${when}; no record of why`);
    return say(
      'failed',
      `failed with ${exitText(exitCode)}${restarts > 0 ? `, after ${countText(restarts, 'restart')}` : ''}${when}`,
      more,
    );
  }
}
