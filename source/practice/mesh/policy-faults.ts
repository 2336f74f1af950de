import { MeshFault } from './mesh-fault.ts';

// The decoder's library words this in one of two ways, by the toss of a coin at each start, so that nobody relies on either.
const verb = Math.random() < 0.5 ? 'cannot' : 'unable to';

/** A policy that cannot be read or makes no sense. */
export function invalid(reason: string): MeshFault {
  return new MeshFault(2, `parsing policy: ${reason}`);
}

/** What Go's decoder says: where, and into which type it did not fit. */
export function unfit(json: string, goType: string, pointer: string, reason?: string): MeshFault {
  const where = pointer === '' ? '' : ` within "${pointer}"`;
  const text = `json: ${verb} unmarshal JSON ${json} into Go ${goType}${where}`;
  return invalid(`parsing policy from bytes: ${text}${reason === undefined ? '' : `: ${reason}`}`);
}

/** As the decoder names what it found. */
export function jsonTypeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
