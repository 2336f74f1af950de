import { Fault } from '../faults/fault.ts';
import { openLocalHost } from '../hosts/local-host.ts';
import { OverlayBook, type OverlayMesh } from '../products/overlay-book.ts';
import { type OverlayCertificate, OverlayCertificates } from '../products/overlay-certificates.ts';
import { durationText } from '../text/quantities.ts';
import type { FlowWorld } from './flow.ts';

/** Soon enough to renew by day. */
export const soonMs = 30 * 86_400_000;

export async function onThisMachine<T>(use: (certificates: OverlayCertificates) => Promise<T>): Promise<T> {
  const host = openLocalHost();
  try {
    return await use(new OverlayCertificates(host));
  } finally {
    await host.close();
  }
}

export function bookOf({ dataFolder }: FlowWorld, place: string): OverlayBook {
  if (dataFolder === undefined) throw new Error('the data folder belongs to the deck');
  return new OverlayBook(dataFolder, place);
}

export async function meshOf(book: OverlayBook): Promise<OverlayMesh> {
  const mesh = await book.read();
  if (mesh) return mesh;
  throw new Fault({ code: 'failed.overlay', message: 'This mesh has no authority yet.', remedy: 'Make one: quarterdeck overlay ca' });
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
