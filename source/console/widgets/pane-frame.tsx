import { Box, Text } from 'ink';
import { useParts } from '../context.ts';
import { cutStyled, styledWidth } from '../styled-text.ts';
import type { Role, Theme } from '../theme.ts';
import { Rows } from './rows.tsx';

interface FrameProps {
  width: number;
  height: number;
  title: string;
  /** On the right of the upper edge. */
  aside?: string;
  /** On the right of the lower edge. */
  foot?: string;
  /** On the left of the lower edge. */
  below?: string;
  focused: boolean;
  /** Of the edge, instead of what the focus decides. */
  edgeRole?: Role | undefined;
  /** `width - 2` columns each. */
  rows: readonly string[];
}

/** `╭ Title ───── aside ╮`, exactly as wide as asked. */
export function edge(
  theme: Theme,
  options: { width: number; title: string; aside: string; focused: boolean; top: boolean; role: Role },
): string {
  const { width, focused, top, role } = options;
  const frame = theme.frame(focused);
  const room = width - 2;
  const aside = options.aside === '' ? '' : ` ${cutStyled(options.aside, Math.max(0, room - 8), theme.glyphs.ellipsis)} `;
  const titleRoom = room - styledWidth(aside) - 4;
  const title = options.title === '' || titleRoom < 3 ? '' : ` ${cutStyled(options.title, titleRoom, theme.glyphs.ellipsis)} `;
  const fill = Math.max(0, room - styledWidth(title) - styledWidth(aside) - (aside ? 1 : 0));
  const line = (text: string) => theme.paint(role, text);
  return (
    line(top ? frame.topLeft : frame.bottomLeft) +
    title +
    line(frame.across.repeat(fill)) +
    aside +
    line((aside ? frame.across : '') + (top ? frame.topRight : frame.bottomRight))
  );
}

/** A pane: an edge with its title, rows, an edge. Sides are texts of their own, so that a row of plain ASCII stays one. */
export function PaneFrame({ width, height, title, aside = '', foot = '', below = '', focused, edgeRole, rows }: FrameProps) {
  const { theme } = useParts();
  const inner = Math.max(0, height - 2);
  const role = edgeRole ?? (focused ? 'focused' : 'border');
  const { down } = theme.frame(focused);
  const sides = theme.paint(role, Array.from({ length: inner }, () => down).join('\n'));
  const heading = theme.paint(edgeRole ?? (focused ? 'accent' : 'heading'), title);
  return (
    <Box flexDirection="column" width={width} height={height} flexShrink={0}>
      <Text wrap="truncate">{theme.finish(edge(theme, { width, title: heading, aside, focused, role, top: true }))}</Text>
      <Box height={inner}>
        <Text>{sides}</Text>
        <Box flexDirection="column" width={width - 2}>
          <Rows rows={rows.slice(0, inner)} />
        </Box>
        <Text>{sides}</Text>
      </Box>
      <Text wrap="truncate">
        {theme.finish(edge(theme, { width, title: theme.paint('faint', below), aside: foot, focused, role, top: false }))}
      </Text>
    </Box>
  );
}
