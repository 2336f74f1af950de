import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Deck } from './deck.ts';
import { TextSink } from './shown-text.ts';
import { TerminalOperator } from './terminal-operator.ts';
import type { VerbContext } from './verb.ts';

/**
 * Where no engine is: offers to look around in the practice stack. Answers the deck that the console shall show: that of practice, or the one without an
 * engine, which goes on looking for one. Nothing is remembered. Throws `interrupted.cancelled` for who walks away.
 */
export async function offerPractice(context: VerbContext, deck: Deck, stderr: NodeJS.WriteStream): Promise<Deck> {
  const { output, stdin, stdout, signal } = context;
  output.note('No container engine was found on this machine.');
  const operator = new TerminalOperator({ stdin, stdout, stderr, output, sink: new TextSink(output), yes: false });
  const answer = await operator.ask(
    {
      kind: 'text',
      id: 'practice',
      label: 'Look around in the practice stack? [Y/n]',
      check: (text) => (/^(y|yes|n|no)?$/i.test(text.trim()) ? undefined : 'Answer y or n.'),
    },
    signal,
  );
  // Node stops reading a turn after the question is closed: a console that begins to read before that would hear no key any more.
  await nextTurn();
  if (/^n/i.test(String(answer).trim())) return deck;
  output.note('Back to it at any time: quarterdeck practice');
  return context.practiceDeck();
}
