import { ask } from './ask.ts';

const healthyMs = 10_000;

/**
 * Podman leaves health checks to timers of systemd. Where there is no systemd, this does what such a timer does: has each
 * container's own check run, about once a second until it is healthy and then now and then, since each holds the engine up. Returns
 * the way to end it.
 */
export function runHealthChecks(engine: { socket: string }, project: string): () => Promise<void> {
  const filters = encodeURIComponent(JSON.stringify({ label: [`com.docker.compose.project=${project}`], status: ['running'] }));
  const healthyAtMs = new Map<string, number>();
  let ended = false;
  let wake: () => void = () => undefined;
  const loop = (async () => {
    while (!ended) {
      const list = await ask(engine, `/v4.0.0/libpod/containers/json?filters=${filters}`).catch(() => undefined);
      const containers = list?.status === 200 ? (JSON.parse(list.body) as { Id: string; StartedAt: number }[] | null) : [];
      for (const { Id, StartedAt } of containers ?? []) {
        const life = `${Id} ${StartedAt}`;
        if (Date.now() - (healthyAtMs.get(life) ?? 0) < healthyMs) continue;
        // Without a check the answer is an error, which is nothing to us.
        const answer = await ask(engine, `/v4.0.0/libpod/containers/${Id}/healthcheck`).catch(() => undefined);
        if (answer && (answer.status !== 200 || (JSON.parse(answer.body) as { Status: string }).Status === 'healthy'))
          healthyAtMs.set(life, Date.now());
      }
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
