import { useRef } from 'react';
import { cleanLine } from '../../text/clean.ts';
import type { ChecklistDialog } from '../checklist-dialog.ts';
import { checklistCounts, checklistScreen } from '../checklist-lines.ts';
import { useParts } from '../context.ts';
import { frontRun } from '../flow-runs.ts';
import { useInterface } from '../hooks/use-interface.ts';
import type { Rectangle } from '../layout.ts';
import { PaneFrame } from '../widgets/pane-frame.tsx';

/** A walk between two of its steps: everything that was looked at, and the evidence of the item at hand. */
export function ChecklistPage({ rectangle, dialog }: { rectangle: Rectangle; dialog: ChecklistDialog }) {
  const { theme, commands } = useParts();
  const command = useInterface((state) => frontRun(state.runs)?.command ?? '');
  const top = useRef(0);
  const { width, height } = rectangle;
  const screen = checklistScreen(dialog, theme, { width: width - 2, height: height - 2, previousTop: top.current });
  top.current = screen.top;
  commands.measured.checklist = screen.measured;
  const { title, items } = dialog.question.checklist;
  const { total, height: shown } = screen.measured.evidence;
  return (
    <PaneFrame
      width={width}
      height={height}
      title={cleanLine(title)}
      aside={checklistCounts(items, theme)}
      foot={total > shown ? theme.paint('faint', `${Math.min(dialog.scroll + shown, total)} of ${total} lines`) : ''}
      below={command}
      focused
      edgeRole={items.some(({ state }) => state === 'blocked') ? 'bad' : undefined}
      rows={screen.rows}
    />
  );
}
