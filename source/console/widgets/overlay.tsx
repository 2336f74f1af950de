import { Box } from 'ink';
import { wrap } from '../../text/width.ts';
import { useParts } from '../context.ts';
import type { Size } from '../layout.ts';
import { padStyled, styledWidth } from '../styled-text.ts';
import type { Role } from '../theme.ts';
import { PaneFrame } from './pane-frame.tsx';

interface OverlayProps {
  size: Size;
  /** Of the whole box, edges included. */
  width: number;
  title: string;
  foot?: string;
  /** On the left of its lower edge. */
  below?: string;
  edgeRole?: Role | undefined;
  rows: readonly string[];
}

/** A box over the panes, in the middle of the screen. Its rows are filled up, so that nothing shines through. */
export function Overlay({ size, width, title, foot = '', below = '', edgeRole, rows }: OverlayProps) {
  const { theme } = useParts();
  // A command that the edge has no room for stands above it, whole.
  const fits = styledWidth(below) + styledWidth(foot) + 10 <= width;
  const command = fits ? [] : [...wrap(below, width - 6).map((line) => `  ${theme.paint('faint', line)}`)];
  const all = [...rows, ...command];
  const height = Math.min(size.rows - 2, all.length + 2);
  return (
    <Box
      position="absolute"
      top={Math.max(1, Math.floor((size.rows - height) / 2))}
      left={Math.max(0, Math.floor((size.columns - width) / 2))}
    >
      <PaneFrame
        width={width}
        height={height}
        title={title}
        foot={foot}
        below={fits ? below : ''}
        focused
        edgeRole={edgeRole}
        rows={all.map((row) => padStyled(row, width - 2))}
      />
    </Box>
  );
}
