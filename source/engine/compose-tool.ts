/**
 * A compose command on the host, found once per engine. `generation` 1 is the Python docker-compose, 2 everything since (v5 included).
 * podman-compose copies interpolated values into argv, so secrets reach it only through an `env_file`; and it exits with 0 even if podman
 * refused to create or start a container. docker-compose 2 refuses a project's network that podman-compose left.
 */
export interface ComposeTool {
  kind: 'docker-compose' | 'podman-compose';
  generation: 1 | 2;
  version: string;
  /** `['docker', 'compose']`, `['docker-compose']`, `['podman-compose']`; prefixed with `sudo` where only root may use the engine. */
  argv: readonly string[];
  /** Podman 4 stores a grace period of 0 for containers that docker-compose 2 creates without one, and would kill them at once. */
  needsStopTimeout?: true;
  refused?: { message: string; remedy: string };
  env: Readonly<Record<string, string>>;
}
