import { setImmediate as nextTurn } from 'node:timers/promises';
import type { QuarterdeckApp } from '../app/app.ts';
import type { VerbContext } from './command.ts';
import { TextSink } from './shown-text.ts';
import { createTerminalOperator } from './terminal-operator.ts';

/** Returns the app for the console: on the practice stack, or the one that keeps searching for an engine. The choice is not saved. */
export async function offerPractice(context: VerbContext, app: QuarterdeckApp, stderr: NodeJS.WriteStream): Promise<QuarterdeckApp> {
  const { output, stdin, stdout, signal } = context;
  output.note('No container engine was found on this machine.');
  const operator = createTerminalOperator({ stdin, stdout, stderr, output, sink: new TextSink(output), yes: false });
  const check = (text: string) => (/^(y|yes|n|no)?$/i.test(text.trim()) ? undefined : 'Enter y or n.');
  const answer = await operator.ask({ kind: 'text', id: 'practice', label: 'Open the practice stack? [Y/n]', check }, signal);
  // Node stops reading one turn after the prompt is closed: a console that starts reading earlier would receive no keys.
  await nextTurn();
  if (/^n/i.test(String(answer).trim())) return app;
  output.note('Open it again at any time: quarterdeck practice');
  return context.practiceApp();
}
