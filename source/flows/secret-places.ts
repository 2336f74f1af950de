import type { CatalogEntry, CatalogService } from '../catalog/catalog.ts';
import type { FleetSnapshot, ServiceView } from '../fleet/model.ts';
import type { SecretVault } from '../secrets/vault.ts';
import { cleanLine } from '../text/clean.ts';
import { partsOf } from './secret-names.ts';

/** Somewhere a secret rests, and who can read it there. */
export interface RestingPlace {
  where: string;
  readableBy: string;
}

const vaultReaders: Record<SecretVault['kind'], string> = {
  keychain: 'your programs, while the keychain is unlocked',
  file: 'nobody without its passphrase or key file',
};

export function vaultPlace({ kind, where }: SecretVault): RestingPlace {
  return { where, readableBy: vaultReaders[kind] };
}

/** The services of compose.yaml whose container is given the variable: in its environment or its arguments. */
export function servicesGiven(entry: CatalogEntry, variable: string): readonly CatalogService[] {
  const named = new RegExp(`\\$(?:\\{${escaped(variable)}[:?}+-]|${escaped(variable)}(?![A-Za-z0-9_]))`);
  return entry.services.filter(({ environment, command }) => [...Object.values(environment), ...command].some((text) => named.test(text)));
}

/**
 * The copies that containers and compose hold: an engine keeps the environment of a container in its configuration, in clear, for as long as the container exists.
 * Known from the compose file of the catalog and the containers that exist, without reading a value.
 */
export function enginePlaces(name: string, entry: CatalogEntry | undefined, snapshot: FleetSnapshot): readonly RestingPlace[] {
  const { place, component, variable } = partsOf(name);
  const views = snapshot.components.filter((view) => view.host === place && view.id === component);
  if (!entry || views.length === 0) return [];
  const given = new Set(servicesGiven(entry, variable).map((service) => service.name));
  const engine = snapshot.places.find((known) => known.name === place)?.engine;
  const containers = views.flatMap(({ services }) => services).filter((service) => given.has(service.name) && hasContainer(service));
  const copies = containers.map(({ containerName }) => ({
    where: `configuration of the container ${cleanLine(containerName)}`,
    readableBy: engine?.rootless ? 'root, and the user whose engine it is' : "root, and whoever can reach the engine's socket",
  }));
  if (given.size === 0) return [];
  const passing: RestingPlace[] = [{ where: 'environment of the compose process, while it runs', readableBy: 'root and you' }];
  // podman-compose copies what it interpolates into arguments, where everybody could read it.
  if (engine?.kind === 'podman') passing.push({ where: 'a file in memory, while podman-compose runs', readableBy: 'root and you' });
  return [...copies, ...passing];
}

const hasContainer = ({ containerId }: ServiceView) => containerId !== undefined;

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
