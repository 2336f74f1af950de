import type { Session } from '../session/session.ts';
import type { FlowOutcome } from './flow.ts';

/** Returns the outcome of a dry run that ends before the first action: what a run would do, and what stays as it is. */
export function dryRunOf(session: Session, would: string, unchanged: string): FlowOutcome {
  session.show({ kind: 'text', text: `Would ${would}` });
  return { message: `Dry run: ${unchanged}` };
}
