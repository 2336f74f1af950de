import { Box } from 'ink';
import { render } from 'ink-testing-library';
import { expect, test } from 'vitest';
import { asciiTheme } from '../../../test/doubles/console/harness.tsx';
import { ConsoleContext, type ConsoleParts } from '../context.ts';
import { Choices } from './pane-frame.tsx';

test('moving the selection redraws two rows', () => {
  const drawn: string[] = [];
  const finish = (row: string) => {
    drawn.push(row.trim());
    return row;
  };
  const parts = { theme: { ...asciiTheme, finish } } as unknown as ConsoleParts;
  const choices = ['alpha', 'beta', 'gamma', 'delta', 'omega'].map((name) => ` ${name}`);
  const list = (selected: number) => (
    <ConsoleContext value={parts}>
      <Box>
        <Choices choices={choices} selected={selected} width={12} indent={1} columns={14} />
      </Box>
    </ConsoleContext>
  );
  const { lastFrame, rerender } = render(list(1));
  expect(lastFrame()).toContain('> beta');
  drawn.length = 0;
  rerender(list(2));
  expect(lastFrame()).toContain('> gamma');
  expect(lastFrame()).not.toContain('> beta');
  expect(drawn.filter((row) => row !== '>' && row !== '')).toEqual(['beta', expect.stringContaining('gamma')]);
});
