/** The right that a flow needs. No right includes another. */
export type Right = 'read' | 'reveal' | 'operate' | 'destroy';

const minted = Symbol('grant');

/**
 * Proof that one action passed the session's checks (read-only, production, confirmation, lock-out). Every function that changes the
 * outside world requires one; only `session.act` creates them (enforced by the lint rule for `grants/mint.ts`).
 */
export interface Grant {
  readonly [minted]: true;
  readonly actId: string;
  readonly right: Exclude<Right, 'read'>;
  /** Expires with the action: a grant that is kept for later gives no access. */
  readonly signal: AbortSignal;
}

/** Only `mint.ts` may call this. */
export const mark: typeof minted = minted;
