import { Box, Text } from 'ink';
import SelectInput from 'ink-select-input';
import { createContext, memo, useContext, useLayoutEffect, useMemo, useRef } from 'react';
import { wrap } from '../../text/width.ts';
import { useParts } from '../context.ts';
import { asideOf } from '../filter-text.ts';
import { useView } from '../hooks/use-stores.ts';
import type { Size } from '../layout.ts';
import type { Opened } from '../open-screens.ts';
import { type ChoiceList, type DrawnRow, noPage } from '../screen.ts';
import { padStyled, styledWidth } from '../styled-text.ts';
import { type PaneEdges, paneEdges } from './pane-edges.ts';

type Edges = PaneEdges & { rows: readonly DrawnRow[] };

const rowCount = (rows: readonly DrawnRow[]) => rows.reduce((sum, row) => sum + (typeof row === 'string' ? 1 : row.choices.length), 0);

/** Groups rows, and keeps choices between them, of which only as many rows are drawn as fit. */
function blocksOf(rows: readonly DrawnRow[], room: number): (string[] | ChoiceList)[] {
  const at = rows.findIndex((row) => typeof row !== 'string');
  const list = rows[at];
  if (list === undefined || typeof list === 'string') return [(rows as string[]).slice(0, room)];
  const before = (rows.slice(0, at) as string[]).slice(0, room);
  const choices = list.choices.slice(0, room - before.length);
  const after = (rows.slice(at + 1) as string[]).slice(0, Math.max(0, room - before.length - choices.length));
  return [before, { ...list, choices }, after];
}

/** A pane: an edge with its title, rows, an edge. The sides are separate texts, so that a row of plain ASCII stays one. */
function PaneFrame({ height, rows, ...edges }: Edges & { width: number; height: number; focused: boolean }) {
  const { theme } = useParts();
  const { width } = edges;
  const inner = Math.max(0, height - 2);
  const { upper, sides, lower } = paneEdges(theme, edges);
  const beside = <Text>{sides(inner)}</Text>;
  return (
    <Box flexDirection="column" width={width} height={height} flexShrink={0}>
      <Text wrap="truncate">{theme.finish(upper)}</Text>
      <Box height={inner}>
        {beside}
        <Box flexDirection="column" width={width - 2}>
          {blocksOf(rows, inner).map((block, index) =>
            // biome-ignore lint/suspicious/noArrayIndexKey: blocks are positions on the screen, not things
            Array.isArray(block) ? <Rows key={index} rows={block} /> : <Choices key={index} {...block} columns={width - 2} />,
          )}
        </Box>
        {beside}
      </Box>
      <Text wrap="truncate">{theme.finish(lower)}</Text>
    </Box>
  );
}

/** A box over the panes, in the middle of the screen. Its rows are padded, so that nothing below is visible. */
function Overlay({ size, width, ...edges }: Edges & { size: Size; width: number }) {
  const { foot = '', below = '', rows } = edges;
  const { theme } = useParts();
  // A command that does not fit into the edge is above it, in full.
  const fits = styledWidth(below) + styledWidth(foot) + 10 <= width;
  const command = fits ? [] : wrap(below, width - 6).map((line) => `  ${theme.paint('faint', line)}`);
  const all = [...rows, ...command];
  const height = Math.min(size.rows - 2, rowCount(all) + 2);
  return (
    <Box
      position="absolute"
      top={Math.max(1, Math.floor((size.rows - height) / 2))}
      left={Math.max(0, Math.floor((size.columns - width) / 2))}
    >
      <PaneFrame
        {...edges}
        {...{ width, height, below: fits ? below : '' }}
        focused
        rows={all.map((row) => (typeof row === 'string' ? padStyled(row, width - 2) : row))}
      />
    </Box>
  );
}

/** Draws lines that are cut and styled already: one text each, which Ink draws fastest. */
export function Rows({ rows }: { rows: readonly string[] }) {
  const { theme } = useParts();
  return rows.map((row, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: rows are positions on the screen, not things
    <Text key={index} wrap="truncate">
      {row === '' ? ' ' : theme.finish(row)}
    </Text>
  ));
}

export function ScreenView({ opened, focused = true, ...size }: { opened: Opened; width: number; height: number; focused?: boolean }) {
  const { width, height } = size;
  const { theme, commands } = useParts();
  const { screen, draw } = opened;
  const previousTop = useRef(0);
  const view = useView(opened, theme, { ...size, focused }, previousTop.current);
  const drawn = draw?.(view);
  useLayoutEffect(() => {
    previousTop.current = drawn?.top ?? 0;
    commands.seenPage(screen.id, drawn?.page ?? noPage);
    drawn?.shown?.();
  });
  if (!drawn) return null;
  const { rows, page, shown, top, width: own = width, ...edges } = drawn;
  if (screen.kind === 'whole')
    return (
      <Box flexDirection="column" width={width} height={height}>
        <Rows rows={rows.filter((row) => typeof row === 'string')} />
      </Box>
    );
  if (screen.kind === 'overlay') return <Overlay size={{ columns: width, rows: height }} {...edges} width={own} rows={rows} />;
  const aside = asideOf(theme, view.state, screen, drawn);
  return <PaneFrame {...edges} aside={aside} width={width} height={height} focused={focused} rows={rows} />;
}

const ShownRows = createContext<readonly string[]>([]);

const List = memo(SelectInput<number>);
const NoIndicator = () => null;

const Item = ({ label }: { label: string }) => <Row text={useContext(ShownRows)[Number(label)] ?? ''} />;

const Row = memo(function Row({ text }: { text: string }) {
  const { theme } = useParts();
  return <Text wrap="truncate">{theme.finish(text)}</Text>;
});

/**
 * Draws choices below each other with `ink-select-input`. Its keys are off, because all keys go through the dispatcher. It reads the
 * selection only when it is mounted, so its items are numbers, and each row reads its text from the context: a move redraws two rows.
 */
export function Choices({ choices, selected, width, indent, pointer, columns }: ChoiceList & { columns: number }) {
  const { theme } = useParts();
  const { length } = choices;
  const items = useMemo(() => Array.from({ length }, (_, value) => ({ value, label: String(value) })), [length]);
  if (length === 0) return null;
  const sign = pointer ? theme.paint(pointer, theme.glyphs.pointer) : theme.glyphs.pointer;
  const rows = choices.map((choice, index) => {
    const text = padStyled(choice, width - 1);
    return index === selected ? theme.paint('selected', sign) + theme.paint('selected', text) : ` ${text}`;
  });
  const blank = (size: number) => <Text>{choices.map(() => ' '.repeat(size)).join('\n')}</Text>;
  return (
    <ShownRows value={rows}>
      <Box>
        {blank(indent)}
        <List items={items} isFocused={false} indicatorComponent={NoIndicator} itemComponent={Item} />
        {blank(Math.max(0, columns - indent - width))}
      </Box>
    </ShownRows>
  );
}
