/** An image reference taken apart. */
export interface ImageReference {
  /** Normalised and without tag: `docker.io/library/postgres`, `quay.io/keycloak/keycloak`, `registry.lan:5000/team/app`. */
  repository: string;
  /** `latest` where the reference names neither tag nor digest. */
  tag: string | undefined;
  /** `sha256:...` */
  digest: string | undefined;
}

const component = /^[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*$/;
const tagPattern = /^\w[\w.-]{0,127}$/;
const digestPattern = /^[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[0-9a-f]{32,}$/;
const registryPattern = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*|\[[0-9a-f:]+\])(?::\d{1,5})?$/i;

/**
 * Reads an image reference as Docker does: `nginx` is `docker.io/library/nginx:latest`. Podman calls what was built on the machine
 * `localhost/name`; that prefix says nothing about what it is and is dropped. Undefined for ids and for what is no reference.
 */
export function parseImage(written: string): ImageReference | undefined {
  if (written.length > 512 || /^(?:sha256:)?[0-9a-f]{64}$/.test(written) || /^[0-9a-f]{12}$/.test(written)) return undefined;
  let rest = written;

  let digest: string | undefined;
  const at = rest.indexOf('@');
  if (at >= 0) {
    digest = rest.slice(at + 1);
    if (!digestPattern.test(digest)) return undefined;
    rest = rest.slice(0, at);
  }

  let tag: string | undefined;
  const colon = rest.lastIndexOf(':');
  if (colon > rest.lastIndexOf('/')) {
    tag = rest.slice(colon + 1);
    if (!tagPattern.test(tag)) return undefined;
    rest = rest.slice(0, colon);
  } else if (digest === undefined) {
    tag = 'latest';
  }

  if (rest.startsWith('localhost/')) rest = rest.slice('localhost/'.length);
  const parts = rest.split('/');
  const first = parts[0] ?? '';
  let registry = 'docker.io';
  if (parts.length > 1 && (first.includes('.') || first.includes(':') || first === 'localhost')) {
    if (!registryPattern.test(first)) return undefined;
    registry = first.toLowerCase();
    parts.shift();
  }
  if (registry === 'index.docker.io' || registry === 'registry-1.docker.io') registry = 'docker.io';
  if (parts.length === 0 || !parts.every((part) => component.test(part))) return undefined;
  if (registry === 'docker.io' && parts.length === 1) parts.unshift('library');
  return { repository: [registry, ...parts].join('/'), tag, digest };
}

/** The shortest way to write it, as people know it: `postgres:16`, `quay.io/keycloak/keycloak:26`. */
export function imageText({ repository, tag, digest }: ImageReference): string {
  const bare = repository.replace(/^docker\.io\/(?:library\/(?=[^/]+$))?/, '');
  // `docker.io/a.b/c` cut short would name a registry a.b.
  const short = /^(?:localhost|[^/]*[.:][^/]*)\//.test(bare) ? repository : bare;
  return `${short}${tag === undefined ? '' : `:${tag}`}${digest === undefined ? '' : `@${digest}`}`;
}
