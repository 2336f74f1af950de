import { join } from 'node:path';
import type { CatalogEntry } from '../../source/catalog/catalog.ts';
import { loadFolder } from '../../source/catalog/load-folder.ts';
import { type ComponentSource, readComponentSource } from '../../source/stack/component-source.ts';
import { answersOf } from '../../source/stack/plan/answers.ts';
import { renderComponent } from '../../source/stack/plan/render.ts';

export interface CatalogFiles {
  readonly entries: ReadonlyMap<string, CatalogEntry>;
  source(id: string): ComponentSource;
  /** Files of a component as they are delivered with these settings, by path. */
  files(id: string, settings?: Readonly<Record<string, string>>): Readonly<Record<string, string>>;
}

/** What the catalog delivers for answers, without a host. */
export async function catalogFiles(): Promise<CatalogFiles> {
  const entries = new Map<string, CatalogEntry>();
  const sources = new Map<string, ComponentSource>();
  for (const entry of (await loadFolder('catalog', { own: false })).entries) {
    entries.set(entry.id, entry);
    if (entry.deploy === 'compose') sources.set(entry.id, await readComponentSource(entry, join(process.cwd(), 'catalog')));
  }
  const source = (id: string) => {
    const found = sources.get(id);
    if (!found) throw new Error(`${id} did not compile`);
    return found;
  };
  return {
    entries,
    source,
    files(id, settings = {}) {
      const entry = entries.get(id);
      if (!entry) throw new Error(`${id} did not compile`);
      const context = { source: source(id), others: [], secretsKnown: {}, hasData: false, runtime: 'docker' } as const;
      return renderComponent(entry, source(id), answersOf(entry, context, { ...settings }), {
        runtime: 'docker',
        tool: { kind: 'docker-compose' },
        networks: [],
      }).files;
    },
  };
}
