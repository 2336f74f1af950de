import { Box, type Instance, render, useApp, useInput, useIsScreenReaderEnabled, usePaste, useWindowSize } from 'ink';
import { memo, useEffect, useLayoutEffect, useMemo } from 'react';
import { wrap } from '../text/width.ts';
import { ConsoleContext, type ConsoleParts, useParts } from './context.ts';
import { frameOutput } from './frame-output.ts';
import { frontRun, isRunning } from './front-run.ts';
import { useFleet, useInterface, useMotion, useNow } from './hooks/use-stores.ts';
import type { RunView } from './interface-store.ts';
import { dispatchInput } from './key-dispatcher.ts';
import { fits, type Layout, layoutFor, leastSize, type Size } from './layout.ts';
import { type PaneId, paneIds } from './panes.ts';
import { logSubject } from './screens/logs/state.ts';
import { progressText } from './screens/run/lines.ts';
import { selectedComponent } from './selection.ts';
import { SpokenConsole } from './spoken-console.tsx';
import { cutStyled, padStyled, styledWidth } from './styled-text.ts';
import type { TerminalLoans } from './terminal-loan.ts';
import { footerLine } from './widgets/footer-line.ts';
import { headerLine, tabsRow } from './widgets/header-line.ts';
import { bannerRows } from './widgets/notice-lines.ts';
import { Rows, ScreenView } from './widgets/pane-frame.tsx';

/** Each pane subscribes to the state that it shows, so that a key in one pane does not redraw the others. */
const Panes = memo(function Panes({ layout, focus }: { layout: Layout; focus: PaneId }) {
  const { screens } = useParts();
  const top = Math.min(...Object.values(layout.panes).map(({ y }) => y));
  return (
    <Box width={layout.size.columns} flexGrow={1}>
      {paneIds.map((id) => {
        const rectangle = layout.panes[id];
        return (
          rectangle && (
            <Box key={id} position="absolute" left={rectangle.x} top={rectangle.y - top}>
              <ScreenView opened={screens.of(id)} width={rectangle.width} height={rectangle.height} focused={id === focus} />
            </Box>
          )
        );
      })}
    </Box>
  );
});

function DrawnConsole() {
  const parts = useParts();
  const { app, store, commands, screens } = parts;
  const size = useWindowSize();
  const { columns, rows } = size;
  const view = { snapshot: useFleet(), columns, nowMs: useNow() };
  const state = useInterface((whole) => whole);
  const { focus, zoomed } = state;
  const component = selectedComponent(app, state);
  const banner = bannerRows(parts, state, view);
  const above = banner.length;
  const layout = useMemo(() => layoutFor({ columns, rows }, { focus, zoomed, bannerRows: above }), [columns, rows, focus, zoomed, above]);
  const front = screens.seen(state);
  const body = screens.body(state);
  const small = layout.kind === 'small' && !(body.screen.least && fits(size, body.screen.least));

  const detail = layout.panes.detail !== undefined;
  useLayoutEffect(() => commands.seen({ small, detail }), [commands, small, detail]);
  const showsLogs = layout.panes.logs !== undefined || (detail && state.tab === 'logs');
  const subject = logSubject(view.snapshot, state, component);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the shown log changes with its components, and with the filter saved for them
  useEffect(() => commands.logActions.sync(showsLogs), [commands, showsLogs, subject?.key]);
  // The selection is saved as soon as there is a component to select, so that updates cannot move it.
  useEffect(() => {
    if (component && store.get().selected === undefined) commands.select(component.key);
  }, [component, commands, store]);

  if (small) return <TooSmall size={size} />;
  if (front.screen.kind === 'whole') return <ScreenView opened={front} width={columns} height={rows} />;
  // Each run has a window of its own.
  const key = `${body.screen.id} ${body.screen.ofRun ? frontRun(state.runs)?.id : ''}`;
  return (
    <Box flexDirection="column" width={columns} height={rows}>
      <Rows rows={[headerLine(parts, view), ...banner]} />
      {body.screen.kind === 'pane' ? (
        <>
          {layout.kind === 'tabs' && <Rows rows={[tabsRow(parts, focus, columns, layout.zoomed)]} />}
          <Panes layout={layout} focus={focus} />
        </>
      ) : (
        <ScreenView key={key} opened={body} width={columns} height={rows - banner.length - 2} />
      )}
      <Rows rows={[footerLine(parts, state, columns)]} />
      {front.screen.kind === 'overlay' && <ScreenView key={front.screen.id} opened={front} width={columns} height={rows} />}
      {!body.screen.ofRun && <NoticeLine columns={columns} rows={rows} runs={state.runs} />}
    </Box>
  );
}

export function Console({ terminalLoans }: { terminalLoans: TerminalLoans }) {
  const { commands, interrupted } = useParts();
  const { suspendTerminal } = useApp();
  const isSpoken = useIsScreenReaderEnabled();
  useEffect(() => interrupted.begin(), [interrupted]);
  useInput((input, key) => dispatchInput(input, key, commands));
  usePaste(commands.paste);
  useEffect(() => {
    terminalLoans.attach((callback) => suspendTerminal(callback));
    return () => terminalLoans.attach(undefined);
  }, [terminalLoans, suspendTerminal]);
  return isSpoken ? <SpokenConsole /> : <DrawnConsole />;
}

function TooSmall({ size }: { size: Size }) {
  const { keymap } = useParts();
  const needed = `but Quarterdeck needs ${leastSize.columns} x ${leastSize.rows}`;
  const advice = `Enlarge the terminal to continue. ${keymap.keyOf('quit')} quits.`;
  const lines = wrap(`This terminal has ${size.columns} x ${size.rows} characters, ${needed}. ${advice}`, Math.max(8, size.columns - 1));
  return <Rows rows={lines.slice(0, size.rows)} />;
}

function NoticeLine({ columns, rows, runs }: { columns: number; rows: number; runs: readonly RunView[] }) {
  const { theme, keymap } = useParts();
  const notice = useInterface((state) => state.notice);
  const watched = frontRun(runs);
  const running = runs.filter((run) => isRunning(run) && run !== watched);
  const step = useMotion(120, running.length > 0);
  const nowMs = useNow();
  const { glyphs } = theme;
  const run = running.at(-1);
  let lines: string[] = [];
  if (run) {
    const spinner = glyphs.spinner[step % glyphs.spinner.length];
    const more = running.length > 1 ? ` (and ${running.length - 1} more)` : '';
    // The key that cancels is never cut.
    const hidden = run.watch === 'hidden';
    const tail = `${theme.paint('key', keymap.keyOf(hidden ? 'show-run' : 'back'))} ${theme.paint('faint', hidden ? 'shows it' : 'cancels')}`;
    const head = `${theme.paint('busy', `${spinner} ${run.title}${more}`)}  ${progressText(run, theme)}`;
    lines = [`${cutStyled(head, columns - styledWidth(tail) - 4, glyphs.ellipsis)}  ${tail}`];
  } else if (notice && notice.untilMs > nowMs) {
    lines = wrap(`${glyphs.severity[notice.severity]} ${notice.text}`, columns - 2).map((line) =>
      theme.paint(notice.severity, theme.link(line)),
    );
  }
  // More rows would hide the content that the message is about.
  const shown = lines.slice(0, rows >> 1);
  return (
    <Box position="absolute" top={rows - 1 - shown.length} left={0} flexDirection="column">
      <Rows rows={shown.map((line) => padStyled(` ${line}`, columns, glyphs.ellipsis))} />
    </Box>
  );
}

interface Terminal {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  terminalLoans: TerminalLoans;
  spoken: boolean;
  shown: Size | undefined;
}

/** Hands the terminal to Ink. Loaded after the first frame: see `first-frame.ts`. */
export function mountConsole(parts: ConsoleParts, { stdin, stdout, terminalLoans, spoken, shown }: Terminal): Instance {
  return render(
    <ConsoleContext value={parts}>
      <Console terminalLoans={terminalLoans} />
    </ConsoleContext>,
    {
      stdin,
      stdout: frameOutput(stdout, parts.frames.written, shown),
      exitOnCtrlC: false,
      patchConsole: false,
      interactive: true,
      alternateScreen: !spoken,
      incrementalRendering: true,
      isScreenReaderEnabled: spoken,
      // `frames.ts` limits the frame rate; a second limit here would interfere.
      maxFps: 1000,
    },
  );
}
