import type { Engine } from '../../engine/engine.ts';
import type { Host } from '../../hosts/host.ts';
import { freeSpace } from '../free-space.ts';

export type HostAnswers = ReturnType<typeof queryHost>;

/** Queries about a host and its engine that are the same for every component: each is sent once, and only on demand. */
export function queryHost(host: Host, engine: Engine, signal: AbortSignal) {
  return {
    hostFacts: once(() => host.facts(signal)),
    listeners: once(() => host.listeners(signal)),
    containers: once(() => engine.list(signal)),
    volumes: once(() => engine.volumes(signal)),
    image: onceEach((reference: string) => engine.image(reference, signal)),
    /** Facts about the filesystems of existing or future paths. */
    freeSpace: onceEach((paths: readonly string[]) => freeSpace(host, paths, signal)),
  };
}

export function once<T>(ask: () => Promise<T>): () => Promise<T> {
  const each = onceEach(ask);
  return () => each('');
}

function onceEach<Q extends string | readonly string[], A>(ask: (question: Q) => Promise<A>): (question: Q) => Promise<A> {
  const answers = new Map<string, Promise<A>>();
  return (question) => {
    const key = [question].flat().join('\n');
    const answer = answers.get(key) ?? ask(question);
    answers.set(key, answer);
    return answer;
  };
}
