import { Box, render, Text, useInput } from 'ink';

function Screen({ lines, columns, rows }: { lines: readonly string[]; columns: number; rows: number }) {
  useInput((key) => {
    if (key === 'q') process.exit(0);
  });
  return (
    <Box flexDirection="column" width={columns} height={rows}>
      <Text wrap="truncate">{lines.join('\n')}</Text>
    </Box>
  );
}

/** The rows, as one text: a component for each would cost more. */
export function showRows(lines: readonly string[], columns: number, rows: number): void {
  const options = { exitOnCtrlC: false, patchConsole: false, interactive: true, alternateScreen: true, incrementalRendering: true };
  render(<Screen lines={lines} columns={columns} rows={rows} />, options);
}
