import { type Draft, inComponent, inCompose, type RuleFinding, servicesOf, unknown } from './draft.ts';

/** A variable that is a secret by its name, handed to a program as an argument: everybody on the host could read it there. */
export const secretArgument = /(?<![A-Z_]=["']?)\$\{?[A-Z_]*(?:PASSWORD|PASSWD|SECRET|TOKEN)/;

/** The name under which a backup knows a mount: its volume, or its target where it is a folder of the host. */
export function volumeNameOf({ source, target }: { source: string; target: string }): string {
  return source === '' || /^[./~]/.test(source) ? target : source;
}

/** What lies in `files/` is part of the component's folder, which a backup holds anyway. */
function isOwnFile(source: string): boolean {
  return /^(?:\.\/)?files(?:\/|$)/.test(source);
}

/** Every volume has exactly one item: what nobody thought of is found out when it is needed. */
export function* checkBackup(draft: Draft): Generator<RuleFinding> {
  const { component, compose } = draft;
  if (!compose) return;
  const services = servicesOf(draft);
  const mounts = services.flatMap(({ name, mounts: all }) =>
    all
      .filter(({ source }) => !isOwnFile(source) && !/(?:^|\/)\.\.(?:\/|$)/.test(source))
      .map((mount) => ({ ...mount, service: name, volume: volumeNameOf(mount) })),
  );
  const volumes = [...new Set(mounts.map(({ volume }) => volume))];
  const names = services.map(({ name }) => name);
  const covered = new Set<string>();
  const ids = new Set<string>();
  for (const [index, item] of component.backup.entries()) {
    const path = ['backup', index];
    if (ids.has(item.id)) yield inComponent([...path, 'id'], `Two items are called "${item.id}".`, 'Rename one of them.');
    ids.add(item.id);
    if (!volumes.includes(item.volume)) yield unknown([...path, 'volume'], 'volume in compose.yaml called', item.volume, volumes);
    else if (covered.has(item.volume))
      yield inComponent([...path, 'volume'], `"${item.volume}" has two items.`, 'Keep one: a volume is saved in one way.');
    covered.add(item.volume);
    for (const [at, name] of [['service', item.service] as const, ...item.with.map((name, each) => [`with.${each}`, name] as const)]) {
      if (name !== undefined && !names.includes(name)) yield unknown([...path, ...at.split('.').map(pathPart)], 'service', name, names);
    }
    if (
      item.service !== undefined &&
      names.includes(item.service) &&
      !mounts.some(({ service, volume }) => service === item.service && volume === item.volume)
    )
      yield inComponent([...path, 'service'], `"${item.service}" does not mount "${item.volume}".`, 'Name a service that does.');
    for (const kind of ['dump', 'restore'] as const) {
      const told = item[kind]?.findIndex((word) => secretArgument.test(word)) ?? -1;
      if (told >= 0)
        yield inComponent(
          [...path, kind, told],
          'A secret would be seen in the arguments of a program.',
          'Give it in the environment of that program: PGPASSWORD="$POSTGRES_PASSWORD" pg_dump.',
        );
    }
  }
  // An operator's own catalog may be older than backups: it is told, and still works.
  const seen = new Set<string>();
  for (const { volume, path, inMemory } of mounts) {
    if (inMemory || covered.has(volume) || seen.has(volume)) continue;
    seen.add(volume);
    yield {
      ...inCompose(
        path,
        `Nothing says how "${volume}" is backed up.`,
        `Add it in component.yaml: backup: [{id: data, volume: ${volume}, way: stop}], or way: skip and why.`,
      ),
      level: draft.own ? 'warning' : 'error',
    };
  }
}

const pathPart = (part: string) => (/^\d+$/.test(part) ? Number(part) : part);
