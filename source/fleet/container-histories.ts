import type { EngineEvent, EngineKind } from '../engine/engine.ts';
import type { ContainerHistory } from './service-state.ts';

const historyMs = 10 * 60_000;

interface History {
  diedMs: readonly number[];
  stopAskedMs: number | undefined;
  /** Has it died, and not been started since? */
  ended: boolean;
}

const nothing: History = { diedMs: [], stopAskedMs: undefined, ended: false };

/** What events told of containers: when each died, and when somebody asked it to (R5). */
export class ContainerHistories {
  readonly #byId = new Map<string, History>();

  of(id: string): Pick<ContainerHistory, 'diedMs' | 'stopAskedMs'> {
    return this.#byId.get(id) ?? nothing;
  }

  take({ id, action, timeMs, signal }: EngineEvent, engine: EngineKind | undefined): void {
    const before = this.#byId.get(id) ?? nothing;
    if (action === 'die') {
      // After a reconnect those of the last moment come again.
      const diedMs = before.diedMs.includes(timeMs) ? before.diedMs : [...before.diedMs.filter((at) => timeMs - at < historyMs), timeMs];
      this.#byId.set(id, { ...before, diedMs, ended: true });
    } else if (action === 'start') {
      this.#byId.set(id, { ...before, ended: false });
      // Podman tells a restart when it begins, Docker when the new run is there already. One that follows an end is the restart policy's:
      // nobody asked.
    } else if (
      action === 'stop' ||
      (action === 'restart' && engine === 'podman' && !before.ended) ||
      (action === 'kill' && endsPrograms(signal))
    ) {
      this.#byId.set(id, { ...before, stopAskedMs: timeMs });
    }
  }

  forget(id: string): void {
    this.#byId.delete(id);
  }

  keepOnly(ids: ReadonlyMap<string, unknown>): void {
    for (const id of this.#byId.keys()) if (!ids.has(id)) this.#byId.delete(id);
  }
}

/** Signals that ask a program to end, by name or number; others (HUP, USR1) only tell it something. */
function endsPrograms(signal: string | undefined): boolean {
  return signal === undefined || /^(SIG)?(TERM|KILL|INT|QUIT)$|^(15|9|2|3)$/.test(signal);
}
