import { Readable } from 'node:stream';
import type { Grant } from '../grants/grant.ts';
import { openBesideIn } from './beside.ts';
import type { LibpodInspected } from './container-detail.ts';
import type { EngineWriter } from './engine.ts';
import { acknowledged, refusalOf, unlessMissing } from './engine-faults.ts';
import type { EngineLink } from './engine-link.ts';
import { execIn } from './exec.ts';
import { execStreamIn } from './exec-stream.ts';
import { imageNameParts } from './image-name.ts';
import type { EngineTraits } from './negotiate.ts';
import { pullImage } from './pull.ts';
import { openTerminalIn } from './terminal-session.ts';

/** Deleting many gigabytes takes its time; the act's own limit is usually the shorter one. */
const pruneLimitMs = 30 * 60_000;

/** What Docker gives a container for which nothing else was said. */
const dockerGraceSeconds = 10;

/**
 * What changes something at the engine. Every request is made under the grant's signal, which carries the act's limit: a grant whose act
 * is over opens nothing.
 */
export function engineWriter(link: EngineLink, grant: Grant, ready: (signal: AbortSignal) => Promise<EngineTraits>): EngineWriter {
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

  /** Podman 4 keeps 0 for a container that was created through Docker's API without a grace period, and would kill it at once. */
  const missingGrace = async (id: string, abortSignal: AbortSignal): Promise<number | undefined> => {
    const { libpodVersion } = await ready(abortSignal);
    if (!libpodVersion) return undefined;
    const inspected = await unlessMissing(
      link.get<LibpodInspected>(`/libpod/containers/${encodeURIComponent(id)}/json`, { signal: abortSignal, libpodVersion }),
    );
    return inspected?.Config?.StopTimeout === 0 ? dockerGraceSeconds : undefined;
  };

  return {
    start: (id) => unlessSo((abortSignal) => container(id).start({ abortSignal })),
    stop: (id, { graceSeconds } = {}) =>
      unlessSo(async (abortSignal) =>
        container(id).stop({ ...seconds(graceSeconds ?? (await missingGrace(id, abortSignal))), abortSignal }),
      ),
    restart: (id, { graceSeconds } = {}) =>
      act(async (abortSignal) =>
        acknowledged(container(id).restart({ ...seconds(graceSeconds ?? (await missingGrace(id, abortSignal))), abortSignal })),
      ),
    pause: (id) => act((abortSignal) => acknowledged(container(id).pause({ abortSignal }))),
    unpause: (id) => act((abortSignal) => acknowledged(container(id).unpause({ abortSignal }))),
    remove: (id, { force, volumes }) => act((abortSignal) => acknowledged(container(id).remove({ force, v: volumes, abortSignal }))),
    openTerminal: async (id, argv, size) => {
      await ready(signal);
      return openTerminalIn(link, id, argv, size, grant);
    },
    exec: async (id, argv, { stdin } = {}) => {
      await ready(signal);
      return execIn(link, id, { argv, stdin, signal });
    },
    execStream: async (id, argv, { input = false } = {}) => {
      await ready(signal);
      return execStreamIn(link, id, argv, grant, input);
    },
    openBeside: async (plan) => {
      await ready(signal);
      return openBesideIn(link, plan, grant);
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
    pruneBuildCache: () =>
      act(async (abortSignal) => {
        // By hand: dockerode drops the options of this one.
        await link.getText('/build/prune', { method: 'POST', query: { all: true }, signal: abortSignal, limitMs: pruneLimitMs });
      }),
    pull: async (reference, told) => {
      const { kind } = await ready(signal);
      return pullImage(link, reference, { kind, signal, told });
    },
    tagImage: (id, reference) => {
      const { name, choice } = imageNameParts(reference);
      return act((abortSignal) =>
        acknowledged(
          (link.docker.getImage(encodeURIComponent(id)).tag as (options: object) => Promise<unknown>)({
            repo: name,
            tag: choice,
            abortSignal,
          }),
        ),
      );
    },
    createNetwork: (name, labels) =>
      act(async (abortSignal) => {
        // An engine of before 1.44 would make a second one of the same name.
        await link.docker.createNetwork({ Name: name, Driver: 'bridge', Labels: labels, CheckDuplicate: true, abortSignal });
      }),
    removeNetwork: (name) =>
      act((abortSignal) =>
        acknowledged((link.docker.getNetwork(encodeURIComponent(name)).remove as (options: object) => Promise<unknown>)({ abortSignal })),
      ),
    removeImage: (id) => act((abortSignal) => acknowledged(link.docker.getImage(encodeURIComponent(id)).remove({ abortSignal }))),
    removeVolume: (name) =>
      act((abortSignal) =>
        acknowledged((link.docker.getVolume(encodeURIComponent(name)).remove as (options: object) => Promise<unknown>)({ abortSignal })),
      ),
  };
}

function seconds(grace: number | undefined): { t?: number } {
  return grace === undefined ? {} : { t: grace };
}
