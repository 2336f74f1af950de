import type { Deck } from '../terminal/deck.ts';
import { type HostQuestion, keyAnswerProblem, readKeyAnswer } from '../terminal/host-questions.ts';
import type { FlowRuns } from './flow-runs.ts';
import type { InterfaceState, InterfaceStore } from './interface-store.ts';

/** What waits for the operator, without what was typed for it. */
export interface HostAsking {
  host: string;
  kind: HostQuestion['kind'];
  /** ssh's own words. */
  lines: readonly string[];
}

/** What ssh asks while hosts are connected: a dialog when the operator is about that anyway, otherwise a line until they look. */
export interface HostAsker {
  /** Opens the question that waits. False when none does. */
  open(): boolean;
  /** A key was pressed: from now on a dialog would come in between. */
  touched(): void;
  close(): void;
}

export function createHostAsker(deck: Deck, store: InterfaceStore, runs: FlowRuns): HostAsker {
  const { questions } = deck;
  if (!questions) return { open: () => false, touched: () => {}, close: () => {} };
  let untouched = true;
  /** Just answered, and nothing was pressed since: ssh may ask again, after a wrong password, or go on with a code. */
  let following: string | undefined;
  let shown: { question: HostQuestion; withdrawn: AbortController } | undefined;

  /** Nothing is being typed or read, and the operator waits for a connection: the console has just started, or they made it connect. */
  function isWaitedFor(host: string, { editing, screen, runs: views }: InterfaceState): boolean {
    if (editing || screen === 'palette' || screen === 'help' || runs.front()?.dialog) return false;
    return (
      untouched || following === host || screen === 'hosts' || views.some(({ state, watch }) => state === 'running' && watch !== 'hidden')
    );
  }

  function look(): void {
    if (!questions) return;
    const { first } = questions;
    if (shown && !questions.waiting.includes(shown.question)) {
      shown.withdrawn.abort(new DOMException('no longer asked', 'AbortError'));
      shown = undefined;
    }
    const asking = first && { host: first.host, kind: first.kind, lines: first.lines };
    store.update(() => ({ asking: first && first !== shown?.question ? asking : undefined }));
    if (!shown && first && isWaitedFor(first.host, store.get())) open();
  }

  function open(): boolean {
    const first = questions?.first;
    if (!first || first.kind === 'touch' || shown) return false;
    const withdrawn = new AbortController();
    shown = { question: first, withdrawn };
    store.update(() => ({ asking: undefined }));
    void put(runs, first, withdrawn.signal)
      .then(
        (answer) => {
          following = answer === undefined ? undefined : first.host;
          first.answer(answer);
        },
        () => first.answer(undefined),
      )
      .finally(() => {
        if (shown?.question === first) shown = undefined;
        // Who answers one is about to answer the next.
        if (!open()) look();
      });
    return true;
  }

  const stop = questions.subscribe(look);
  look();
  void deck.followHosts?.();
  return {
    open,
    touched() {
      untouched = false;
      following = undefined;
    },
    close() {
      stop();
      shown?.withdrawn.abort(new DOMException('the console was left', 'AbortError'));
    },
  };
}

/** Undefined declines. What was typed is handed over and kept nowhere. */
function put(runs: FlowRuns, { host, kind, lines }: HostQuestion, signal: AbortSignal): Promise<string | undefined> {
  const title = `Connect to ${host}`;
  const id = `host ${host}`;
  if (kind === 'secret') {
    const help = lines.slice(0, -1).join(' ');
    return runs.ask(
      title,
      async (operator, limit) => {
        const answer = await operator.ask({ kind: 'secret', id, label: lines.at(-1) ?? '', ...(help !== '' && { help }) }, limit);
        return typeof answer === 'string' ? answer : undefined;
      },
      signal,
    );
  }
  const words = lines.filter((line) => line.trim() !== '' && !/\(yes\/no/i.test(line));
  return runs.ask(
    title,
    async (operator, limit) => {
      if (kind === 'hostKey') {
        const label = `Is this the key of ${host}? yes, no, or the fingerprint it should have`;
        const answer = await operator.ask({ kind: 'text', id, label, help: words.join(' '), check: keyAnswerProblem }, limit);
        return typeof answer === 'string' ? readKeyAnswer(answer) : undefined;
      }
      return (await operator.confirm({ id, title: 'May this key be used?', consequences: words }, limit)) ? 'yes' : undefined;
    },
    signal,
  );
}
