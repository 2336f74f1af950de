import { Fault } from '../../faults/fault.ts';
import { pauseFor } from '../../faults/waits.ts';
import type { Session } from '../../session/session.ts';
import type { SealStatus, SecretsManager, ShareOutcome } from './client/secrets-manager.ts';

/** A node that joins a cluster reports "sealed" for a moment after its last share. */
const openingMs = 30_000;
const againMs = 500;
export const unsealStep = 'unseal';

/** Waits until the server answers after a restart. Throws the last fault after the limit, and a permanent fault at once. */
export async function sealWhenBack(
  session: Session,
  manager: SecretsManager,
  limitMs: number,
  passes = ({ kind }: Fault) => kind === 'unreachable',
): Promise<SealStatus> {
  const endMs = performance.now() + limitMs;
  while (true) {
    try {
      return await manager.seal(session.signal);
    } catch (thrown) {
      if (!(thrown instanceof Fault) || !passes(thrown) || session.signal.aborted || performance.now() > endMs) throw thrown;
      session.progress({ id: unsealStep, label: 'It does not answer; waiting for it to come back' });
      await pauseFor(againMs, session.signal);
    }
  }
}

/** Waits until the server has opened its storage after the last share, or reports that it requires more. */
export async function sealWhenOpened({ signal }: Session, manager: SecretsManager, wait?: () => void): Promise<SealStatus> {
  const endMs = performance.now() + openingMs;
  let status = await manager.seal(signal);
  while (status.sealed && status.progress === 0 && performance.now() < endMs) {
    wait?.();
    await pauseFor(againMs, signal);
    status = await manager.seal(signal);
  }
  return status;
}

export async function sendShare(
  session: Session,
  manager: SecretsManager,
  share: string,
  before: Pick<SealStatus, 'progress' | 'threshold'>,
  { id, target }: { id: string; target: { host: string; component: string } },
): Promise<ShareOutcome> {
  const outcome = await session.act({
    id,
    right: 'operate',
    request: `PUT /v1/sys/unseal with a key share (${before.progress} of ${before.threshold} were given)`,
    target,
    run: (grant) => manager.give(grant, share),
    failure: (found) => shareFailure(found, before),
  });
  if (!outcome) throw new Error('an act that is not a dry run has an outcome');
  return outcome;
}

/** Returns why a share does not count, for the audit. */
function shareFailure(outcome: ShareOutcome, before: Pick<SealStatus, 'progress' | 'threshold'>): string | undefined {
  if (outcome.kind !== 'taken') return rejection(outcome, before.threshold);
  const { sealed, progress } = outcome.status;
  const isLast = !sealed || (progress === 0 && before.progress + 1 >= before.threshold);
  return !isLast && progress <= before.progress ? 'the share was sent before: it counts once' : undefined;
}

export function rejection({ kind, words }: { kind: 'refused' | 'dropped'; words: string }, threshold: number): string {
  return kind === 'refused' ? `the server rejected the share: ${words}` : `the server rejected all ${threshold} shares: ${words}`;
}
