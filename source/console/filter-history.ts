import { readOwnJson, writeOwnFile } from '../config/own-files.ts';
import type { KeptFilter } from './screens/logs/state.ts';

type Filters = Readonly<Record<string, KeptFilter>>;

export type FilterHistory = ReturnType<typeof openFilterHistory>;

export const keepsNothing: FilterHistory = { load: async () => ({}), keep() {}, settle: async () => {} };

const mostFilters = 200;
const mostCharacters = 1000;

function filtersIn(stored: unknown): Filters {
  const { filters } = (stored ?? {}) as { filters?: Readonly<Record<string, Partial<KeptFilter> | null>> | null };
  const kept = Object.entries(filters ?? {}).flatMap(([key, value]): [string, KeptFilter][] => {
    const { typed, hides } = value ?? {};
    return typeof typed === 'string' && typed !== '' && typed.length <= mostCharacters ? [[key, { typed, hides: hides !== false }]] : [];
  });
  return Object.fromEntries(kept);
}

/** A filter may contain anything that an operator searches for, so the file is readable by the operator only. */
export function openFilterHistory(path: string, options: { readOnly: boolean }) {
  let writing = Promise.resolve();
  let wanted: Filters | undefined;
  return {
    load: async (): Promise<Filters> => filtersIn(await readOwnJson(path)),
    /** Saves the filters in the background. A failed write is ignored: a filter is not worth an error message. */
    keep(filters: Filters): void {
      if (options.readOnly) return;
      const queued = wanted !== undefined;
      wanted = filters;
      if (queued) return;
      writing = writing.then(async () => {
        const short = Object.entries(wanted ?? {}).filter(([, { typed }]) => typed.length <= mostCharacters);
        const kept = Object.fromEntries(short.slice(-mostFilters));
        wanted = undefined;
        await writeOwnFile(path, `${JSON.stringify({ schema: 1, filters: kept }, undefined, 2)}\n`).catch(() => {});
      });
    },
    settle: () => writing,
  };
}
