import { builtInChecks } from './built-in-checks.ts';
import type { CatalogEntry, CatalogPort, CatalogService } from './catalog.ts';
import type { ComposeFile } from './compose-file.ts';
import { portAnnotation } from './draft.ts';
import { parseImage } from './images.ts';
import type { Component } from './schema.ts';

export function joinEntry(component: Component, compose: ComposeFile | undefined, folder: string, own: boolean): CatalogEntry {
  const services = joinServices(component, compose);
  const ports = joinPorts(component, compose);
  return {
    ...component,
    services,
    ports,
    checks: [...component.checks, ...builtInChecks({ ...component, services, ports })],
    image: services.find(({ main }) => main)?.image ?? component.image ?? '',
    folder,
    own,
  };
}

function joinServices(component: Component, compose: ComposeFile | undefined): CatalogService[] {
  return [...(compose?.services.values() ?? [])].map((service) => {
    const annotation = component.services[service.name];
    const repositories = [service.image, ...(annotation?.images ?? [])].flatMap((image) => parseImage(image)?.repository ?? []);
    return {
      name: service.name,
      image: service.image,
      repositories: [...new Set(repositories)],
      main: annotation?.main ?? false,
      role: annotation?.role ?? '',
      oneShot: annotation?.oneShot ?? false,
      optional: annotation?.optional ?? false,
      dependsOn: service.dependsOn,
      networkMode: service.networkMode ?? '',
      environment: Object.fromEntries([...service.environment].map(([name, { value }]) => [name, value])),
      mounts: service.mounts.map(({ source, target, readOnly }) => ({ source, target, readOnly })),
      devices: service.devices,
      capAdd: service.capAdd,
      command: service.command,
      tagReason: annotation?.tagReason,
      ...(annotation && annotation.images.length > 0 && { images: annotation.images }),
      irreplaceable: annotation?.irreplaceable,
      architectures: annotation?.architectures,
    };
  });
}

/** In the order of component.yaml, which is the reading order for people. */
function joinPorts(component: Component, compose: ComposeFile | undefined): CatalogPort[] {
  const services = [...(compose?.services.values() ?? [])];
  const published = services.flatMap(({ ports }) => ports);
  return Object.entries(component.ports).flatMap(([name, annotation]): CatalogPort[] => {
    const { role, exposure, fixed, web, tls } = annotation;
    const shared = { name, role, exposure, fixed, web, tls };
    const matching = published.filter((port) => portAnnotation(component, port)?.[0] === name);
    if (matching.length > 0)
      return matching.map(({ service, host, container, protocol }) => ({ ...shared, service, host, container, protocol }));
    if (annotation.number === undefined) return [];
    const onHost = services.find(({ networkMode }) => networkMode === 'host')?.name;
    const main = Object.entries(component.services).find(([, { main: isMain }]) => isMain)?.[0];
    const service = annotation.service ?? onHost ?? main ?? '';
    return [{ ...shared, service, host: annotation.number, container: annotation.number, protocol: annotation.protocol ?? 'tcp' }];
  });
}
