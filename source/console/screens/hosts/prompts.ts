import type { QuarterdeckApp } from '../../../app/app.ts';
import { type HostQuestion, keyAnswerProblem, readKeyAnswer } from '../../../app/host-questions.ts';
import type { Operator } from '../../../session/session.ts';
import type { FlowRuns } from '../../flow-runs.ts';
import { frontRun } from '../../front-run.ts';
import type { InterfaceState, InterfaceStore } from '../../interface-store.ts';
import { isOverlay } from '../../panes.ts';
import { hosts } from './screen.ts';

/** As a dialog when the operator waits for the connection, otherwise as a line until it is opened. */
export function createHostPrompts(app: QuarterdeckApp, store: InterfaceStore, runs: FlowRuns) {
  const { questions } = app;
  let untouched = true;
  /** The host whose prompt was just answered, with no key since: ssh may prompt again after a wrong password, or require a code next. */
  let following: string | undefined;
  let shown: HostQuestion | undefined;
  const closing = new AbortController();

  /** The console has just started, or the operator requested the connection and is not typing or reading. */
  function isWaitedFor(host: string, { editing, screen, runs: views }: InterfaceState): boolean {
    if (editing || isOverlay(screen) || frontRun(views)?.dialog) return false;
    return (
      untouched || following === host || hosts.id === screen || views.some(({ state, watch }) => state === 'running' && watch !== 'hidden')
    );
  }

  function look(): void {
    const { first } = questions;
    if (shown?.signal.aborted) shown = undefined;
    const asking = first && { host: first.host, kind: first.kind, lines: first.lines };
    store.update(() => ({ asking: shown ? undefined : asking }));
    if (!shown && first && isWaitedFor(first.host, store.get())) open();
  }

  function open(): boolean {
    const { first } = questions;
    if (!first || first.kind === 'touch' || shown) return false;
    shown = first;
    store.update(() => ({ asking: undefined }));
    void put(runs, first, AbortSignal.any([first.signal, closing.signal]))
      .then(
        (answer) => {
          following = answer === undefined ? undefined : first.host;
          first.answer(answer);
        },
        () => first.answer(undefined),
      )
      .finally(() => {
        if (shown === first) shown = undefined;
        // After one answer the operator expects the next prompt.
        if (!open()) look();
      });
    return true;
  }

  const stop = questions.subscribe(look);
  look();
  void app.followHosts();
  return {
    open,
    /** Records that a key was pressed: from now on a dialog would interrupt the operator. */
    touched() {
      untouched = false;
      following = undefined;
    },
    close() {
      stop();
      closing.abort(new DOMException('the console was closed', 'AbortError'));
    },
  };
}

/** Undefined declines. The typed answer is passed on and not stored. */
function put(runs: FlowRuns, { host, kind, lines }: HostQuestion, signal: AbortSignal): Promise<string | undefined> {
  const id = `host ${host}`;
  const words = lines.filter((line) => line.trim() !== '' && !/\(yes\/no/i.test(line));
  const ask = async (operator: Operator, limit: AbortSignal) => {
    if (kind === 'confirm')
      return (await operator.confirm({ id, title: 'Allow ssh to use this key?', consequences: words }, limit)) ? 'yes' : undefined;
    if (kind === 'hostKey') {
      const label = `Is this the host key of ${host}? Enter yes, no or the expected fingerprint`;
      return readKeyAnswer(`${await operator.ask({ kind: 'text', id, label, help: words.join(' '), check: keyAnswerProblem }, limit)}`);
    }
    const help = lines.slice(0, -1).join(' ');
    return `${await operator.ask({ kind: 'secret', id, label: lines.at(-1) ?? '', ...(help !== '' && { help }) }, limit)}`;
  };
  return runs.ask(`Connect to ${host}`, ask, signal);
}
