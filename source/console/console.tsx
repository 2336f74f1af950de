import { Box, Text, useApp, useInput, useIsScreenReaderEnabled, usePaste, useWindowSize } from 'ink';
import { memo, useEffect, useMemo } from 'react';
import { wrap } from '../text/width.ts';
import { useParts } from './context.ts';
import { frontRun } from './flow-runs.ts';
import { useFleet } from './hooks/use-fleet.ts';
import { useInterface } from './hooks/use-interface.ts';
import { useMotion, useNow } from './hooks/use-now.ts';
import { useSelected } from './hooks/use-selected.ts';
import { type PaneId, paneIds, paneTitles, type RunView } from './interface-store.ts';
import { createKeyDispatcher, type KeyDispatcher } from './key-dispatcher.ts';
import type { Keymap } from './keymap.ts';
import { fits, type Layout, layoutFor, leastFormSize, type Rectangle } from './layout.ts';
import { logWhose } from './log-look.ts';
import { ComponentsPane } from './panes/components.tsx';
import { DetailPane } from './panes/detail.tsx';
import { LogsPane } from './panes/logs.tsx';
import { PortsPane } from './panes/ports.tsx';
import { progressText, shownCode } from './run-lines.ts';
import { CatalogScreen } from './screens/catalog.tsx';
import { Chain } from './screens/chain.tsx';
import { ChecklistPage } from './screens/checklist.tsx';
import { Code } from './screens/code.tsx';
import { Form } from './screens/form.tsx';
import { Help } from './screens/help.tsx';
import { Hosts } from './screens/hosts.tsx';
import { Linear } from './screens/linear.tsx';
import { Palette } from './screens/palette.tsx';
import { Prevention } from './screens/prevention.tsx';
import { Review } from './screens/review.tsx';
import { RunOverlay } from './screens/run-overlay.tsx';
import { TooSmall } from './screens/too-small.tsx';
import { Triage } from './screens/triage.tsx';
import { cutStyled, padStyled, styledWidth } from './styled-text.ts';
import type { TerminalLender } from './terminal-lender.ts';
import type { Theme } from './theme.ts';
import { footerLine } from './widgets/footer-line.ts';
import { bannerLines, headerLine } from './widgets/header-line.ts';
import { remarkLines } from './widgets/remark-lines.ts';
import { Rows } from './widgets/rows.tsx';

const panes: Readonly<Record<PaneId, (props: { rectangle: Rectangle; focused: boolean }) => React.ReactNode>> = {
  components: ComponentsPane,
  detail: DetailPane,
  ports: PortsPane,
  logs: LogsPane,
};

/** One row of text of its own. */
function Line({ theme, text }: { theme: Theme; text: string }) {
  return <Text wrap="truncate">{theme.finish(text)}</Text>;
}

function paneTabs(theme: Theme, keymap: Keymap, focus: PaneId, columns: number, zoomed: boolean): string {
  const tabs = paneIds.map((pane, index) => {
    if (pane !== focus) return ` ${theme.paint('key', String(index + 1))} ${theme.paint('faint', paneTitles[pane])} `;
    return theme.depth === 'none' ? `[${index + 1} ${paneTitles[pane]}]` : theme.paint('badge', ` ${index + 1} ${paneTitles[pane]} `);
  });
  const line = ` ${tabs.join(' ')}`;
  const hint = zoomed ? theme.paint('faint', `   ${keymap.keyOf('zoom')} shows all panes`) : '';
  return padStyled(styledWidth(line + hint) <= columns ? line + hint : line, columns);
}

/** Each pane is told of what it shows itself: a key in one of them is no work for the others. */
const Panes = memo(function Panes({ layout, focus }: { layout: Layout; focus: PaneId }) {
  const top = Math.min(...Object.values(layout.panes).map(({ y }) => y));
  return (
    <Box width={layout.size.columns} flexGrow={1}>
      {paneIds.map((id) => {
        const rectangle = layout.panes[id];
        const Pane = panes[id];
        return (
          rectangle && (
            <Box key={id} position="absolute" left={rectangle.x} top={rectangle.y - top}>
              <Pane rectangle={rectangle} focused={id === focus} />
            </Box>
          )
        );
      })}
    </Box>
  );
});

/** What flows are doing right now, or what was last said, all of it; over the lowest rows of the panes. */
function NoticeLine({ columns, rows, runs }: { columns: number; rows: number; runs: readonly RunView[] }) {
  const { theme, keymap } = useParts();
  const notice = useInterface((state) => state.notice);
  const watched = frontRun(runs);
  const going = runs.filter((run) => run.state === 'running' && !run.dialog && run !== watched);
  const step = useMotion(120, going.length > 0);
  const nowMs = useNow();
  const { glyphs } = theme;
  const run = going.at(-1);
  let lines: string[] = [];
  if (run) {
    const spinner = glyphs.spinner[step % glyphs.spinner.length];
    const more = going.length > 1 ? ` (and ${going.length - 1} more)` : '';
    // How to stop it is never cut.
    const hidden = run.watch === 'hidden';
    const tail = `${theme.paint('key', keymap.keyOf(hidden ? 'show-run' : 'back'))} ${theme.paint('faint', hidden ? 'shows it' : 'cancels')}`;
    const head = `${theme.paint('busy', `${spinner} ${run.title}${more}`)}  ${progressText(run, theme)}`;
    lines = [`${cutStyled(head, columns - styledWidth(tail) - 4, glyphs.ellipsis)}  ${tail}`];
  } else if (notice && notice.untilMs > nowMs) {
    lines = wrap(`${glyphs.tone[notice.tone]} ${notice.text}`, columns - 2).map((line) => theme.paint(notice.tone, theme.link(line)));
  }
  // Over more rows than these it would hide what it is about.
  const shown = lines.slice(0, rows >> 1);
  return (
    <Box position="absolute" top={rows - 1 - shown.length} left={0} flexDirection="column">
      <Rows rows={shown.map((line) => padStyled(` ${line}`, columns, glyphs.ellipsis))} />
    </Box>
  );
}

function Screen() {
  const { theme, deck, keymap, store, commands, practice } = useParts();
  const size = useWindowSize();
  const snapshot = useFleet();
  const state = useInterface((whole) => whole);
  const component = useSelected();
  const nowMs = useNow();

  const banner = [
    ...bannerLines(snapshot, theme, size.columns, nowMs),
    ...remarkLines({
      theme,
      columns: size.columns,
      keymap,
      components: snapshot.components,
      unfinished: state.unfinished,
      asking: state.asking,
    }),
  ];
  const { focus, zoomed } = state;
  const bannerRows = banner.length;
  const layout = useMemo(
    () => layoutFor({ columns: size.columns, rows: size.rows }, { focus, zoomed, bannerRows }),
    [size.columns, size.rows, focus, zoomed, bannerRows],
  );
  const front = frontRun(state.runs);
  const asked =
    front?.dialog?.kind === 'form' || front?.dialog?.kind === 'review' || front?.dialog?.kind === 'checklist' ? front : undefined;
  // A form has one column, and fits where panes do not.
  const small = layout.kind === 'small' && !(asked && fits(size, leastFormSize));
  commands.measured.small = small;
  commands.measured.drawn = true;
  commands.measured.detailShown = layout.panes.detail !== undefined;

  const showsLogs = layout.panes.logs !== undefined || (layout.panes.detail !== undefined && state.tab === 'logs');
  const whose = logWhose(snapshot, state, component);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is looked at changes with whose log it is, and with the filter kept for it
  useEffect(() => commands.logMoves.sync(showsLogs), [commands, showsLogs, whose?.key]);
  // What is selected is remembered as soon as there is something to select: updates then cannot move the selection.
  useEffect(() => {
    if (component && store.get().selected === undefined) commands.select(component.key);
  }, [component, commands, store]);

  if (small) return <TooSmall size={size} />;
  if (front?.codeAlone && shownCode(front)) return <Code size={size} run={front} />;
  const { columns, rows } = size;
  const top = 1 + banner.length;
  const body = { x: 0, y: top, width: columns, height: rows - top - 1 };
  return (
    <Box flexDirection="column" width={columns} height={rows}>
      <Line
        theme={theme}
        text={headerLine({
          theme,
          columns,
          snapshot,
          nowMs,
          readOnly: deck.options.readOnly,
          rehearsing: deck.options.rehearsing,
          practice,
          problems: deck.catalog.problems,
        })}
      />
      <Rows rows={banner} />
      {asked?.dialog?.kind === 'form' ? (
        <Form key={asked.id} rectangle={body} dialog={asked.dialog} />
      ) : asked?.dialog?.kind === 'review' ? (
        <Review key={asked.id} rectangle={body} dialog={asked.dialog} />
      ) : asked?.dialog?.kind === 'checklist' ? (
        <ChecklistPage key={asked.id} rectangle={body} dialog={asked.dialog} />
      ) : state.screen === 'help' ? (
        <Help rectangle={body} />
      ) : state.screen === 'hosts' ? (
        <Hosts rectangle={body} />
      ) : state.screen === 'prevention' ? (
        <Prevention rectangle={body} />
      ) : state.screen === 'triage' ? (
        <Triage rectangle={body} />
      ) : state.screen === 'catalog' ? (
        <CatalogScreen rectangle={body} />
      ) : state.screen === 'chain' ? (
        <Chain rectangle={body} />
      ) : (
        <>
          {layout.kind === 'tabs' && <Line theme={theme} text={paneTabs(theme, keymap, state.focus, columns, layout.zoomed)} />}
          <Panes layout={layout} focus={focus} />
        </>
      )}
      <Line theme={theme} text={footerLine({ theme, columns, state, keymap, deck })} />
      {state.screen === 'palette' && !front && <Palette size={size} />}
      <RunOverlay size={size} />
      {!asked && <NoticeLine columns={columns} rows={rows} runs={state.runs} />}
    </Box>
  );
}

interface ConsoleProps {
  lender: TerminalLender;
  /** For tests: how many keys were handled. */
  onDispatcher?: (dispatcher: KeyDispatcher) => void;
}

/** The whole console. All keys enter here. */
export function Console({ lender, onDispatcher }: ConsoleProps) {
  const { commands, brokenOff } = useParts();
  const { suspendTerminal } = useApp();
  const linear = useIsScreenReaderEnabled();
  const dispatcher = useMemo(() => createKeyDispatcher(commands), [commands]);
  useEffect(() => brokenOff.begin(), [brokenOff]);
  useInput(dispatcher.input);
  usePaste(dispatcher.paste);
  useEffect(() => {
    lender.attach((callback) => suspendTerminal(callback));
    onDispatcher?.(dispatcher);
    return () => lender.attach(undefined);
  }, [lender, suspendTerminal, dispatcher, onDispatcher]);
  return linear ? <Linear /> : <Screen />;
}
