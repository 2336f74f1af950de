import { Box, Text } from 'ink';
import SelectInput from 'ink-select-input';
import { createContext, memo, useContext, useMemo } from 'react';
import { useParts } from '../context.ts';
import type { ChoiceList } from '../screen.ts';
import { padStyled } from '../styled-text.ts';

const ShownRows = createContext<readonly string[]>([]);

const List = memo(SelectInput<number>);
const NoIndicator = () => null;

function Item({ label }: { label: string }) {
  return <Row text={useContext(ShownRows)[Number(label)] ?? ''} />;
}

const Row = memo(function Row({ text }: { text: string }) {
  const { theme } = useParts();
  return <Text wrap="truncate">{theme.finish(text)}</Text>;
});

/**
 * Draws choices below each other with `ink-select-input`. Its keys are off, because all keys go through the dispatcher. It reads the
 * selection only when it is mounted, so its items are numbers, and each row reads its text from the context: a move redraws two rows.
 */
export function Choices({ choices, selected, width, indent, pointer, columns }: ChoiceList & { columns: number }) {
  const { theme } = useParts();
  const { length } = choices;
  const items = useMemo(() => Array.from({ length }, (_, value) => ({ value, label: String(value) })), [length]);
  if (length === 0) return null;
  const sign = pointer ? theme.paint(pointer, theme.glyphs.pointer) : theme.glyphs.pointer;
  const rows = choices.map((choice, index) => {
    const text = padStyled(choice, width - 1);
    return index === selected ? theme.paint('selected', sign) + theme.paint('selected', text) : ` ${text}`;
  });
  const blank = (size: number) => <Text>{choices.map(() => ' '.repeat(size)).join('\n')}</Text>;
  return (
    <ShownRows value={rows}>
      <Box>
        {blank(indent)}
        <List items={items} isFocused={false} indicatorComponent={NoIndicator} itemComponent={Item} />
        {blank(Math.max(0, columns - indent - width))}
      </Box>
    </ShownRows>
  );
}
