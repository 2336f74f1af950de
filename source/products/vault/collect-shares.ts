import { Fault } from '../../faults/fault.ts';
import type { Session } from '../../session/session.ts';
import type { Ceremony, CeremonyStatus, CeremonyStep } from './client/key-ceremonies.ts';
import { shareNumber, shareProblem } from './client/key-share.ts';
import type { SealStatus } from './client/secrets-manager.ts';
import { rejection } from './seal-status.ts';

interface Collecting<Result> {
  session: Session;
  ceremony: Ceremony<Result>;
  target: { host: string; component: string };
  seal: Pick<SealStatus, 'shares' | 'threshold'>;
  left: (status: CeremonyStatus, cause: Fault) => Fault;
}

/** Prompts for key shares until the ceremony has as many as it requires. Throws `failed.ceremony` if another operator ended it. */
export async function collectShares<Result>(collecting: Collecting<Result>, begun: CeremonyStatus): Promise<Result> {
  const { session, ceremony, target, seal } = collecting;
  const given = new Set<number | undefined>();
  let status = begun;
  for (let turn = 1; ; turn++) {
    session.progress(progressOf(status));
    const share = await askShare(collecting, status, given);
    const { progress, required, nonce } = status;
    const step = await session.act({
      id: `share-${turn}`,
      right: 'operate',
      request: `PUT /v1/${ceremony.path}/update with a key share (${progress} of ${required} were given)`,
      target,
      run: (grant) => ceremony.give(grant, share, nonce),
      failure: (one) => failureOf(one, seal.threshold),
    });
    if (!step) throw new Error('an act that is not a dry run has an outcome');
    if (step.kind === 'done') {
      session.progress({ ...progressOf({ ...status, progress: required }), done: true });
      return step.result;
    }
    if (step.kind === 'taken') given.add(shareNumber(share));
    if (step.kind === 'dropped') given.clear();
    tell(session, step, seal.threshold);
    status = step.kind === 'taken' ? step.status : await ceremony.status(session.signal);
  }
}

export async function cancelCeremony(
  session: Session,
  ceremony: Pick<Ceremony<unknown>, 'attempt' | 'cancel'>,
  target: Collecting<unknown>['target'],
  { id, nonce }: { id: string; nonce: string },
): Promise<void> {
  const request = `DELETE /v1/${ceremony.attempt}`;
  await session.act({ id, right: 'operate', request, target, run: (grant) => ceremony.cancel(grant, nonce) });
}

async function askShare<Result>(
  { session, ceremony, seal, left }: Collecting<Result>,
  status: CeremonyStatus,
  given: ReadonlySet<number | undefined>,
): Promise<string> {
  try {
    const share = await session.ask.secret({
      id: 'share',
      label: `Key share ${status.progress + 1} of ${status.required}`,
      help: `${status.progress} of ${status.required} accepted. Sends PUT /v1/${ceremony.path}/update. A wrong share shows only when all are together.`,
      check: (text) => shareProblem(text, seal, given),
    });
    return share.trim();
  } catch (thrown) {
    if (!session.signal.aborted && thrown instanceof Fault && (thrown.kind === 'interrupted' || thrown.code === 'usage.unanswered'))
      throw left(status, thrown);
    throw thrown;
  }
}

function failureOf<Result>(step: CeremonyStep<Result>, threshold: number): string | undefined {
  if (step.kind === 'gone') return 'the share was not accepted: the attempt was cancelled, or another one began';
  return step.kind === 'refused' || step.kind === 'dropped' ? rejection(step, threshold) : undefined;
}

function tell<Result>(session: Session, step: CeremonyStep<Result>, threshold: number): void {
  if (step.kind === 'gone') {
    throw new Fault(
      'failed.ceremony',
      'Somebody cancelled it meanwhile, or began another; the share was not taken.',
      'Ask the others, then run it again.',
    );
  }
  if (step.kind !== 'refused' && step.kind !== 'dropped') return;
  const sentence =
    step.kind === 'refused'
      ? `That share was not taken (${step.words}). Nothing was lost: give another one.`
      : `The ${threshold} shares do not belong together: at least one of them is wrong, or of another time. The server dropped them all and cannot say whose it was.`;
  if (!session.attended) throw new Fault('failed.shares', sentence, 'Start over with other shares.');
  session.show({ kind: 'text', text: step.kind === 'dropped' ? `${sentence} Start over: ask each holder to look at theirs.` : sentence });
}

function progressOf({ progress, required }: CeremonyStatus): { id: string; label: string; fraction: number } {
  return { id: 'shares', label: `${progress} of ${required} key shares accepted`, fraction: required === 0 ? 0 : progress / required };
}
