import { useParts } from '../context.ts';
import { frontRun } from '../flow-runs.ts';
import { useInterface } from '../hooks/use-interface.ts';
import { useMotion, useNow } from '../hooks/use-now.ts';
import type { Size } from '../layout.ts';
import { runScreen } from '../run-lines.ts';
import { styledWidth } from '../styled-text.ts';
import { Overlay } from '../widgets/overlay.tsx';

/** The question, result or failure of the flow that is in front. */
export function RunOverlay({ size }: { size: Size }) {
  const { theme, keymap, commands } = useParts();
  const run = frontRun(useInterface((state) => state.runs));
  const running = run?.state === 'running' && !run.dialog;
  const step = useMotion(120, running);
  const nowMs = useNow();
  if (!run || run.dialog?.kind === 'form' || run.dialog?.kind === 'review' || run.dialog?.kind === 'checklist') return null;
  // Tables and what programs wrote may be wide; sentences are read better in a narrow box.
  const wide = running || run.shown.some(({ kind }) => kind === 'table' || kind === 'output' || kind === 'review');
  const most = Math.min(size.columns - 10, wide ? 114 : 70);
  const { lines, shown } = runScreen(run, theme, keymap, { room: most, height: size.rows - 8, nowMs, step });
  commands.measured.run = shown;
  // A box that grew with every line would jump.
  if (running) while (lines.length < Math.min(size.rows - 8, 14)) lines.push('');
  const room = run.dialog || running ? most : Math.min(most, Math.max(44, ...lines.map(styledWidth)));
  // Below a question the footer has no room for it.
  const how = run.dialog ? `${keymap.keyOf('page-down')}  ` : '';
  const foot =
    shown.total > shown.height
      ? theme.paint('faint', `${how}${Math.min(shown.base + run.scroll, shown.total - shown.height) + shown.height} of ${shown.total}`)
      : '';
  const edgeRole = run.dialog?.kind === 'confirm' ? 'warn' : run.state === 'failed' ? 'bad' : undefined;
  return (
    <Overlay
      size={size}
      width={room + 6}
      edgeRole={edgeRole}
      title={run.title}
      foot={foot}
      below={run.command}
      rows={['', ...lines.map((line) => `  ${line}`), '']}
    />
  );
}
