import type { ContainerDetail } from './engine.ts';

/** An engine names the container whose network another one uses by id or name. */
export function gatewaysOf<T extends Pick<ContainerDetail, 'id' | 'name'>>(
  members: readonly Pick<ContainerDetail, 'networkMode'>[],
  all: Iterable<T>,
): T[] {
  const named = members.flatMap(({ networkMode }) => /^container:(.+)$/.exec(networkMode)?.[1] ?? []);
  if (named.length === 0) return [];
  return [...all].filter(({ id, name }) => named.some((one) => one === name || (one.length >= 12 && id.startsWith(one))));
}
