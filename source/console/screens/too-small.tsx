import { wrap } from '../../text/width.ts';
import { useParts } from '../context.ts';
import { leastSize, type Size } from '../layout.ts';
import { Rows } from '../widgets/rows.tsx';

/** What is said instead of panes that nobody could read. */
export function TooSmall({ size }: { size: Size }) {
  const { keymap } = useParts();
  const lines = wrap(
    `This terminal has ${size.columns} x ${size.rows} characters. Quarterdeck needs ${leastSize.columns} x ${leastSize.rows}: make it larger, and it goes on. ${keymap.keyOf('quit')} quits.`,
    Math.max(8, size.columns - 1),
  );
  return <Rows rows={lines.slice(0, size.rows)} />;
}
