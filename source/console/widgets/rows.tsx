import { Text } from 'ink';
import { useParts } from '../context.ts';

/** Lines that are cut and styled already: one text each, which is what the screen can draw fastest. */
export function Rows({ rows }: { rows: readonly string[] }) {
  const { theme } = useParts();
  return rows.map((row, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: rows are places on the screen, not things
    <Text key={index} wrap="truncate">
      {row === '' ? ' ' : theme.finish(row)}
    </Text>
  ));
}
