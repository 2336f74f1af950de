import { type Grant, mark } from './grant.ts';

/** Only `session/` may import this file (enforced by a lint rule). */
export function mintGrant(actId: string, right: Grant['right'], signal: AbortSignal): Grant {
  return { [mark]: true, actId, right, signal };
}
