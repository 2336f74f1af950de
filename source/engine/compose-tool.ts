/**
 * A compose command on the host, found once per place. `generation` 1 is the Python docker-compose, 2 everything since (v5 included). podman-compose copies
 * interpolated values into argv, so secrets reach it through an `env_file` only (design.md, "A host and its stack"); and it ends with 0 where podman refused to
 * make or start a container, so that only the engine tells what runs afterwards. What it makes and what docker-compose makes does not mix: docker-compose 2
 * refuses a project's network that podman-compose left.
 */
export interface ComposeTool {
  kind: 'docker-compose' | 'podman-compose';
  generation: 1 | 2;
  version: string;
  /** `['docker', 'compose']`, `['docker-compose']`, `['podman-compose']`; behind `sudo` where only that may use the engine. */
  argv: readonly string[];
  /**
   * It stops containers by a grace period that it is told, or not at all: Podman 4 keeps 0 for what docker-compose 2 creates from a file without
   * `stop_grace_period`, and such a container is killed at once when it is stopped, restarted, recreated or removed.
   */
  needsStopTimeout?: true;
  /** Why it cannot be used there, although it is there. */
  refused?: { message: string; remedy: string };
  /** What it needs to reach the right engine: `DOCKER_HOST`, ... */
  env: Readonly<Record<string, string>>;
}
