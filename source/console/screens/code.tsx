import { Box } from 'ink';
import { useParts } from '../context.ts';
import { useNow } from '../hooks/use-now.ts';
import type { RunView } from '../interface-store.ts';
import type { Size } from '../layout.ts';
import { codeScreen } from '../run-lines.ts';
import { Rows } from '../widgets/rows.tsx';

/** The QR code that a run showed, with nothing else on the screen that takes rows from it. */
export function Code({ size, run }: { size: Size; run: RunView }) {
  const { theme, keymap } = useParts();
  const nowMs = useNow();
  return (
    <Box flexDirection="column" width={size.columns} height={size.rows}>
      <Rows rows={codeScreen(run, theme, keymap, { ...size, nowMs })} />
    </Box>
  );
}
