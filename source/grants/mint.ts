import { type Grant, mark } from './grant.ts';

/** Only `session/` may import this file; a lint rule says so. */
export function mintGrant(actId: string, right: Grant['right'], signal: AbortSignal): Grant {
  return { [mark]: true, actId, right, signal };
}
