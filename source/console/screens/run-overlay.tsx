import { useParts } from '../context.ts';
import { frontRun } from '../flow-runs.ts';
import { useInterface } from '../hooks/use-interface.ts';
import type { Size } from '../layout.ts';
import { runScreen } from '../run-lines.ts';
import { styledWidth } from '../styled-text.ts';
import { Overlay } from '../widgets/overlay.tsx';

/** The question, result or failure of the flow that is in front. */
export function RunOverlay({ size }: { size: Size }) {
  const { theme, keymap, commands } = useParts();
  const run = frontRun(useInterface((state) => state.runs));
  if (!run) return null;
  // Tables and what programs wrote may be wide; sentences are read better in a narrow box.
  const wide = run.shown.some((shown) => shown.kind === 'table' || shown.kind === 'output');
  const most = Math.min(size.columns - 10, wide ? 114 : 70);
  const { lines, shown } = runScreen(run, theme, keymap, most, size.rows - 8);
  commands.measured.run = shown;
  const room = run.dialog ? most : Math.min(most, Math.max(44, ...lines.map(styledWidth)));
  const foot =
    shown.total > shown.height
      ? theme.paint('faint', `${Math.min(run.scroll, shown.total - shown.height) + shown.height} of ${shown.total}`)
      : '';
  const edgeRole = run.dialog?.kind === 'confirm' ? 'warn' : run.state === 'failed' ? 'bad' : undefined;
  return (
    <Overlay
      size={size}
      width={room + 6}
      edgeRole={edgeRole}
      title={run.title}
      foot={foot}
      rows={['', ...lines.map((line) => `  ${line}`), '']}
    />
  );
}
