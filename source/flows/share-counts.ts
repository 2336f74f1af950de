import type { Session } from '../session/session.ts';

/** R75. */
const usualShares = 5;
const usualThreshold = 3;
/** A byte numbers the shares, and none is 0. */
const mostShares = 255;

export interface ShareCounts {
  shares: number;
  threshold: number;
}

/** How many key shares are to be made, and how many of them open it. `now` are those in force. */
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
