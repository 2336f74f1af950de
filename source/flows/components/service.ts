import type { ContainerDetail } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import { cleanLine } from '../../text/clean.ts';
import type { FlowInput } from '../flow.ts';
import type { ServiceTarget } from './service-targets.ts';
import { exitText } from './watch-container.ts';

/** A program that cannot run (a bad option, a missing file) ends within this time. */
export const settleMs = 1_000;

export const serviceFlag = { service: { meaning: 'only this service of the component', value: 'NAME' } } as const;

export const graceFlag = {
  grace: {
    meaning: 'how long a program may take to end before it is killed (default: as the container says, mostly 10)',
    value: 'SECONDS',
  },
} as const;

const defaultGraceSeconds = 10;
/** For a container that is never killed. */
const longestGraceSeconds = 3600;
/** Time after the grace period: killing, unmounting, and other work of the engine. */
const stopMarginMs = 30_000;

export function graceOf({ options: { grace } }: FlowInput): number | undefined {
  if (grace === undefined) return undefined;
  if (typeof grace === 'string' && /^\d{1,5}$/.test(grace)) return Number(grace);
  throw new Fault('usage.grace', `--grace takes a number of seconds, not "${grace}".`, 'For example: --grace 30');
}

/** Returns the time that an engine may need to stop a container. */
export function stopLimitMs(graceSeconds: number | undefined, container: ContainerDetail | undefined): number {
  const seconds = graceSeconds ?? container?.stopTimeoutSeconds ?? defaultGraceSeconds;
  return (seconds < 0 ? longestGraceSeconds : seconds) * 1000 + stopMarginMs;
}

export function endedAtOnce({ name }: ServiceTarget, detail: ContainerDetail | undefined): Fault {
  const error = cleanLine(detail?.error ?? '');
  const how =
    detail === undefined
      ? 'was removed right after its start'
      : detail.state === 'restarting'
        ? `ends again and again, last with ${exitText(detail)}`
        : `ended right after its start with ${exitText(detail)}`;
  return new Fault('failed.start', `${name} ${how}${error ? `: ${error}` : '.'}`, `Its log says why: quarterdeck logs ${name}`);
}
