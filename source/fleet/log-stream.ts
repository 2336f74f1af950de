import type { LogStreamOptions, StreamedLine } from './log-store.ts';
import type { OpenFleet } from './open-fleet.ts';

/** Lines as a pipe wants them. */
export async function* streamLogs(fleet: OpenFleet, options: LogStreamOptions): AsyncGenerator<readonly StreamedLine[]> {
  const { componentKeys, services, follow, tail, sinceMs, untilMs, signal } = options;
  for (const component of componentKeys) {
    const runtime = fleet.runtime(component);
    for (const { container, service } of runtime?.group.members ?? []) {
      const tty = runtime?.place.detail(container.id)?.tty ?? false;
      if (!runtime?.place.engine || (services && !services.includes(service))) continue;
      const batches = runtime.place.engine.logs(container.id, {
        signal,
        follow,
        tty,
        ...(tail !== undefined && { tail }),
        ...(sinceMs !== undefined && { sinceMs }),
        ...(untilMs !== undefined && { untilMs }),
      });
      for await (const batch of batches)
        yield batch.map(({ timeMs, stream, text, cut }) => ({
          component,
          container: container.id,
          service,
          timeMs,
          stream,
          text,
          cut: cut ?? false,
        }));
    }
  }
}
