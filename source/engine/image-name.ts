/**
 * An image's name and what chooses one under it: the digest where it has one, otherwise the tag, `latest` where it names none. An engine that is told neither
 * fetches every tag that the registry has.
 */
export function imageNameParts(reference: string): { name: string; choice: string } {
  const at = reference.indexOf('@');
  const named = at < 0 ? reference : reference.slice(0, at);
  const colon = named.lastIndexOf(':');
  // A colon before the last slash belongs to the registry's port.
  const tagged = colon > named.lastIndexOf('/');
  const name = tagged ? named.slice(0, colon) : named;
  return { name, choice: at < 0 ? (tagged && named.slice(colon + 1)) || 'latest' : reference.slice(at + 1) };
}

/** `name:tag` or `name@sha256:…`. */
export function wholeImageName(reference: string): string {
  const { name, choice } = imageNameParts(reference);
  return `${name}${choice.includes(':') ? '@' : ':'}${choice}`;
}
