import { Fault } from '../../faults/fault.ts';
import type { FlowContext } from '../../flows/flow.ts';
import { durationText } from '../../text/quantities.ts';
import { OverlayBook, type OverlayMesh } from './client/overlay-book.ts';
import type { OverlayCertificate } from './client/overlay-certificates.ts';

/** Enough time to renew the certificate during working hours. */
export const soonMs = 30 * 86_400_000;

export function bookOf({ dataFolder }: FlowContext, engineName: string): OverlayBook {
  if (dataFolder === undefined) throw new Error('the data folder belongs to the app');
  return new OverlayBook(dataFolder, engineName);
}

export async function meshOf(book: OverlayBook): Promise<OverlayMesh> {
  const mesh = await book.read();
  if (mesh) return mesh;
  throw new Fault('failed.overlay', 'This mesh has no authority yet.', 'Make one: quarterdeck overlay ca');
}

export function dayText(ms: number): string {
  return Number.isNaN(ms) ? '' : new Date(ms).toISOString().slice(0, 10);
}

export function endText(untilMs: number, nowMs: number): string {
  if (untilMs < nowMs) return `over since ${durationText(nowMs - untilMs)}`;
  return `${untilMs - nowMs < soonMs ? 'ends soon, ' : ''}${durationText(untilMs - nowMs)} left`;
}

export function jsonOf({ fromMs, untilMs, ...one }: OverlayCertificate): object {
  return { ...one, from: new Date(fromMs).toISOString(), until: new Date(untilMs).toISOString() };
}
