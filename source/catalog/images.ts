interface ImageReference {
  /** Normalised and without tag: `docker.io/library/postgres`, `quay.io/keycloak/keycloak`, `registry.lan:5000/team/app`. */
  repository: string;
  /** `latest` if the reference has neither tag nor digest. */
  tag: string | undefined;
  digest: string | undefined;
}

const component = /^[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*$/;
const tagPattern = /^\w[\w.-]{0,127}$/;
const digestPattern = /^[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[0-9a-f]{32,}$/;
const registryPattern = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*|\[[0-9a-f:]+\])(?::\d{1,5})?$/i;

/** As Docker parses it. Podman's prefix `localhost/` of locally built images is dropped. Undefined for ids and invalid references. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: takes the reference apart from its end to its beginning
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
