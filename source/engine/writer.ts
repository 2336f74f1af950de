import { Readable } from 'node:stream';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import { fullImageId } from './container-facts.ts';
import { isAnonymous } from './disk-usage.ts';
import type { DiskUsage, EngineWriter, PruneKind } from './engine.ts';
import { acknowledged, refusalOf } from './engine-faults.ts';
import type { EngineLink } from './engine-link.ts';
import { execIn } from './exec.ts';
import { openTerminalIn } from './terminal-session.ts';

/** Deleting many gigabytes takes its time; the act's own limit is usually the shorter one. */
const pruneLimitMs = 30 * 60_000;

interface Pruned {
  reclaimedBytes: number;
  removed: readonly string[];
}

/**
 * What changes something at the engine. Every request is made under the grant's signal, which carries the act's limit: a grant whose act
 * is over opens nothing.
 */
export function engineWriter(
  link: EngineLink,
  grant: Grant,
  { ready, diskUsage }: { ready: (signal: AbortSignal) => Promise<unknown>; diskUsage: (signal: AbortSignal) => Promise<DiskUsage> },
): EngineWriter {
  const { signal } = grant;
  const container = (id: string) => link.docker.getContainer(encodeURIComponent(id));
  const act = <T>(run: (abortSignal: AbortSignal) => Promise<T>): Promise<T> =>
    link.limited(signal, undefined, async (abortSignal) => {
      await ready(abortSignal);
      return run(abortSignal);
    });

  /** 304: it is so already. dockerode counts that as an error. */
  const unlessSo = (run: (abortSignal: AbortSignal) => Promise<unknown>): Promise<'done' | 'already'> =>
    act(async (abortSignal) => {
      try {
        await acknowledged(run(abortSignal));
        return 'done';
      } catch (thrown) {
        if (refusalOf(thrown)?.statusCode === 304) return 'already';
        throw thrown;
      }
    });

  const post = <T>(path: string, query: Readonly<Record<string, string | boolean>> = {}): Promise<T> =>
    act((abortSignal) => link.get<T>(path, { method: 'POST', query, signal: abortSignal, limitMs: pruneLimitMs }));

  const prune: Record<PruneKind, (all: boolean) => Promise<Pruned>> = {
    containers: async () => {
      const answer = await post<{ ContainersDeleted?: string[] | null; SpaceReclaimed?: number }>('/containers/prune');
      return { reclaimedBytes: answer.SpaceReclaimed ?? 0, removed: answer.ContainersDeleted ?? [] };
    },
    images: async (all) => {
      const filters = JSON.stringify({ dangling: [all ? 'false' : 'true'] });
      const answer = await post<{ ImagesDeleted?: { Deleted?: string; Untagged?: string }[] | null; SpaceReclaimed?: number }>('/images/prune', { filters });
      return { reclaimedBytes: answer.SpaceReclaimed ?? 0, removed: (answer.ImagesDeleted ?? []).flatMap(({ Deleted }) => (Deleted ? [fullImageId(Deleted)] : [])) };
    },
    networks: async () => {
      const answer = await post<{ NetworksDeleted?: string[] | null }>('/networks/prune');
      return { reclaimedBytes: 0, removed: answer.NetworksDeleted ?? [] };
    },
    'build-cache': async (all) => {
      // By hand: dockerode drops the options of this one.
      const answer = await post<{ CachesDeleted?: string[] | null; SpaceReclaimed?: number }>('/build/prune', { all });
      return { reclaimedBytes: answer.SpaceReclaimed ?? 0, removed: answer.CachesDeleted ?? [] };
    },
    volumes: pruneVolumes,
  };

  /**
   * Volumes one by one: what the engines' own prune takes depends on their age (before API 1.42, and on Podman, named ones too), and
   * data that nobody meant is gone for good.
   */
  async function pruneVolumes(all: boolean): Promise<Pruned> {
    await ready(signal);
    const unused = await link.get<{ Volumes?: { Name: string; Labels?: Record<string, string> | null }[] | null }>('/volumes', {
      signal,
      query: { filters: JSON.stringify({ dangling: ['true'] }) },
    });
    const wanted = (unused.Volumes ?? []).filter(({ Name, Labels }) => all || isAnonymous(Name, Labels));
    if (wanted.length === 0) return { reclaimedBytes: 0, removed: [] };
    const sizes = new Map((await diskUsage(signal)).volumes.map((volume) => [volume.name, volume.sizeBytes ?? 0]));
    const removed: string[] = [];
    const failures: Fault[] = [];
    for (const { Name } of wanted) {
      try {
        await removeVolume(Name);
        removed.push(Name);
      } catch (thrown) {
        if (!(thrown instanceof Fault) || !thrown.code.startsWith('engine.')) throw thrown;
        // Taken into use meanwhile, or gone: neither is ours to force.
        if (thrown.code !== 'engine.conflict' && thrown.code !== 'engine.missing') failures.push(thrown);
      }
    }
    const [first] = failures;
    if (first) {
      throw new Fault({
        code: 'engine.failed',
        message: `${removed.length} of ${wanted.length} volumes were removed, then: ${first.message}`,
        remedy: first.remedy,
        cause: first,
      });
    }
    return { reclaimedBytes: removed.reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0), removed };
  }

  const removeVolume = (name: string) =>
    act((abortSignal) => acknowledged((link.docker.getVolume(encodeURIComponent(name)).remove as (options: object) => Promise<unknown>)({ abortSignal })));

  return {
    start: (id) => unlessSo((abortSignal) => container(id).start({ abortSignal })),
    stop: (id, { graceSeconds } = {}) => unlessSo((abortSignal) => container(id).stop({ ...seconds(graceSeconds), abortSignal })),
    restart: (id, { graceSeconds } = {}) =>
      act((abortSignal) => acknowledged(container(id).restart({ ...seconds(graceSeconds), abortSignal }))),
    pause: (id) =>
      act((abortSignal) => acknowledged(container(id).pause({ abortSignal }))),
    unpause: (id) =>
      act((abortSignal) => acknowledged(container(id).unpause({ abortSignal }))),
    remove: (id, { force, volumes }) =>
      act((abortSignal) => acknowledged(container(id).remove({ force, v: volumes, abortSignal }))),
    openTerminal: async (id, argv, size) => {
      await ready(signal);
      return openTerminalIn(link, id, argv, size, grant);
    },
    exec: async (id, argv, { stdin } = {}) => {
      await ready(signal);
      return execIn(link, id, { argv, stdin, signal });
    },
    putArchive: (id, folder, archive) =>
      act(async (abortSignal) => {
        try {
          const answer = (await container(id).putArchive(archive, { path: folder, abortSignal })) as unknown;
          // Its body is empty, but as long as nobody has read it the connection stays.
          if (answer instanceof Readable) answer.resume();
        } finally {
          // Refused before it was read: whoever makes the archive must not wait for ever.
          if (archive instanceof Readable) archive.destroy();
        }
      }),
    prune: (kind, { all = false } = {}) => prune[kind](all),
    removeImage: (id) =>
      act((abortSignal) => acknowledged(link.docker.getImage(encodeURIComponent(id)).remove({ abortSignal }))),
    removeVolume,
  };
}

function seconds(grace: number | undefined): { t?: number } {
  return grace === undefined ? {} : { t: grace };
}
