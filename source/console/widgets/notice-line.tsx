import { Box } from 'ink';
import { wrap } from '../../text/width.ts';
import { useParts } from '../context.ts';
import { frontRun, isRunning } from '../front-run.ts';
import { useInterface, useMotion, useNow } from '../hooks/use-stores.ts';
import type { RunView } from '../interface-store.ts';
import { progressText } from '../screens/run/lines.ts';
import { cutStyled, padStyled, styledWidth } from '../styled-text.ts';
import { Rows } from './pane-frame.tsx';

export function NoticeLine({ columns, rows, runs }: { columns: number; rows: number; runs: readonly RunView[] }) {
  const { theme, keymap } = useParts();
  const notice = useInterface((state) => state.notice);
  const watched = frontRun(runs);
  const running = runs.filter((run) => isRunning(run) && run !== watched);
  const step = useMotion(120, running.length > 0);
  const nowMs = useNow();
  const { glyphs } = theme;
  const run = running.at(-1);
  let lines: string[] = [];
  if (run) {
    const spinner = glyphs.spinner[step % glyphs.spinner.length];
    const more = running.length > 1 ? ` (and ${running.length - 1} more)` : '';
    // The key that cancels is never cut.
    const hidden = run.watch === 'hidden';
    const tail = `${theme.paint('key', keymap.keyOf(hidden ? 'show-run' : 'back'))} ${theme.paint('faint', hidden ? 'shows it' : 'cancels')}`;
    const head = `${theme.paint('busy', `${spinner} ${run.title}${more}`)}  ${progressText(run, theme)}`;
    lines = [`${cutStyled(head, columns - styledWidth(tail) - 4, glyphs.ellipsis)}  ${tail}`];
  } else if (notice && notice.untilMs > nowMs) {
    lines = wrap(`${glyphs.severity[notice.severity]} ${notice.text}`, columns - 2).map((line) =>
      theme.paint(notice.severity, theme.link(line)),
    );
  }
  // More rows would hide the content that the message is about.
  const shown = lines.slice(0, rows >> 1);
  return (
    <Box position="absolute" top={rows - 1 - shown.length} left={0} flexDirection="column">
      <Rows rows={shown.map((line) => padStyled(` ${line}`, columns, glyphs.ellipsis))} />
    </Box>
  );
}
