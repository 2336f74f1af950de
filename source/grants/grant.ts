/** What a flow may do. Each includes nothing of the others. */
export type Right = 'read' | 'reveal' | 'operate' | 'destroy';

const minted = Symbol('grant');

/**
 * Proof that one act passed the session's checks (read-only, production, confirmation, lock-out).
 * Everything that changes the outside world asks for one; `session.act` alone mints them
 * (the lint rule for `grants/mint.ts` keeps it so).
 */
export interface Grant {
  readonly [minted]: true;
  readonly actId: string;
  readonly right: Exclude<Right, 'read'>;
  /** Ends with the act: a grant that was kept for later no longer opens anything. */
  readonly signal: AbortSignal;
}

/** Only for `mint.ts`. */
export const mark: typeof minted = minted;
