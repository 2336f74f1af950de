import { Fault } from '../faults/fault.ts';

/** What a look at one thing found. `evidence` is what was seen, a line each; `advice` what to do about it. */
export interface CheckResult {
  state: 'ok' | 'warning' | 'blocked' | 'skipped';
  /** One line. */
  summary: string;
  evidence?: readonly string[];
  advice?: string;
  /** It could not be looked at. */
  unseen?: true;
}

/**
 * Looks, and takes what cannot be looked at for a warning that says why: a right that is missing, a part of the API that is away. The others are looked at all
 * the same. A cluster that does not answer at all ends it.
 */
export async function looked(look: () => Promise<CheckResult>): Promise<CheckResult> {
  try {
    return await look();
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.kind === 'interrupted') throw thrown;
    const unseen =
      thrown.code === 'refused.right' ||
      thrown.code === 'unreachable.apiGroup' ||
      thrown.code === 'unreachable.cluster' ||
      thrown.kind === 'failed';
    if (!unseen) throw thrown;
    return { state: 'warning', summary: `Not looked at: ${thrown.message}`, advice: thrown.remedy, unseen: true };
  }
}

/** The worst of several. */
export function worst(states: readonly CheckResult['state'][]): CheckResult['state'] {
  return states.includes('blocked')
    ? 'blocked'
    : states.includes('warning')
      ? 'warning'
      : states.includes('ok')
        ? 'ok'
        : (states[0] ?? 'ok');
}
