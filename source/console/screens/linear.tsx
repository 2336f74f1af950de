import { Box, Text } from 'ink';
import { cleanLine } from '../../text/clean.ts';
import { rowsFor } from '../component-rows.ts';
import { useParts } from '../context.ts';
import { frontRun } from '../flow-runs.ts';
import { useFleet } from '../hooks/use-fleet.ts';
import { useInterface } from '../hooks/use-interface.ts';
import { useLogWindow } from '../hooks/use-log-window.ts';
import { useNow } from '../hooks/use-now.ts';
import { useSelected } from '../hooks/use-selected.ts';
import { overviewLines } from '../panes/overview-lines.ts';
import { addressText } from '../panes/ports.tsx';
import { runScreen } from '../run-lines.ts';
import { serviceShown } from '../selection.ts';
import { createTheme } from '../theme.ts';
import { footerItems } from '../widgets/footer-line.ts';
import { counts } from '../widgets/header-line.ts';

const plain = createTheme({ depth: 'none', background: 'dark', ascii: true });
const columns = 100;
const logLineCount = 10;

/** The console as sentences, top to bottom, for screen readers: no frames, no columns, nothing that moves by itself. */
export function Linear() {
  const parts = useParts();
  const { deck, keymap } = parts;
  const snapshot = useFleet();
  const state = useInterface((whole) => whole);
  const component = useSelected();
  const nowMs = useNow();
  const { window } = useLogWindow(state.filters.logs);

  const lines: string[] = [];
  const places = snapshot.places.map(
    (place) => `${cleanLine(place.name)}, ${place.engine.kind ?? 'engine'} ${cleanLine(place.engine.version)}, ${place.link.state}`,
  );
  const marks = [deck.options.readOnly ? 'Read-only.' : '', parts.practice ? 'Practice.' : ''].filter(Boolean).join(' ');
  lines.push(`Quarterdeck. ${places.join('; ')}. ${marks}`.trim());
  lines.push(
    `${counts(snapshot.components)
      .map(({ word, count }) => `${count} ${word}`)
      .join(', ')}.`,
  );
  for (const place of snapshot.places) {
    if (place.link.state === 'away') lines.push(`Away: ${cleanLine(place.link.message ?? '')} ${cleanLine(place.link.remedy ?? '')}`);
  }
  const front = frontRun(state.runs);
  if (front) {
    lines.push(`${front.title}.`, ...runScreen(front, plain, keymap, columns, 60).lines.filter(Boolean));
  } else {
    const listed = rowsFor(snapshot.components, state.filters.components).flatMap((row) =>
      row.kind === 'component' ? [row.component] : [],
    );
    const position = component ? listed.indexOf(component) + 1 : 0;
    if (state.focus === 'ports') {
      lines.push(
        'Ports.',
        ...snapshot.ports
          .slice(0, 30)
          .map(
            (port) =>
              `${addressText(port)}, ${port.exposure}, ${cleanLine(port.owner)}${port.conflictWith.length > 0 ? `, conflict with ${port.conflictWith.map(cleanLine).join(', ')}` : ''}.`,
          ),
      );
    } else if (component && state.focus === 'logs') {
      lines.push(`Log of ${cleanLine(component.id)}, last lines.`);
      for (let at = Math.max(0, window.length - logLineCount); at < window.length; at++) lines.push(cleanLine(window.at(at)?.text ?? ''));
    } else if (component) {
      lines.push(`Component ${position} of ${listed.length}: ${cleanLine(component.id)}, ${cleanLine(component.word)}.`);
      if (state.focus === 'detail') {
        lines.push(
          ...overviewLines({ theme: plain, width: columns, nowMs, component, service: serviceShown(state, component), stats: undefined })
            .map((line) => line.trim())
            .filter(Boolean),
        );
      }
    }
  }
  if (state.editing) lines.push(`Filter: ${state.editing.field.text}`);
  if (state.notice) lines.push(cleanLine(state.notice.text));
  const { near, always } = footerItems({ state, keymap, deck, component });
  lines.push(`Keys: ${[...near, ...always].map(({ key, label }) => `${key} ${label}`).join(', ')}.`);
  return (
    <Box flexDirection="column">
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity
        <Text key={index}>{line}</Text>
      ))}
    </Box>
  );
}
