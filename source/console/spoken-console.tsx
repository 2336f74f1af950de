import { Box, Text } from 'ink';
import { useEffect, useLayoutEffect } from 'react';
import { clockText, connectionText, troubleOf } from '../app/connection-text.ts';
import type { FleetSnapshot } from '../fleet/model.ts';
import { cleanLine } from '../text/clean.ts';
import { type ConsoleParts, useParts } from './context.ts';
import { frontRun } from './front-run.ts';
import { useInterface, useView } from './hooks/use-stores.ts';
import type { InterfaceState } from './interface-store.ts';
import type { Opened } from './open-screens.ts';
import { noPage } from './screen.ts';
import { logSubject } from './screens/logs/state.ts';
import { inLogs } from './selection.ts';
import { createTheme } from './theme.ts';
import { footerOf } from './widgets/footer-line.ts';
import { counts } from './widgets/header-line.ts';
import { effects, remarks } from './widgets/notice-lines.ts';

const plain = createTheme({ depth: 'none', background: 'dark', ascii: true });
const columns = 100;

function headLines({ app, keymap }: ConsoleParts, state: InterfaceState, snapshot: FleetSnapshot, nowMs: number): string[] {
  const troubles = snapshot.engines.flatMap((engineView) => troubleOf(engineView) ?? []);
  const engines = snapshot.engines.map((engineView) =>
    [
      cleanLine(engineView.name),
      engineView.engine.reachable ? `${engineView.engine.kind ?? 'engine'} ${cleanLine(engineView.engine.version)}` : '',
      // A screen reader would repeat countdowns each second.
      connectionText(engineView, nowMs, { retry: false }).text || engineView.link.state,
      clockText(engineView),
    ]
      .filter(Boolean)
      .join(', '),
  );
  const marks = [app.options.readOnly ? 'Read-only.' : '', app.options.practice ? 'Practice.' : ''].filter(Boolean).join(' ');
  return [
    `Quarterdeck. ${engines.join('; ')}. ${marks}`.trim(),
    `${counts(snapshot.components)
      .map(({ word, count }) => `${count} ${word}`)
      .join(', ')}.`,
    ...troubles.map(({ message, remedy }) => `Unreachable: ${cleanLine(message)} ${cleanLine(remedy)}`),
    ...remarks(snapshot.components, state).map(({ text, verb, key, effect = effects[verb] ?? 'resumes it' }) => {
      if (key) return `${text} Press ${keymap.keyOf(key)} to answer.`;
      return verb === '' ? text : `${text} ${keymap.keyOf('palette')} ${verb} ${effect}.`;
    }),
  ];
}

export function SpokenConsole() {
  const { screens } = useParts();
  const opened = useInterface(screens.seen);
  return <SpokenScreen key={opened.screen.id} opened={opened} />;
}

function SpokenScreen({ opened: { reads, ...opened } }: { opened: Opened }) {
  const parts = useParts();
  const { commands } = parts;
  const view = useView(opened, plain, { width: columns, height: 0, focused: true });
  const { state, snapshot, component, nowMs } = view;
  const spoken = opened.speak?.(view);
  useLayoutEffect(() => {
    commands.seen({ small: false, detail: state.focus === 'detail' });
    commands.seenPage(opened.screen.id, spoken?.page ?? noPage);
    spoken?.shown?.();
  });
  const hearsLogs = inLogs(state);
  const subject = logSubject(snapshot, state, component);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the shown log changes with its components, and with the filter saved for them
  useEffect(() => commands.logActions.sync(hearsLogs), [commands, hearsLogs, subject?.key]);

  const { runs, editing, notice } = state;
  const front = frontRun(runs);
  const { items, always } = footerOf(parts, state, false);
  const lines = [
    ...headLines(parts, state, snapshot, nowMs),
    ...(front ? [`${front.title}.`] : []),
    ...(spoken?.lines ?? []),
    ...(editing ? [`${editing.target === 'time' ? 'Go to' : 'Filter'}: ${editing.field.text}`] : []),
    ...(editing?.problem === undefined ? [] : [cleanLine(editing.problem)]),
    ...(notice ? [cleanLine(notice.text)] : []),
    `Keys: ${[...items, ...always].map(({ key, label }) => `${key} ${label}`).join(', ')}.`,
  ];
  return (
    <Box flexDirection="column">
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity
        <Text key={index}>{line}</Text>
      ))}
    </Box>
  );
}
