import { type Draft, inCompose, type LintRule, type RuleFinding, servicesOf } from './draft.ts';
import { parseImage } from './images.ts';

/** Of tags. */
export const imageRules: readonly LintRule[] = [
  { id: 'R82', check: tags },
  { id: 'R83', check: sameVersion },
];

/** Tags that the specification states: repository to what the tag is or begins with. */
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
  for (const service of servicesOf(draft)) {
    const image = parseImage(service.image);
    if (!image) continue;
    const path = ['services', service.name, 'image'];
    const { tag } = image;
    const isExplained = draft.component.services[service.name]?.tagReason !== undefined;
    const pin = pins.find(([repository]) => repository.test(image.repository))?.[1];
    if (image.repository.startsWith('docker.io/powerdns/pdns-auth-')) {
      if (!image.repository.endsWith(`-${pin}`))
        yield inCompose(path, `The specification states pdns-auth-${pin}.`, `Use powerdns/pdns-auth-${pin}.`);
      continue;
    }
    // An entry of one's own answers for its versions itself.
    if (draft.own && isExplained) continue;
    if (pin !== undefined) {
      const stated = pin.replace(/^v/, '');
      const written = tag?.replace(/^v/, '') ?? '';
      if ((written !== stated && !/^[.-]/.test(written.slice(stated.length))) || !written.startsWith(stated))
        yield inCompose(
          path,
          `The specification states version ${pin} for this image, not ${tag ?? 'a digest'}.`,
          draft.own ? `Use the tag ${pin}, or say in component.yaml why not: tagReason at the service.` : `Use the tag ${pin}.`,
        );
    } else if (tag !== 'latest' && !isExplained) {
      yield inCompose(
        path,
        `The tag ${tag ?? 'by digest'} is not "latest", and nobody says why.`,
        `Use latest, or add tagReason to the service in component.yaml.`,
      );
    }
  }
}

function* sameVersion(draft: Draft): Generator<RuleFinding> {
  const versions = servicesOf(draft).flatMap((service) => {
    const image = parseImage(service.image);
    return image && /\/wazuh\/wazuh-(?:manager|indexer|dashboard)$/.test(image.repository) ? [{ service, tag: image.tag }] : [];
  });
  for (const { service, tag } of versions) {
    if (tag !== versions[0]?.tag)
      yield inCompose(
        ['services', service.name, 'image'],
        `Manager, indexer and dashboard must have the same version, not ${versions[0]?.tag} and ${tag}.`,
        `Use the tag ${versions[0]?.tag}.`,
      );
  }
}
