import { useEffect, useMemo } from 'react';
import { chainLines, chainTitle } from '../chain-lines.ts';
import { useParts } from '../context.ts';
import { useInterface } from '../hooks/use-interface.ts';
import { useTold } from '../hooks/use-told.ts';
import type { Rectangle } from '../layout.ts';
import { PaneFrame } from '../widgets/pane-frame.tsx';

/** How a release gets into the library, stage by stage (R55). */
export function Chain({ rectangle }: { rectangle: Rectangle }) {
  const { theme, commands, chain } = useParts();
  const subscribe = useMemo(() => (listener: () => void) => chain.subscribe(listener), [chain]);
  useTold(subscribe, 'fact');
  useEffect(() => chain.look(), [chain]);
  const scroll = useInterface((state) => state.chainScroll);
  const view = chain.view();
  const width = rectangle.width - 2;
  const height = Math.max(1, rectangle.height - 2);
  const lines = chainLines(view, { theme, width });
  commands.measured.chain = { height, total: lines.length };
  const top = Math.max(0, Math.min(scroll, lines.length - height));
  const shown = lines.slice(top, top + height);
  return (
    <PaneFrame
      width={rectangle.width}
      height={rectangle.height}
      title={chainTitle(view)}
      foot={lines.length > height ? theme.paint('faint', `${top + 1} to ${top + shown.length} of ${lines.length}`) : ''}
      focused
      rows={[...shown, ...Array.from({ length: Math.max(0, height - shown.length) }, () => '')]}
    />
  );
}
