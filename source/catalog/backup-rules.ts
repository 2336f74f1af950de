import type { YamlPath } from '../yaml/document.ts';
import { type Draft, inComponent, inCompose, type RuleFinding, servicesOf, unknown, warningIfOwn } from './draft.ts';

/** A variable that is a secret by its name, passed to a program as an argument: every user of the host could read it there. */
const secretArgument = /(?<![A-Z_]=["']?)\$\{?[A-Z_]*(?:PASSWORD|PASSWD|SECRET|TOKEN)/;

export function* secretArguments(path: YamlPath, argv: readonly string[] | undefined, remedy: string): Generator<RuleFinding> {
  const reported = argv?.findIndex((word) => secretArgument.test(word)) ?? -1;
  if (reported >= 0) yield inComponent([...path, reported], 'A secret would be visible in the process arguments.', remedy);
}

/** The name in backups: a folder of the host has that of its target. */
export function volumeNameOf({ source, target }: { source: string; target: string }): string {
  return source === '' || /^[./~]/.test(source) ? target : source;
}

/** A forgotten volume would only be noticed on restore. */
export function* checkBackup(draft: Draft): Generator<RuleFinding> {
  const { component, compose } = draft;
  if (!compose) return;
  const services = servicesOf(draft);
  // Files in `files/` are part of the component's folder, which a backup always contains.
  const mounts = services.flatMap(({ name, mounts: all }) =>
    all
      .filter(({ source }) => !/^(?:\.\/)?files(?:\/|$)|(?:^|\/)\.\.(?:\/|$)/.test(source))
      .map((mount) => ({ ...mount, service: name, volume: volumeNameOf(mount) })),
  );
  const volumes = [...new Set(mounts.map(({ volume }) => volume))];
  const names = services.map(({ name }) => name);
  const covered = new Set<string>();
  const ids = new Set<string>();
  for (const [index, item] of component.backup.entries()) {
    const path = ['backup', index];
    if (ids.has(item.id)) yield inComponent([...path, 'id'], `Two backup items have the id "${item.id}".`, 'Rename one of the items.');
    ids.add(item.id);
    if (!volumes.includes(item.volume)) yield unknown([...path, 'volume'], 'compose.yaml volume', item.volume, volumes);
    else if (covered.has(item.volume))
      yield inComponent([...path, 'volume'], `The volume "${item.volume}" has two backup items.`, 'Keep one item for each volume.');
    covered.add(item.volume);
    if (
      item.service !== undefined &&
      names.includes(item.service) &&
      !mounts.some(({ service, volume }) => service === item.service && volume === item.volume)
    )
      yield inComponent([...path, 'service'], `"${item.service}" does not mount "${item.volume}".`, 'Use another service.');
    const remedy = 'Pass the secret as an environment variable: PGPASSWORD="$POSTGRES_PASSWORD" pg_dump.';
    for (const kind of ['dump', 'restore'] as const) yield* secretArguments([...path, kind], item[kind], remedy);
  }
  const seen = new Set<string>();
  for (const { volume, path, inMemory } of mounts) {
    if (inMemory || covered.has(volume) || seen.has(volume)) continue;
    seen.add(volume);
    const remedy = `Add it to component.yaml: backup: [{id: data, volume: ${volume}, method: stop}], or use method: skip with why.`;
    yield warningIfOwn(draft, inCompose(path, `The volume "${volume}" has no backup method.`, remedy));
  }
}
