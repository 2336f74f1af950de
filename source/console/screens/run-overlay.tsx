import { useParts } from '../context.ts';
import { frontRun } from '../flow-runs.ts';
import { useInterface } from '../hooks/use-interface.ts';
import type { Size } from '../layout.ts';
import { runScreen } from '../run-lines.ts';
import { Overlay } from '../widgets/overlay.tsx';

/** The question, result or failure of the flow that is in front. */
export function RunOverlay({ size }: { size: Size }) {
  const { theme, keymap, commands } = useParts();
  const run = frontRun(useInterface((state) => state.runs));
  if (!run) return null;
  const wide = run.shown.some((shown) => shown.kind === 'table' || shown.kind === 'output');
  const width = Math.min(size.columns - 4, wide ? 120 : 76);
  const room = width - 6;
  const { lines, shown } = runScreen(run, theme, keymap, room, size.rows - 8);
  commands.measured.run = shown;
  const foot = shown.total > shown.height ? theme.paint('faint', `${Math.min(run.scroll, shown.total - shown.height) + shown.height} of ${shown.total}`) : '';
  return <Overlay size={size} width={width} title={run.title} foot={foot} rows={['', ...lines.map((line) => `  ${line}`), '']} />;
}
