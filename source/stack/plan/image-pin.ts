import { parseImage } from '../../catalog/images.ts';
import type { ImagePin } from '../model.ts';

export function pinOf(reference: string, { id, digests }: { id: string; digests: readonly string[] }): ImagePin {
  const digest = digestFor(reference, digests);
  return { reference, id, ...(digest !== undefined && { digest }) };
}

/** An image has several digests, and Podman lists all for all names: only that of its own name is certain to refer to it. */
export function digestFor(reference: string, digests: readonly string[]): string | undefined {
  const repository = parseImage(reference)?.repository;
  return repository === undefined ? digests[0] : digests.find((digest) => parseImage(digest)?.repository === repository);
}

/** `postgres:16` and `docker.io/library/postgres:16` are equal: Podman uses full names. */
export function isSameReference(one: string, other: string): boolean {
  if (one === other) return true;
  const [a, b] = [parseImage(one), parseImage(other)];
  return a !== undefined && b !== undefined && a.repository === b.repository && a.tag === b.tag && a.digest === b.digest;
}
