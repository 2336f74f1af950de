import { type Duplex, Readable } from 'node:stream';
import type Docker from 'dockerode';
import type { Grant } from '../grants/grant.ts';
import type { LibpodInspected } from './container-detail.ts';
import { type EngineWriter, helperLabel } from './engine.ts';
import { acknowledged, refusalOf, unlessMissing } from './engine-faults.ts';
import type { EngineLink } from './engine-link.ts';
import { execIn, execStreamIn, openTerminalIn } from './exec.ts';
import { imageNameParts } from './image-name.ts';
import type { EngineTraits } from './negotiate.ts';
import { pullImage } from './pull.ts';

/** Deleting many gigabytes takes time; the action's own limit is usually shorter. */
const pruneLimitMs = 30 * 60_000;

/** dockerode's types omit that these methods accept options too. */
type WithOptions = (options: object) => Promise<unknown>;

const dockerGraceSeconds = 10;

/** Every request runs under the grant's signal, which carries the action's limit: a grant whose action is over opens nothing. */
export function engineWriter(link: EngineLink, grant: Grant, ready: (signal: AbortSignal) => Promise<EngineTraits>): EngineWriter {
  const { signal } = grant;
  const container = (id: string) => link.docker.getContainer(encodeURIComponent(id));
  const act = <T>(run: (abortSignal: AbortSignal) => Promise<T>): Promise<T> =>
    link.limited(signal, undefined, async (abortSignal) => {
      await ready(abortSignal);
      return run(abortSignal);
    });

  const change = (run: (abortSignal: AbortSignal) => Promise<unknown>): Promise<void> =>
    act((abortSignal) => acknowledged(run(abortSignal)));

  /** 304: already in that state. dockerode treats that as an error. */
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

  /** Podman 4 stores 0 for a container that was created through Docker's API without a grace period, and would kill it at once. */
  const grace = async (id: string, chosen: number | undefined, abortSignal: AbortSignal): Promise<{ t?: number }> => {
    if (chosen !== undefined) return { t: chosen };
    const { libpodVersion } = await ready(abortSignal);
    if (!libpodVersion) return {};
    const inspected = await unlessMissing(
      link.get<LibpodInspected>(`/libpod/containers/${encodeURIComponent(id)}/json`, { signal: abortSignal, libpodVersion }),
    );
    return inspected?.Config?.StopTimeout === 0 ? { t: dockerGraceSeconds } : {};
  };

  return {
    start: (id) => unlessSo((abortSignal) => container(id).start({ abortSignal })),
    stop: (id, { graceSeconds } = {}) =>
      unlessSo(async (abortSignal) => container(id).stop({ ...(await grace(id, graceSeconds, abortSignal)), abortSignal })),
    restart: (id, { graceSeconds } = {}) =>
      change(async (abortSignal) => container(id).restart({ ...(await grace(id, graceSeconds, abortSignal)), abortSignal })),
    pause: (id) => change((abortSignal) => container(id).pause({ abortSignal })),
    unpause: (id) => change((abortSignal) => container(id).unpause({ abortSignal })),
    remove: (id, { force, volumes }) => change((abortSignal) => container(id).remove({ force, v: volumes, abortSignal })),
    openTerminal: (id, argv, size, options) => ready(signal).then(() => openTerminalIn(link, id, { argv, size, ...options }, grant)),
    exec: (id, argv, options = {}) => ready(signal).then(() => execIn(link, id, { argv, signal, ...options })),
    execStream: (id, argv, { input = false } = {}) => ready(signal).then(() => execStreamIn(link, id, argv, grant, input)),
    openBeside: (plan) => ready(signal).then(() => openBesideIn(link, plan, grant)),
    putArchive: (id, folder, archive) =>
      act(async (abortSignal) => {
        try {
          const answer = (await container(id).putArchive(archive, { path: folder, abortSignal })) as unknown;
          // Its body is empty, but the connection stays open until it is read.
          if (answer instanceof Readable) answer.resume();
        } finally {
          // Refused before it was read: the producer of the archive must not wait forever.
          if (archive instanceof Readable) archive.destroy();
        }
      }),
    pruneBuildCache: () =>
      act(async (abortSignal) => {
        // By hand: dockerode drops the options of this one.
        await link.getText('/build/prune', { method: 'POST', query: { all: true }, signal: abortSignal, limitMs: pruneLimitMs });
      }),
    pull: (reference, reported) => ready(signal).then(({ kind }) => pullImage(link, reference, { kind, signal, reported })),
    tagImage: (id, reference) => {
      const { name, choice } = imageNameParts(reference);
      return change((abortSignal) =>
        (link.docker.getImage(encodeURIComponent(id)).tag as WithOptions)({ repo: name, tag: choice, abortSignal }),
      );
    },
    createNetwork: (name, labels) =>
      act(async (abortSignal) => {
        // An engine before 1.44 would create a second one of the same name.
        await link.docker.createNetwork({ Name: name, Driver: 'bridge', Labels: labels, CheckDuplicate: true, abortSignal });
      }),
    removeNetwork: (name) =>
      change((abortSignal) => (link.docker.getNetwork(encodeURIComponent(name)).remove as WithOptions)({ abortSignal })),
    removeImage: (id) => change((abortSignal) => link.docker.getImage(encodeURIComponent(id)).remove({ abortSignal })),
    removeVolume: (name) =>
      change((abortSignal) => (link.docker.getVolume(encodeURIComponent(name)).remove as WithOptions)({ abortSignal })),
  };
}

/** It reads its input for as long as the connection is open, so that it ends and is removed even if our process is killed. */
async function openBesideIn(link: EngineLink, { mount, image }: Parameters<EngineWriter['openBeside']>[0], grant: Grant) {
  return link.limited(grant.signal, undefined, async (abortSignal) => {
    const container = await link.docker.createContainer({
      Image: image,
      Entrypoint: ['cat'],
      Cmd: [],
      User: '0:0',
      Labels: { [helperLabel]: 'volume' },
      AttachStdin: true,
      OpenStdin: true,
      StdinOnce: true,
      NetworkDisabled: true,
      Healthcheck: { Test: ['NONE'] },
      HostConfig: { Binds: [`${mount.source}:${mount.target}`], NetworkMode: 'none', AutoRemove: true },
      abortSignal,
    });
    let input: Duplex | undefined;
    const close = async () => {
      await container.remove({ force: true, v: false }).then(undefined, () => undefined);
      input?.destroy();
    };
    try {
      // The opening signal ends the stream too: so the stream uses the grant's signal, not the opening's.
      const options = { stream: true, stdin: true, hijack: true, abortSignal: grant.signal };
      input = (await container.attach(options as Docker.ContainerAttachOptions)) as Duplex;
      input.on('error', () => undefined);
      await acknowledged(container.start({ abortSignal }));
    } catch (thrown) {
      await close();
      throw thrown;
    }
    return { id: container.id, close };
  });
}
