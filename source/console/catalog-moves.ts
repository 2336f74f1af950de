import type { CatalogEntry } from '../catalog/catalog.ts';
import { isMadeHere } from '../catalog/where-it-runs.ts';
import type { ComponentView, PlaceView } from '../fleet/model.ts';
import type { Flow } from '../flows/flow.ts';
import type { Deck } from '../terminal/deck.ts';
import { catalogRows, chosenEntry } from './catalog-rows.ts';
import type { InterfaceStore } from './interface-store.ts';
import type { CommandId, Keymap } from './keymap.ts';
import type { Measured } from './measured.ts';
import { flowOf, placeFor } from './offers.ts';

interface Options {
  deck: Deck;
  store: InterfaceStore;
  keymap: Keymap;
  measured: Measured;
  say: (tone: 'good' | 'idle' | 'warn', text: string) => void;
  copy: (text: string) => void;
  start: (flow: Flow, entry: CatalogEntry, place: PlaceView) => void;
  /** The one that is selected in the panes: its host is where something is deployed to. */
  component: () => ComponentView | undefined;
}

export interface CatalogMoves {
  actions: Partial<Record<CommandId, () => void>>;
  move(amount: number | 'top' | 'bottom'): void;
  /** Back from what is read to the list. @returns whether something was read */
  close(): boolean;
}

/** What keys do in the catalog. */
export function createCatalogMoves({ deck, store, keymap, measured, say, copy, start, component }: Options): CatalogMoves {
  const look = () => store.get().catalog;
  const rows = () => catalogRows(deck.catalog.entries, store.get().filters.catalog);
  const chosen = () => chosenEntry(rows(), look().selected);
  const change = (by: Partial<ReturnType<typeof look>>) => store.update((state) => ({ catalog: { ...state.catalog, ...by } }));

  function close(): boolean {
    if (look().reading === undefined) return false;
    change({ reading: undefined });
    return true;
  }

  function deploy(entry: CatalogEntry): void {
    const flow = flowOf(deck, 'deploy');
    const place = placeFor(deck, component());
    if (isMadeHere(entry)) say('idle', `${entry.id} is a file: "config make" makes it, which ${keymap.keyOf('palette')} finds.`);
    else if (entry.deploy !== 'compose')
      say('idle', `${entry.id} is not deployed from here: ${keymap.keyOf('read-entry')} says where it runs.`);
    else if (!place) say('warn', 'No engine is connected.');
    else if (flow) start(flow, entry, place);
    else say('warn', 'This session is read-only: nothing is deployed.');
  }

  function about(then: (entry: CatalogEntry) => void): void {
    const entry = chosen();
    if (entry) then(entry);
    else say('idle', 'There is no row.');
  }

  return {
    close,
    actions: {
      catalog: () => store.update(({ screen }) => ({ screen: screen === 'catalog' ? 'panes' : 'catalog' })),
      'read-entry': () => about(({ id }) => change({ selected: id, reading: look().reading ?? 0 })),
      'close-entry': () => void close(),
      'deploy-entry': () => about(deploy),
      'copy-entry': () =>
        about(({ id }) => {
          copy(id);
          say('good', `Copied ${id}.`);
        }),
    },
    move(amount) {
      const { reading } = look();
      if (reading !== undefined) {
        const last = Math.max(0, measured.catalog.total - measured.catalog.height);
        change({ reading: amount === 'top' ? 0 : amount === 'bottom' ? last : Math.min(last, Math.max(0, reading + amount)) });
        return;
      }
      const all = rows();
      const entry = chosen();
      const at = entry ? all.indexOf(entry) : 0;
      const next = amount === 'top' ? 0 : amount === 'bottom' ? all.length - 1 : Math.min(all.length - 1, Math.max(0, at + amount));
      change({ selected: all[Math.max(0, next)]?.id });
    },
  };
}
