/** Engines of a host as places: one is called as the host is; further ones are told apart by what they are. */
export function placeNames(host: string, urls: readonly string[]): string[] {
  const names: string[] = [];
  for (const [position, url] of urls.entries()) {
    let name = position === 0 ? host : `${host}/${placeWord(url)}`;
    for (let number = 2; names.includes(name); number++) name = `${host}/${placeWord(url)}-${number}`;
    names.push(name);
  }
  return names;
}

/** `podman`, `podman-rootless`, `docker-rootless`, `colima`: out of where it listens. */
function placeWord(url: string): string {
  const kind = url.includes('podman') ? 'podman' : url.includes('colima') ? 'colima' : 'docker';
  return /\/run\/user\/|\/tmp\/.*run-/.test(url) ? `${kind}-rootless` : kind;
}
