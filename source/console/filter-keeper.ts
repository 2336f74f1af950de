import { readOwnFile, writeOwnFile } from '../config/own-files.ts';
import { parseJson } from '../text/json-value.ts';
import type { KeptFilter } from './interface-store.ts';

/** Filters that were typed for logs, kept for the next start. */
export interface FilterKeeper {
  load(): Promise<Readonly<Record<string, KeptFilter>>>;
  /** Writes in the background. What cannot be written is lost: a filter is no reason to disturb anybody. */
  keep(filters: Readonly<Record<string, KeptFilter>>): void;
  /** Waits for what is being written. */
  settle(): Promise<void>;
}

export const keepsNothing: FilterKeeper = { load: async () => ({}), keep() {}, settle: async () => {} };

const mostFilters = 200;
const mostCharacters = 1000;

function filtersIn(text: string): Record<string, KeptFilter> {
  const found: Record<string, KeptFilter> = {};
  const read: unknown = parseJson(text);
  const filters = typeof read === 'object' && read !== null && 'filters' in read ? read.filters : undefined;
  if (typeof filters !== 'object' || filters === null) return found;
  for (const [key, value] of Object.entries(filters)) {
    const { typed, hides } = (value ?? {}) as { typed?: unknown; hides?: unknown };
    if (typeof typed === 'string' && typed !== '' && typed.length <= mostCharacters) found[key] = { typed, hides: hides !== false };
  }
  return found;
}

/**
 * In a file of ours. A session that is read-only reads it and never writes. A filter can hold what an operator searches for and nothing else; the
 * file is for the operator alone.
 */
export function openFilterKeeper(path: string, options: { readOnly: boolean }): FilterKeeper {
  let writing = Promise.resolve();
  let wanted: Readonly<Record<string, KeptFilter>> | undefined;
  return {
    async load() {
      try {
        const text = await readOwnFile(path);
        return text === undefined ? {} : filtersIn(text);
      } catch {
        return {};
      }
    },
    keep(filters) {
      if (options.readOnly) return;
      const queued = wanted !== undefined;
      wanted = filters;
      if (queued) return;
      writing = writing.then(async () => {
        const kept = Object.fromEntries(
          Object.entries(wanted ?? {})
            .filter(([, { typed }]) => typed.length <= mostCharacters)
            .slice(-mostFilters),
        );
        wanted = undefined;
        await writeOwnFile(path, `${JSON.stringify({ schema: 1, filters: kept }, undefined, 2)}\n`).catch(() => {});
      });
    },
    settle: () => writing,
  };
}
