import { parseImage } from '../catalog/images.ts';
import type { ImagePin } from './model.ts';

/** What is known of an image, whatever it is called: see ImageDetail. */
export interface KnownImage {
  id: string;
  digests: readonly string[];
}

/** Exactly this image, under the name that it was asked for by. */
export function pinOf(reference: string, { id, digests }: KnownImage): ImagePin {
  const digest = digestFor(reference, digests);
  return { reference, id, ...(digest !== undefined && { digest }) };
}

/** An image has a digest for each name that it was pulled or loaded under, and Podman has all digests for all names: only that of its own name is known to lead back to it. */
export function digestFor(reference: string, digests: readonly string[]): string | undefined {
  const repository = parseImage(reference)?.repository;
  return repository === undefined ? digests[0] : digests.find((digest) => parseImage(digest)?.repository === repository);
}

/** `postgres:16` and `docker.io/library/postgres:16` are one: Podman writes names out. */
export function isSameReference(one: string, other: string): boolean {
  if (one === other) return true;
  const [a, b] = [parseImage(one), parseImage(other)];
  return a !== undefined && b !== undefined && a.repository === b.repository && a.tag === b.tag && a.digest === b.digest;
}
