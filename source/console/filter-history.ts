import { readOwnFile, writeOwnFile } from '../config/own-files.ts';
import { parseJson } from '../text/json-value.ts';
import type { KeptFilter } from './screens/logs/state.ts';

export interface FilterHistory {
  load(): Promise<Readonly<Record<string, KeptFilter>>>;
  /** Saves the filters in the background. A failed write is ignored: a filter is not worth an error message. */
  keep(filters: Readonly<Record<string, KeptFilter>>): void;
  settle(): Promise<void>;
}

export const keepsNothing: FilterHistory = { load: async () => ({}), keep() {}, settle: async () => {} };

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

/** A filter may contain anything that an operator searches for, so the file is readable by the operator only. */
export function openFilterHistory(path: string, options: { readOnly: boolean }): FilterHistory {
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
