import { type Draft, inCompose, type RuleFinding, servicesOf } from './draft.ts';
import { parseImage } from './images.ts';

export const imageRules = { R82: tags, R83: sameVersion };

const pins: readonly (readonly [RegExp, string])[] = [
  [/^docker\.io\/library\/postgres$/, '16'],
  [/^docker\.io\/library\/redis$/, '7'],
  [/^docker\.io\/library\/nextcloud$/, '30'],
  [/^docker\.io\/wazuh\/wazuh-(?:manager|indexer|dashboard)$/, '4.13.1'],
  [/^docker\.io\/library\/traefik$/, 'v3'],
  [/^docker\.io\/library\/haproxy$/, '3'],
  [/^docker\.io\/library\/wordpress$/, '6'],
  [/^docker\.io\/library\/ghost$/, '5'],
  [/^(?:docker\.io\/requarks|ghcr\.io\/requarks|docker\.io\/library)\/wiki$/, '2'],
  [/^docker\.io\/powerdns\/pdns-auth-/, '49'],
];

function* tags(draft: Draft): Generator<RuleFinding> {
  for (const { name, image } of servicesOf(draft)) {
    const isExplained = draft.component.services[name]?.tagReason !== undefined;
    const problem = tagProblem(parseImage(image), isExplained, draft.own);
    if (problem) yield inCompose(['services', name, 'image'], ...problem);
  }
}

export function tagProblem(
  image: ReturnType<typeof parseImage>,
  isExplained: boolean,
  own: boolean,
): [message: string, remedy: string] | undefined {
  if (!image) return undefined;
  const { repository, tag } = image;
  const pin = pins.find(([pattern]) => pattern.test(repository))?.[1];
  if (repository.startsWith('docker.io/powerdns/pdns-auth-'))
    return repository.endsWith(`-${pin}`) ? undefined : [`This image must be pdns-auth-${pin}.`, `Use powerdns/pdns-auth-${pin}.`];
  // Custom entries choose their versions themselves.
  if (own && isExplained) return undefined;
  if (pin !== undefined) {
    const remedy = own ? `Use the tag ${pin}, or add a tagReason to the service in component.yaml.` : `Use the tag ${pin}.`;
    const message = `This image must have version ${pin}, not ${tag ?? 'a digest'}.`;
    return isOfVersion(tag, pin) ? undefined : [message, remedy];
  }
  if (tag === 'latest' || isExplained) return undefined;
  const message = `The image uses ${tag ?? 'a digest'} instead of the tag "latest", but has no tagReason.`;
  return [message, 'Use latest, or add a tagReason to the service in component.yaml.'];
}

/** `16-alpine` and `16.4` are of version 16, but not `160`. */
function isOfVersion(tag: string | undefined, pin: string): boolean {
  const [stated, written = ''] = [pin.replace(/^v/, ''), tag?.replace(/^v/, '')];
  return written === stated || (written.startsWith(stated) && /^[.-]/.test(written.slice(stated.length)));
}

function* sameVersion(draft: Draft): Generator<RuleFinding> {
  const versions = servicesOf(draft).flatMap((service) => {
    const image = parseImage(service.image);
    return image && /\/wazuh\/wazuh-(?:manager|indexer|dashboard)$/.test(image.repository) ? [{ service, tag: image.tag }] : [];
  });
  for (const { service, tag } of versions) {
    if (tag !== versions[0]?.tag) {
      const message = `Manager, indexer and dashboard must have the same version, not ${versions[0]?.tag} and ${tag}.`;
      yield inCompose(['services', service.name, 'image'], message, `Use the tag ${versions[0]?.tag}.`);
    }
  }
}
