import type { Handout } from '../../flows/secrets/deliver.ts';
import type { Session } from '../../session/session.ts';

/** R75. */
const usualShares = 5;
const usualThreshold = 3;
/** Shares are numbered with one byte, from 1. */
const mostShares = 255;

export interface ShareCounts {
  shares: number;
  threshold: number;
}

/** The defaults are the current numbers, if any. */
export async function askCounts(session: Session, now?: ShareCounts): Promise<ShareCounts> {
  const shares = await session.ask.number({
    id: 'shares',
    label: 'Key shares in all',
    help: 'One for each holder. Each of them alone opens nothing.',
    initial: String(now?.shares || usualShares),
    least: 1,
    most: mostShares,
  });
  if (shares === 1) return { shares, threshold: 1 };
  const threshold = await session.ask.number({
    id: 'threshold',
    label: 'How many of them open it together',
    help: 'So many holders have to be found after every restart. The others may be lost; one more, and it never opens again.',
    initial: String(Math.min(Math.max(now?.threshold || usualThreshold, 2), shares)),
    least: 2,
    most: shares,
  });
  return { shares, threshold };
}

export function shareHandouts(shares: readonly string[], labels: readonly string[]): Handout[] {
  return shares.map((value, at) => ({
    id: `share-${at + 1}`,
    label: labels[at] ?? '',
    value,
    whose: `the holder of share ${at + 1}`,
  }));
}

export function shareLabels(kind: string, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${kind} ${at + 1} of ${count}`);
}
