import { useRef } from 'react';
import { cleanLine } from '../../text/clean.ts';
import { useParts } from '../context.ts';
import { frontRun } from '../flow-runs.ts';
import { useInterface } from '../hooks/use-interface.ts';
import type { Rectangle } from '../layout.ts';
import type { ReviewDialog } from '../review-dialog.ts';
import { reviewCounts, reviewScreen } from '../review-lines.ts';
import { PaneFrame } from '../widgets/pane-frame.tsx';

/** What is about to be done, all of it, with what is wrong on top. */
export function Review({ rectangle, dialog }: { rectangle: Rectangle; dialog: ReviewDialog }) {
  const { theme, commands } = useParts();
  const command = useInterface((state) => frontRun(state.runs)?.command ?? '');
  const top = useRef(0);
  const { width, height } = rectangle;
  const screen = reviewScreen(dialog, theme, { width: width - 2, height: height - 2, previousTop: top.current });
  top.current = screen.top;
  commands.measured.review = screen.measured;
  const last = screen.top + screen.measured.height;
  return (
    <PaneFrame
      width={width}
      height={height}
      title={cleanLine(dialog.review.title)}
      aside={reviewCounts(dialog, theme)}
      foot={screen.total > screen.measured.height ? theme.paint('faint', `${Math.min(last, screen.total)} of ${screen.total}`) : ''}
      below={command}
      focused
      edgeRole={dialog.review.actions[0]?.blocked === undefined ? undefined : 'bad'}
      rows={screen.rows}
    />
  );
}
