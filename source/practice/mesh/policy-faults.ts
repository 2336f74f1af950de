import { MeshFault } from './mesh-fault.ts';

/** A policy that cannot be read or makes no sense. */
export function invalid(reason: string): MeshFault {
  return new MeshFault(2, `parsing policy: ${reason}`);
}

/** What Go's decoder says: where, and into which type it did not fit. */
export function unfit(json: string, goType: string, pointer: string, reason?: string): MeshFault {
  const where = pointer === '' ? '' : ` within "${pointer}"`;
  const text = `json: cannot unmarshal JSON ${json} into Go ${goType}${where}`;
  return invalid(`parsing policy from bytes: ${text}${reason === undefined ? '' : `: ${reason}`}`);
}

/** As the decoder names what it found. */
export function jsonTypeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
