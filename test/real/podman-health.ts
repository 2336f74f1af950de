import { ask } from './ask.ts';

/**
 * Podman leaves health checks to timers of systemd. Where there is no systemd, this does what such a timer does: has each
 * container's own check run, about once a second. Returns the way to end it.
 */
export function runHealthChecks(engine: { socket: string }, project: string): () => Promise<void> {
  const filters = encodeURIComponent(JSON.stringify({ label: [`com.docker.compose.project=${project}`], status: ['running'] }));
  let ended = false;
  let wake: () => void = () => undefined;
  const loop = (async () => {
    while (!ended) {
      const list = await ask(engine, `/v4.0.0/libpod/containers/json?filters=${filters}`).catch(() => undefined);
      const containers = list?.status === 200 ? (JSON.parse(list.body) as { Id: string; Labels: Record<string, string> }[] | null) : [];
      // Without a check the answer is an error, which is nothing to us.
      for (const { Id } of containers ?? []) await ask(engine, `/v4.0.0/libpod/containers/${Id}/healthcheck`).catch(() => undefined);
      if (!ended) {
        await new Promise<void>((resolve) => {
          wake = resolve;
          setTimeout(resolve, 1000).unref();
        });
      }
    }
  })();
  return async () => {
    ended = true;
    wake();
    await loop;
  };
}
