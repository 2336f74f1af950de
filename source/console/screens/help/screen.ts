import type { Severity } from '../../../fleet/model.ts';
import { pad, wrap } from '../../../text/width.ts';
import type { Keymap } from '../../keymap.ts';
import { overlaid } from '../../panes.ts';
import { type Screen, scrolledText, scrolledTo, spokenRows } from '../../screen.ts';
import { padStyled } from '../../styled-text.ts';
import type { Theme } from '../../theme.ts';

const legend: readonly (readonly [Severity, string])[] = [
  ['ok', 'works'],
  ['busy', 'busy: starting, loading'],
  ['warning', 'needs attention: sealed, missing, setup required'],
  ['error', 'broken: unhealthy, failed'],
  ['off', 'stopped, or a completed job'],
  ['unknown', 'unknown: the engine is unreachable'],
];

const keyColumns = 16;

function blocks(theme: Theme, keymap: Keymap, width: number): string[][] {
  const keyLines = ({ keys, title }: { keys: string; title: string }) =>
    wrap(title, width - keyColumns - 3).map(
      (part, row) => `  ${row === 0 ? theme.paint('key', pad(keys, keyColumns)) : ' '.repeat(keyColumns)} ${part}`,
    );
  const byContext = Map.groupBy(keymap.rows(), ({ context }) => context);
  const blocksOfKeys = [...byContext].map(([context, rows]) => [theme.paint('heading', context), ...rows.flatMap(keyLines)]);
  const marks = [
    theme.paint('heading', 'Marks'),
    ...legend.map(([severity, text]) => `  ${theme.paint(severity, pad(theme.glyphs.severity[severity], keyColumns))} ${text}`),
  ];
  return [...blocksOfKeys, marks].map((block) => [...block, '']);
}

function helpLines(theme: Theme, keymap: Keymap, width: number): string[] {
  const columns = width >= 116 ? 2 : 1;
  const columnWidth = Math.floor((width - 2) / columns) - 1;
  const all = blocks(theme, keymap, columnWidth);
  if (columns === 1) return all.flat().map((line) => ` ${line}`);
  const total = all.flat().length;
  const left: string[] = [];
  const right: string[] = [];
  for (const block of all) (left.length + block.length / 2 <= total / 2 ? left : right).push(...block);
  const lineOf = (_: unknown, row: number) => ` ${padStyled(left[row] ?? '', columnWidth)} ${right[row] ?? ''}`;
  return Array.from({ length: Math.max(left.length, right.length) }, lineOf);
}

export const help: Screen<'help', never, { top: number }> = {
  id: 'help',
  state: { top: 0 },
  kind: 'body',
  open({ keymap, store }) {
    return {
      draw({ theme, state, width, height }) {
        return { title: 'Help', ...scrolledText(theme, helpLines(theme, keymap, width - 2), state.help.top, height - 2, '-') };
      },
      speak({ theme, state }) {
        const lines = keymap.rows().map(({ keys, context, title }) => `${context}: ${keys}, ${title}.`);
        const { rows, foot, page } = scrolledText(theme, lines, state.help.top, spokenRows);
        return { lines: [`Help, ${foot}.`, ...rows], page };
      },
      footer: ({ of }) => ({
        items: [of('down', 'down'), of('up', 'up'), of('page-down', 'page')],
        always: [of('back', 'close'), of('quit', 'close')],
      }),
      actions: {
        help: () =>
          store.update((state) => (help.id === state.screen ? { screen: state.under } : { ...overlaid(state, 'help'), help: { top: 0 } })),
      },
      move: (amount, page) => store.update(({ help: { top } }) => ({ help: { top: scrolledTo(top, page, amount) } })),
      back() {
        store.update(({ under }) => ({ screen: under }));
        return true;
      },
    };
  },
};
