import type { ContainerFacts, Engine, VolumeFacts } from '../engine/engine.ts';
import type { Host, HostFacts, Listener } from '../hosts/host.ts';
import { type FreeSpace, freeSpace } from './free-space.ts';

/** What preflight asks a host and its engine that is the same for every component: asked once, and only when somebody wants to know. */
export interface HostAnswers {
  hostFacts: () => Promise<HostFacts>;
  listeners: () => Promise<readonly Listener[]>;
  containers: () => Promise<readonly ContainerFacts[]>;
  volumes: () => Promise<readonly VolumeFacts[]>;
  /** Of the filesystems that these paths are on, or will be. */
  freeSpace: (paths: readonly string[]) => Promise<readonly FreeSpace[]>;
}

export function askHost(host: Host, engine: Engine, signal: AbortSignal): HostAnswers {
  const spaces = new Map<string, Promise<readonly FreeSpace[]>>();
  return {
    hostFacts: once(() => host.facts(signal)),
    listeners: once(() => host.listeners(signal)),
    containers: once(() => engine.list(signal)),
    volumes: once(() => engine.volumes(signal)),
    freeSpace: (paths) => {
      const key = paths.join('\n');
      const asked = spaces.get(key) ?? freeSpace(host, paths, signal);
      spaces.set(key, asked);
      return asked;
    },
  };
}

/** Asks when first called, and remembers the answer. */
export function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () => {
    answer ??= ask();
    return answer;
  };
}
