import { useRef } from 'react';
import { cleanLine } from '../../text/clean.ts';
import { useParts } from '../context.ts';
import { frontRun } from '../flow-runs.ts';
import type { FormDialog } from '../form-dialog.ts';
import { changedText, formScreen } from '../form-lines.ts';
import { useInterface } from '../hooks/use-interface.ts';
import type { Rectangle } from '../layout.ts';
import { PaneFrame } from '../widgets/pane-frame.tsx';

/** All fields of a form, under their headings, on a screen of its own. */
export function Form({ rectangle, dialog }: { rectangle: Rectangle; dialog: FormDialog }) {
  const { theme, keymap, commands } = useParts();
  const where = useInterface((state) => frontRun(state.runs)?.where ?? '');
  const command = useInterface((state) => frontRun(state.runs)?.command ?? '');
  const top = useRef(0);
  const { width, height } = rectangle;
  const screen = formScreen(dialog, theme, keymap, { width: width - 2, height: height - 2, previousTop: top.current });
  top.current = screen.top;
  commands.measured.form = screen.page;
  return (
    <PaneFrame
      width={width}
      height={height}
      title={cleanLine(dialog.form.title) + where}
      aside={changedText(dialog, theme)}
      below={command}
      focused
      edgeRole={dialog.leaving ? 'warn' : undefined}
      rows={screen.rows}
    />
  );
}
