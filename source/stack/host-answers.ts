import type { ContainerFacts, Engine, ImageDetail, VolumeFacts } from '../engine/engine.ts';
import type { Host, HostFacts, Listener } from '../hosts/host.ts';
import { type FreeSpace, freeSpace } from './free-space.ts';

/** What plan and preflight ask a host and its engine that is the same for every component: asked once, and only when somebody wants to know. */
export interface HostAnswers {
  hostFacts: () => Promise<HostFacts>;
  listeners: () => Promise<readonly Listener[]>;
  containers: () => Promise<readonly ContainerFacts[]>;
  volumes: () => Promise<readonly VolumeFacts[]>;
  image: (reference: string) => Promise<ImageDetail | undefined>;
  /** Of the filesystems that these paths are on, or will be. */
  freeSpace: (paths: readonly string[]) => Promise<readonly FreeSpace[]>;
}

export function askHost(host: Host, engine: Engine, signal: AbortSignal): HostAnswers {
  return {
    hostFacts: once(() => host.facts(signal)),
    listeners: once(() => host.listeners(signal)),
    containers: once(() => engine.list(signal)),
    volumes: once(() => engine.volumes(signal)),
    image: onceEach((reference) => engine.image(reference, signal)),
    freeSpace: onceEach((paths) => freeSpace(host, paths, signal)),
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

/** The same for each question. */
function onceEach<Q extends string | readonly string[], A>(ask: (question: Q) => Promise<A>): (question: Q) => Promise<A> {
  const answers = new Map<string, Promise<A>>();
  return (question) => {
    const key = typeof question === 'string' ? question : question.join('\n');
    const answer = answers.get(key) ?? ask(question);
    answers.set(key, answer);
    return answer;
  };
}
