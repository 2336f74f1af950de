import { Fault } from '../../../faults/fault.ts';

/** The result of one check. `evidence` is what was found, one line each; `advice` is what to do about it. */
export interface CheckResult {
  state: 'ok' | 'warning' | 'blocked' | 'skipped';
  summary: string;
  evidence?: readonly string[];
  advice?: string;
  unseen?: true;
}

type Found = (summary: string, advice?: string, evidence?: readonly string[]) => CheckResult;
const found =
  (state: CheckResult['state']): Found =>
  (summary, advice, evidence) => ({ state, summary, ...(evidence && { evidence }), ...(advice !== undefined && { advice }) });
export const blocked = found('blocked');
export const warning = found('warning');
export const skipped = (summary: string) => found('skipped')(summary);
export const ok = (summary: string, evidence?: readonly string[]) => found('ok')(summary, undefined, evidence);

/** A check that cannot be run becomes a warning with the reason, so that others still run. A snapshot that cannot be verified blocks. */
export async function looked(look: () => Promise<CheckResult> | CheckResult): Promise<CheckResult> {
  try {
    return await look();
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.kind === 'interrupted') throw thrown;
    const unseen = ['refused.right', 'unreachable.apiGroup', 'unreachable.cluster'].includes(thrown.code) || thrown.kind === 'failed';
    if (!unseen) throw thrown;
    if (thrown.code === 'failed.snapshot') return blocked(thrown.message, thrown.remedy);
    return { ...warning(`Not checked: ${thrown.message}`, thrown.remedy), unseen: true };
  }
}
