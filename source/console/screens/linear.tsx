import { Box, Text } from 'ink';
import type { PortView } from '../../fleet/model.ts';
import { cleanLine } from '../../text/clean.ts';
import { rowsFor } from '../component-rows.ts';
import { useParts } from '../context.ts';
import { frontRun } from '../flow-runs.ts';
import { useFleet } from '../hooks/use-fleet.ts';
import { useInterface } from '../hooks/use-interface.ts';
import { useLogWindow } from '../hooks/use-log-window.ts';
import { useNow } from '../hooks/use-now.ts';
import { useSelected } from '../hooks/use-selected.ts';
import type { PaneId } from '../interface-store.ts';
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
const portCount = 30;

function portLines(ports: readonly PortView[]): string[] {
  return [
    'Ports.',
    ...ports.slice(0, portCount).map((port) => {
      const conflict = port.conflictWith.length > 0 ? `, conflict with ${port.conflictWith.map(cleanLine).join(', ')}` : '';
      return `${addressText(port)}, ${port.exposure}, ${cleanLine(port.owner)}${conflict}.`;
    }),
  ];
}

/** The console as sentences, top to bottom, for screen readers: no frames, no columns, nothing that moves by itself. */
export function Linear() {
  const parts = useParts();
  const { deck, keymap } = parts;
  const snapshot = useFleet();
  const state = useInterface((whole) => whole);
  const component = useSelected();
  const nowMs = useNow();
  const { window } = useLogWindow(state.filters.logs);

  function componentLines(): string[] {
    if (!component) return [];
    const listed = rowsFor(snapshot.components, state.filters.components).flatMap((row) =>
      row.kind === 'component' ? [row.component] : [],
    );
    return [`Component ${listed.indexOf(component) + 1} of ${listed.length}: ${cleanLine(component.id)}, ${cleanLine(component.word)}.`];
  }

  function detailLines(): string[] {
    if (!component) return [];
    const service = serviceShown(state, component);
    return overviewLines({ theme: plain, width: columns, nowMs, component, service, stats: undefined })
      .map((line) => line.trim())
      .filter(Boolean);
  }

  function logLines(): string[] {
    if (!component) return [];
    const shown = Math.min(logLineCount, window.length);
    const texts = Array.from({ length: shown }, (_, index) => cleanLine(window.at(window.length - shown + index)?.text ?? ''));
    return [`Log of ${cleanLine(component.id)}, last lines.`, ...texts];
  }

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
    const told: Record<PaneId, () => readonly string[]> = {
      components: componentLines,
      detail: () => [...componentLines(), ...detailLines()],
      ports: () => portLines(snapshot.ports),
      logs: logLines,
    };
    lines.push(...told[state.focus]());
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
