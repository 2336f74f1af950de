/** The choice is a digest, or a tag, `latest` by default: without one, an engine pulls every tag of the registry. */
export function imageNameParts(reference: string): { name: string; choice: string } {
  const at = reference.indexOf('@');
  const named = at < 0 ? reference : reference.slice(0, at);
  const colon = named.lastIndexOf(':');
  // A colon before the last slash belongs to the registry's port.
  const tagged = colon > named.lastIndexOf('/');
  const name = tagged ? named.slice(0, colon) : named;
  return { name, choice: at < 0 ? (tagged && named.slice(colon + 1)) || 'latest' : reference.slice(at + 1) };
}

export function wholeImageName(reference: string): string {
  const { name, choice } = imageNameParts(reference);
  return `${name}${choice.includes(':') ? '@' : ':'}${choice}`;
}
