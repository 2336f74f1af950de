import type { Dialog, InterfaceState, RunView } from './interface-store.ts';
import { leastFormSize } from './layout.ts';

/** Output stays on the screen until it is read, together with the outcome; an outcome without output is a notice. */
export const isToRead = ({ shown, todo }: RunView) => shown.length > 0 || todo !== undefined;

/** Without an open prompt. */
export const isRunning = ({ state, dialog }: RunView) => state === 'running' && !dialog;

export function frontRun(runs: readonly RunView[]): RunView | undefined {
  return (
    runs.find((run) => run.dialog) ??
    runs.find((run) => run.state === 'failed' || (run.state === 'done' && isToRead(run))) ??
    runs.find((run) => run.state === 'running' && run.watch === 'shown')
  );
}

export const dialogScreen = (kind: Dialog['kind']) => ({
  ...({ kind: 'body', ofRun: true, least: leastFormSize } as const),
  isOn: ({ runs }: InterfaceState) => frontRun(runs)?.dialog?.kind === kind,
});

export function dialogIn<K extends Dialog['kind']>({ runs }: InterfaceState, kind: K) {
  const run = frontRun(runs);
  if (run?.dialog?.kind !== kind) throw new Error(`no ${kind} is open`);
  return { run, dialog: run.dialog as Extract<Dialog, { kind: K }> };
}
