import { Fault } from '../faults/fault.ts';
import type { Ceremony, CeremonyStatus, CeremonyStep } from '../products/key-ceremonies.ts';
import { shareNumber, shareProblem } from '../products/key-share.ts';
import type { SealStatus } from '../products/secrets-manager.ts';
import type { Session } from '../session/session.ts';

interface Collecting<Result> {
  session: Session;
  ceremony: Ceremony<Result>;
  /** Of the acts. */
  target: { host: string; component: string };
  /** How many shares there are, and how many open it. */
  seal: Pick<SealStatus, 'shares' | 'threshold'>;
  /** What is said to who leaves: what stands, and how it is gone on with. */
  left: (status: CeremonyStatus, cause: Fault) => Fault;
}

/** Takes key shares, one at a time and masked, until the ceremony has as many as it wants. Throws `failed.ceremony` where somebody else ended it. */
export async function collectShares<Result>(collecting: Collecting<Result>, begun: CeremonyStatus): Promise<Result> {
  const { session, ceremony, target, seal, left } = collecting;
  const given = new Set<number>();
  let status = begun;
  for (let turn = 1; ; turn++) {
    session.progress(progressOf(status));
    const share = await askShare(collecting, status, given, left);
    const { progress, required, nonce } = status;
    const step = await session.act({
      id: `share-${turn}`,
      right: 'operate',
      request: `PUT /v1/${ceremony.path}/update with a key share (${progress} of ${required} were given)`,
      target,
      run: (grant) => ceremony.give(grant, share, nonce),
      failure: (one) => failureOf(one, seal.threshold),
    });
    if (!step) throw new Error('an act that is not rehearsed has an outcome');
    if (step.kind === 'done') {
      session.progress({ ...progressOf({ ...status, progress: required }), done: true });
      return step.result;
    }
    const number = shareNumber(share);
    if (step.kind === 'taken' && number !== undefined) given.add(number);
    if (step.kind === 'dropped') given.clear();
    tell(session, step, seal.threshold);
    status = step.kind === 'taken' ? step.status : await ceremony.status(session.signal);
  }
}

async function askShare<Result>(
  { session, ceremony, seal }: Collecting<Result>,
  status: CeremonyStatus,
  given: ReadonlySet<number>,
  left: Collecting<Result>['left'],
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
  if (step.kind === 'refused') return `the server rejected the share: ${step.words}`;
  return step.kind === 'dropped' ? `the server rejected all ${threshold} shares: ${step.words}` : undefined;
}

/** Says what came of a share that was not simply taken; where nobody is there, it ends the run. */
function tell<Result>(session: Session, step: CeremonyStep<Result>, threshold: number): void {
  if (step.kind === 'gone') {
    throw new Fault({
      code: 'failed.ceremony',
      message: 'Somebody cancelled it meanwhile, or began another; the share was not taken.',
      remedy: 'Ask the others, then run it again.',
    });
  }
  if (step.kind !== 'refused' && step.kind !== 'dropped') return;
  const sentence =
    step.kind === 'refused'
      ? `That share was not taken (${step.words}). Nothing was lost: give another one.`
      : `The ${threshold} shares do not belong together: at least one of them is wrong, or of another time. The server dropped them all and cannot say whose it was.`;
  if (!session.attended) throw new Fault({ code: 'failed.shares', message: sentence, remedy: 'Start over with other shares.' });
  session.show({ kind: 'text', text: step.kind === 'dropped' ? `${sentence} Start over: ask each holder to look at theirs.` : sentence });
}

function progressOf({ progress, required }: CeremonyStatus): { id: string; label: string; fraction: number } {
  return { id: 'shares', label: `${progress} of ${required} key shares accepted`, fraction: required === 0 ? 0 : progress / required };
}
