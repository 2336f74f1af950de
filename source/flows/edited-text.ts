import { Fault } from '../faults/fault.ts';
import { editText } from '../hosts/local-editor.ts';
import type { Session } from '../session/session.ts';

/** Has the operator edit a text. `what` could be piped in instead, for the fault. Throws `refused.noTerminal`. */
export async function editedText(session: Session, name: string, text: string, what = 'text'): Promise<string> {
  if (session.attended) return session.lend(() => editText(text, { name, env: process.env, signal: session.signal }));
  const remedy = `Run the command in a terminal, or pipe in the new ${what} with --stdin.`;
  throw new Fault('refused.noTerminal', 'An editor requires a terminal.', remedy);
}
