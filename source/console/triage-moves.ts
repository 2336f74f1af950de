import type { Flow, FlowInput } from '../flows/flow.ts';
import type { Triaged } from '../products/vulnerabilities/triage.ts';
import type { Deck } from '../terminal/deck.ts';
import { cleanLine } from '../text/clean.ts';
import type { InterfaceStore } from './interface-store.ts';
import type { CommandId } from './keymap.ts';
import { flowOf } from './offers.ts';
import { triageRows, triageShows } from './triage-rows.ts';
import type { TriageRow, TriageWatch } from './triage-watch.ts';

interface Options {
  deck: Deck;
  store: InterfaceStore;
  triage: TriageWatch;
  say: (tone: 'good' | 'idle' | 'warn', text: string) => void;
  copy: (text: string) => void;
  start: (flow: Flow, place: string, words: readonly string[], options?: FlowInput['options']) => void;
}

export interface TriageMoves {
  actions: Partial<Record<CommandId, () => void>>;
  move(amount: number | 'top' | 'bottom'): void;
}

/** What keys do about vulnerabilities. */
export function createTriageMoves({ deck, store, triage, say, copy, start }: Options): TriageMoves {
  const look = () => store.get().triage;
  const rows = () => triageRows(triage.view(), store.get().filters.triage, look().shows);
  const change = (by: Partial<ReturnType<typeof look>>) => store.update((state) => ({ triage: { ...state.triage, ...by } }));

  function chosen(): TriageRow | undefined {
    const all = rows();
    return all.find((row) => row.id === look().selected) ?? all[Math.min(look().cursor, all.length - 1)];
  }

  function run(id: string, words: readonly string[], options: FlowInput['options'] = {}): void {
    const flow = flowOf(deck, id);
    const place = deck.fleet.snapshot().places[0]?.name ?? '';
    if (flow) start(flow, place, words, options);
  }

  function about(then: (one: Triaged) => void): void {
    const row = chosen();
    if (row) then(row.one);
    else say('idle', 'There is no row.');
  }

  return {
    actions: {
      vulnerabilities: () => store.update(({ screen }) => ({ screen: screen === 'triage' ? 'panes' : 'triage' })),
      // The whole package: one update mends all of it.
      'decide-row': () => about(({ package: name, subject }) => run('vulnerabilities-decide', [name, subject])),
      'undecide-row': () =>
        about((one) => {
          if (one.decision)
            run('vulnerabilities-decide', [one.id, one.package, one.subject], {
              as: 'open',
              ...(one.decision.subject === '*' && { everywhere: true }),
            });
          else say('idle', 'Nobody has decided about it.');
        }),
      'import-report': () => run('vulnerabilities-import', []),
      'triage-shows': () =>
        change({
          shows: triageShows[(triageShows.indexOf(look().shows) + 1) % triageShows.length] ?? 'all',
          cursor: 0,
          selected: undefined,
        }),
      'copy-vulnerability': () =>
        about((one) => {
          copy(one.id);
          say('good', `Copied ${cleanLine(one.id)}.`);
        }),
    },
    move(amount) {
      const all = rows();
      const found = all.findIndex((row) => row.id === look().selected);
      const at = Math.max(0, found >= 0 ? found : Math.min(look().cursor, all.length - 1));
      const next = amount === 'top' ? 0 : amount === 'bottom' ? all.length - 1 : Math.min(all.length - 1, Math.max(0, at + amount));
      const row = all[next];
      change({ cursor: Math.max(0, next), selected: row?.id });
    },
  };
}
