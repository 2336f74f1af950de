import { Box, Text } from 'ink';
import { useEffect, useMemo } from 'react';
import { entryAt } from '../../fleet/entry-list.ts';
import type { PortView } from '../../fleet/model.ts';
import { scannerStates } from '../../fleet/scanner-state.ts';
import { entryLines } from '../../terminal/entry-text.ts';
import { clockText as skewText, troubleOf, wayText } from '../../terminal/way-text.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import { catalogRows, chosenEntry } from '../catalog-rows.ts';
import { chainSentences } from '../chain-lines.ts';
import { checklistSentences } from '../checklist-lines.ts';
import { matchingPorts, rowsFor } from '../component-rows.ts';
import { useParts } from '../context.ts';
import { frontRun } from '../flow-runs.ts';
import { formSentences } from '../form-lines.ts';
import { useFleet } from '../hooks/use-fleet.ts';
import { useInterface } from '../hooks/use-interface.ts';
import { useLogChanges, writersOf } from '../hooks/use-log-lines.ts';
import { useNow } from '../hooks/use-now.ts';
import { useSelected } from '../hooks/use-selected.ts';
import { useTold } from '../hooks/use-told.ts';
import { farOf, homeOf, hostItems, placeFacts } from '../hosts-lines.ts';
import type { PaneId, RunView } from '../interface-store.ts';
import { keyTable } from '../keymap.ts';
import { markOf, tellingOf, whoParts } from '../log-line-text.ts';
import { logWhose } from '../log-look.ts';
import { lineText, untimedText } from '../log-text.ts';
import { positionOf } from '../log-view.ts';
import { paletteItems } from '../palette-items.ts';
import { clockText } from '../panes/log-lead.ts';
import { logLines as drawLog } from '../panes/log-lines.ts';
import { overviewLines } from '../panes/overview-lines.ts';
import { portSentence } from '../panes/ports.tsx';
import { wholeLines } from '../panes/whole-line.ts';
import { countsText, emptyLines, orderText, rowSentence, troubleLines } from '../prevention-lines.ts';
import { preventionRows, rowId } from '../prevention-rows.ts';
import { reviewSentences } from '../review-lines.ts';
import { runScreen } from '../run-lines.ts';
import { keyTarget, selectedPort, serviceShown } from '../selection.ts';
import { createTheme } from '../theme.ts';
import { triageCounts, triageEmpty, triageRows, triageSentence } from '../triage-rows.ts';
import { footerItems } from '../widgets/footer-line.ts';
import { counts } from '../widgets/header-line.ts';
import { remarks } from '../widgets/remark-lines.ts';

const plain = createTheme({ depth: 'none', background: 'dark', ascii: true });
const columns = 100;
const logLineCount = 10;
const portCount = 30;
const helpCount = 10;

/** The port under the cursor first: keys act on its owner. */
function portLines(ports: readonly PortView[], selected: PortView | undefined): string[] {
  if (!selected) return ['No port is listed.'];
  const from = Math.max(0, ports.indexOf(selected) - portCount + 1);
  return [
    `Port ${ports.indexOf(selected) + 1} of ${ports.length}, selected: ${portSentence(selected)}`,
    ...ports.slice(from, from + portCount).flatMap((port) => (port === selected ? [] : [portSentence(port)])),
  ];
}

/** The console as sentences, top to bottom, for screen readers: no frames, no columns, nothing that moves by itself. */
export function Linear() {
  const parts = useParts();
  const { deck, keymap, prevention, triage, chain } = parts;
  const snapshot = useFleet();
  const state = useInterface((whole) => whole);
  const component = useSelected();
  const nowMs = useNow();
  const inLogs = state.focus === 'logs' || (state.focus === 'detail' && state.tab === 'logs');
  useLogChanges(inLogs);
  const place = state.screen === 'prevention' ? state.prevention.place : undefined;
  const subscribe = useMemo(() => (listener: () => void) => prevention.subscribe(listener), [prevention]);
  useTold(subscribe, 'fact');
  useEffect(() => (place === undefined ? undefined : prevention.look(place)), [prevention, place]);
  const subscribeTriage = useMemo(() => (listener: () => void) => triage.subscribe(listener), [triage]);
  useTold(subscribeTriage, 'fact');
  const triaging = state.screen === 'triage';
  useEffect(() => (triaging ? triage.look() : undefined), [triage, triaging]);
  const subscribeChain = useMemo(() => (listener: () => void) => chain.subscribe(listener), [chain]);
  useTold(subscribeChain, 'fact');
  const chaining = state.screen === 'chain';
  useEffect(() => (chaining ? chain.look() : undefined), [chain, chaining]);
  const whose = logWhose(snapshot, state, component);
  const { commands } = parts;
  commands.measured.detailShown = state.focus === 'detail';
  commands.measured.drawn = false;
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is looked at changes with whose log it is, and with the filter kept for it
  useEffect(() => commands.logMoves.sync(inLogs), [commands, inLogs, whose?.key]);

  function componentLines(): string[] {
    if (!component) return [];
    const listed = rowsFor(snapshot.components, state.filters.components, state.grouping).flatMap((row) =>
      row.kind === 'component' ? [row.component] : [],
    );
    return [`Component ${listed.indexOf(component) + 1} of ${listed.length}: ${cleanLine(component.id)}, ${cleanLine(component.word)}.`];
  }

  function detailLines(): string[] {
    if (!component) return [];
    const service = serviceShown(state, component);
    return overviewLines({
      theme: plain,
      width: columns,
      nowMs,
      component,
      service,
      stats: undefined,
      far: farOf(deck, component),
      home: homeOf(deck),
    })
      .map((line) => line.trim())
      .filter(Boolean);
  }

  function logLines(): string[] {
    const { logs } = state;
    const { logs: hub } = parts;
    const entries = hub.entries();
    const at = logs.at ? Math.max(0, positionOf(entries, logs.at.cursor)) : entries.length - 1;
    const options = {
      theme: plain,
      keymap,
      width: columns,
      height: logLineCount,
      focused: true,
      hub,
      logs: { ...logs, wrap: true },
      filter: state.filters.logs,
      componentKeys: whose?.componentKeys ?? [],
      services: writersOf(snapshot.components, whose?.componentKeys ?? []),
      nowMs,
    };
    const telling = tellingOf(options.componentKeys);
    const shown = drawLog(options);
    parts.commands.measured.logs = shown.measured;
    const filter =
      state.filters.logs === '' ? [] : [`Filter ${state.filters.logs}, ${logs.hides ? 'hides other lines' : 'only highlights'}.`];
    const head = [`Log of ${whose?.title ?? 'nothing'}.`, ...filter, [shown.status, shown.notes].filter(Boolean).join(', ')];
    const entry = entryAt(entries, at);
    if (!entry) return [...head, ...shown.lines.map((line) => line.trim())];
    if (logs.whole !== undefined)
      return [
        ...head,
        'The whole line.',
        ...wholeLines(entry, options)
          .map((line) => line.trim())
          .filter(Boolean),
      ];
    const texts = entries.slice(Math.max(0, at - logLineCount + 1), at + 1).map((each, index, all) => {
      const line = logs.raw || logs.times === 'off' ? lineText(each, logs.raw) : untimedText(each, hub.filter());
      const said = [
        logs.at && index === all.length - 1 ? 'selected' : '',
        logs.marks.has(markOf(each)) ? 'marked' : '',
        each.stream === 'stderr' ? 'stderr' : '',
        line.level === undefined || line.level === 'info' ? '' : line.level,
        telling !== 'service'
          ? whoParts({ component: each.component, service: '' }, telling).join('/')
          : options.services.length > 1
            ? each.service
            : '',
        each.timeMs === undefined || logs.times === 'off' ? '' : clockText(each.timeMs),
      ].filter(Boolean);
      return said.length === 0 ? cleanLine(line.text) : `${said.join(', ')}: ${cleanLine(line.text)}`;
    });
    return [...head, ...texts];
  }

  function hostsSentences(): string[] {
    const items = hostItems(snapshot, deck.tunnels?.all ?? []);
    commands.measured.hosts = { height: items.length, total: items.length };
    const at = Math.min(state.hostsCursor, items.length - 1);
    const item = items[at];
    const head = `Hosts and tunnels. ${at + 1} of ${items.length}.`;
    if (item?.kind === 'tunnel') {
      const { url, wanted, trouble } = item.tunnel;
      return [
        head,
        `Tunnel ${url} to ${cleanLine(wanted.name)} on ${cleanLine(wanted.place)}.`,
        ...(trouble ? [cleanLine(trouble.message)] : []),
      ];
    }
    if (!item) return [head];
    const facts = placeFacts(item.place, { nowMs, destinations: deck.settings.hosts }).filter(([name]) => name !== 'next try');
    return [head, `${cleanLine(item.place.name)}.`, ...facts.map(([name, text]) => `${name}: ${text}`)];
  }

  function paletteSentences(): string[] {
    const { field, cursor } = state.palette;
    const { component: about, host } = keyTarget(deck, state);
    const items = paletteItems({ deck, keymap, component: about, host, query: field.text });
    const at = Math.min(cursor, items.length - 1);
    const item = items[at];
    const head = `Find: ${field.text}`;
    if (!item) return [head, 'Nothing is called like that.'];
    return [head, `${at + 1} of ${items.length}: ${[item.title, item.detail].filter(Boolean).map(cleanLine).join(', ')}.`];
  }

  function helpSentences(): string[] {
    const rows = keyTable(keymap).map(({ keys, context, title }) => `${context}: ${keys}, ${title}.`);
    commands.measured.help = { height: helpCount, total: rows.length };
    const from = Math.max(0, Math.min(state.helpScroll, rows.length - helpCount));
    return [`Help, ${from + 1} to ${Math.min(rows.length, from + helpCount)} of ${rows.length}.`, ...rows.slice(from, from + helpCount)];
  }

  function preventionSentences(): string[] {
    const view = prevention.view();
    const look = state.prevention;
    const context = { theme: plain, width: columns, nowMs };
    const rows = preventionRows(view, state.filters.prevention, look);
    commands.measured.prevention = { height: logLineCount, total: rows.length };
    const found = rows.findIndex((row) => rowId(row) === look.selected);
    const at = Math.max(0, found >= 0 ? found : Math.min(look.cursor, rows.length - 1));
    const head = `${look.tab === 'alerts' ? 'Alerts' : 'Decisions'} ${countsText(view, look)}, ${orderText(look)}.`;
    const row = rows[at];
    if (!row) return [head, ...emptyLines(view, state.filters.prevention, look, context).map((line) => line.trim())];
    const trouble = view?.state === 'failed' ? troubleLines(view, context).map((line) => line.trim()) : [];
    return [head, ...trouble, `${at + 1} of ${rows.length}: ${rowSentence(row, nowMs)}`];
  }

  function triageSentences(): string[] {
    const view = triage.view();
    const { shows, selected, cursor } = state.triage;
    const rows = triageRows(view, state.filters.triage, shows);
    commands.measured.triage = { height: logLineCount, total: rows.length };
    const found = rows.findIndex((row) => row.id === selected);
    const at = Math.max(0, found >= 0 ? found : Math.min(cursor, rows.length - 1));
    const told = [...scannerStates(snapshot.components).map(({ text }) => cleanLine(text)), ...view.remarks];
    const head = [`Vulnerabilities ${triageCounts(view)}${shows === 'all' ? '' : `, ${shows} alone`}.`, ...told].join(' ');
    const row = rows[at];
    if (!row) {
      const context = { theme: plain, width: columns };
      return [head, ...triageEmpty(view, state.filters.triage, shows, keymap.keyOf('import-report'), context).map((line) => line.trim())];
    }
    return [head, `${at + 1} of ${rows.length}: ${triageSentence(row, nowMs)}`];
  }

  function catalogSentences(): string[] {
    const rows = catalogRows(deck.catalog.entries, state.filters.catalog);
    const entry = chosenEntry(rows, state.catalog.selected);
    commands.measured.catalog = { height: logLineCount, total: rows.length };
    const head = `Catalog, ${countText(rows.length, 'component')}.`;
    if (!entry) return [head];
    const { reading } = state.catalog;
    if (reading === undefined)
      return [head, `${rows.indexOf(entry) + 1} of ${rows.length}: ${cleanLine(`${entry.kind}, ${entry.product.name}, ${entry.id}`)}.`];
    const lines = entryLines(entry, deck.catalog.entries, { proseColumns: columns, paint: (_, text) => text }).filter(Boolean);
    commands.measured.catalog = { height: logLineCount, total: lines.length };
    return lines.slice(reading, reading + logLineCount).map((line) => line.trim());
  }

  function frontLines(run: RunView): string[] {
    if (run.dialog?.kind === 'form') return formSentences(run.dialog, plain);
    if (run.dialog?.kind === 'checklist') {
      commands.measured.checklist = { height: 10, evidence: { height: 100, total: 0 }, question: run.dialog.question };
      return checklistSentences(run.dialog, plain, columns);
    }
    if (run.dialog?.kind === 'review') {
      const told = reviewSentences(run.dialog, plain, columns);
      commands.measured.review = told.measured;
      return told.lines;
    }
    // What was said stays in the terminal's memory: secrets are copied there, and not told.
    return runScreen(run, plain, keymap, { room: columns, height: 60, nowMs, drawn: false }).lines.filter(Boolean);
  }

  const lines: string[] = [];
  const places = snapshot.places.map((place) =>
    [
      cleanLine(place.name),
      place.engine.reachable ? `${place.engine.kind ?? 'engine'} ${cleanLine(place.engine.version)}` : '',
      // Countdowns would be read out again each second.
      wayText(place, nowMs, { retry: false }).text || place.link.state,
      skewText(place),
    ]
      .filter(Boolean)
      .join(', '),
  );
  const marks = [deck.options.readOnly ? 'Read-only.' : '', parts.practice ? 'Practice.' : ''].filter(Boolean).join(' ');
  lines.push(`Quarterdeck. ${places.join('; ')}. ${marks}`.trim());
  lines.push(
    `${counts(snapshot.components)
      .map(({ word, count }) => `${count} ${word}`)
      .join(', ')}.`,
  );
  for (const place of snapshot.places) {
    const trouble = troubleOf(place);
    if (trouble) lines.push(`Away: ${cleanLine(trouble.message)} ${cleanLine(trouble.remedy)}`);
  }
  for (const { text, verb, key } of remarks({ components: snapshot.components, unfinished: state.unfinished, asking: state.asking }))
    lines.push(
      key
        ? `${text} ${keymap.keyOf(key)} answers.`
        : verb === ''
          ? text
          : `${text} ${keymap.keyOf('palette')} ${verb} ${verb === 'up' ? 'brings it up' : 'goes on with it'}.`,
    );
  const front = frontRun(state.runs);
  if (front) {
    lines.push(`${front.title}.`, ...frontLines(front));
  } else if (state.screen === 'palette') {
    lines.push(...paletteSentences());
  } else if (state.screen === 'help') {
    lines.push(...helpSentences());
  } else if (state.screen === 'hosts') {
    lines.push(...hostsSentences());
  } else if (state.screen === 'triage') {
    lines.push(...triageSentences());
  } else if (state.screen === 'catalog') {
    lines.push(...catalogSentences());
  } else if (state.screen === 'chain') {
    lines.push(...chainSentences(chain.view()));
  } else if (state.screen === 'prevention') {
    lines.push(...preventionSentences());
  } else {
    const told: Record<PaneId, () => readonly string[]> = {
      components: componentLines,
      detail: () => [...componentLines(), ...(inLogs ? logLines() : detailLines())],
      ports: () => portLines(matchingPorts(snapshot.ports, state.filters.ports), selectedPort(snapshot, state)),
      logs: logLines,
    };
    lines.push(...told[state.focus]());
  }
  if (state.editing) lines.push(`${state.editing.target === 'time' ? 'Go to' : 'Filter'}: ${state.editing.field.text}`);
  if (state.editing?.problem !== undefined) lines.push(cleanLine(state.editing.problem));
  if (state.notice) lines.push(cleanLine(state.notice.text));
  const { near, always } = footerItems({ state, keymap, deck, drawn: false });
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
