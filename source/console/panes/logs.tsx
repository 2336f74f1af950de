import { useParts } from '../context.ts';
import { useInterface } from '../hooks/use-interface.ts';
import { useLogLines } from '../hooks/use-log-lines.ts';
import type { Rectangle } from '../layout.ts';
import { PaneFrame } from '../widgets/pane-frame.tsx';

export function LogsPane({ rectangle, focused }: { rectangle: Rectangle; focused: boolean }) {
  const { theme } = useParts();
  const whole = useInterface((state) => state.logs.whole);
  const shown = useLogLines({ width: rectangle.width - 2, height: rectangle.height - 2, focused });
  const title = shown.title === '' ? 'Logs' : `Logs ${theme.glyphs.dot} ${shown.title}`;
  return (
    <PaneFrame
      width={rectangle.width}
      height={rectangle.height}
      title={whole === undefined ? title : `${title} ${theme.glyphs.dot} one line`}
      aside={shown.typed || shown.status}
      foot={[shown.notes, shown.typed ? shown.status : ''].filter(Boolean).join(theme.paint('faint', ` ${theme.glyphs.dot} `))}
      focused={focused}
      rows={shown.lines}
    />
  );
}
