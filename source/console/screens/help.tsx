import type { Tone } from '../../fleet/model.ts';
import { pad, wrap } from '../../text/width.ts';
import { useParts } from '../context.ts';
import { useInterface } from '../hooks/use-interface.ts';
import { type Keymap, keyTable } from '../keymap.ts';
import type { Rectangle } from '../layout.ts';
import { padStyled } from '../styled-text.ts';
import type { Theme } from '../theme.ts';
import { PaneFrame } from '../widgets/pane-frame.tsx';

const legend: readonly (readonly [Tone, string])[] = [
  ['good', 'works'],
  ['busy', 'busy: starting, loading'],
  ['warn', 'wants you: sealed, unhealthy, not set up'],
  ['bad', 'broken'],
  ['idle', 'stopped, or a job that is done'],
  ['unknown', 'not known: the engine is away'],
];

const keyColumns = 16;

/** The key table in blocks, one per context; a block is not torn apart when there are two columns. */
function blocks(theme: Theme, keymap: Keymap, width: number): string[][] {
  const byContext = new Map<string, string[]>();
  for (const { keys, context, title } of keyTable(keymap)) {
    const block = byContext.get(context) ?? [theme.paint('heading', context)];
    byContext.set(context, block);
    for (const [row, part] of wrap(title, width - keyColumns - 3).entries())
      block.push(`  ${row === 0 ? theme.paint('key', pad(keys, keyColumns)) : ' '.repeat(keyColumns)} ${part}`);
  }
  const marks = [
    theme.paint('heading', 'Marks'),
    ...legend.map(([tone, text]) => `  ${theme.paint(tone, pad(theme.glyphs.tone[tone], keyColumns))} ${text}`),
  ];
  return [...byContext.values(), marks].map((block) => [...block, '']);
}

export function helpLines(theme: Theme, keymap: Keymap, width: number): string[] {
  const columns = width >= 116 ? 2 : 1;
  const columnWidth = Math.floor((width - 2) / columns) - 1;
  const all = blocks(theme, keymap, columnWidth);
  if (columns === 1) return all.flat().map((line) => ` ${line}`);
  const total = all.flat().length;
  const left: string[] = [];
  const right: string[] = [];
  for (const block of all) (left.length + block.length / 2 <= total / 2 ? left : right).push(...block);
  return Array.from(
    { length: Math.max(left.length, right.length) },
    (_, row) => ` ${padStyled(left[row] ?? '', columnWidth)} ${right[row] ?? ''}`,
  );
}

export function Help({ rectangle }: { rectangle: Rectangle }) {
  const { theme, keymap, commands } = useParts();
  const scroll = useInterface((state) => state.helpScroll);
  const lines = helpLines(theme, keymap, rectangle.width - 2);
  const height = rectangle.height - 2;
  commands.measured.help = { height, total: lines.length };
  const top = Math.max(0, Math.min(scroll, lines.length - height));
  return (
    <PaneFrame
      width={rectangle.width}
      height={rectangle.height}
      title="Help"
      foot={lines.length > height ? theme.paint('faint', `${top + 1}-${Math.min(lines.length, top + height)} of ${lines.length}`) : ''}
      focused
      rows={lines.slice(top, top + height)}
    />
  );
}
