import { Fault, type FaultCode } from '../../faults/fault.ts';
import { type Left, unlessCancelled } from '../../flows/prompt-cancelled.ts';
import type { SecretDelivery } from '../../flows/secrets/deliver.ts';
import type { Session } from '../../session/session.ts';
import type { Ceremony, CeremonyStatus, CeremonyStep } from './client/key-ceremonies.ts';
import { shareNumber, shareProblem } from './client/key-share.ts';
import type { SealStatus } from './client/secrets-manager.ts';
import { rejection } from './seal.ts';
import type { FlowVault } from './vault-open.ts';

type Collecting<Result> = { vault: FlowVault; ceremony: Ceremony<Result>; left: (status: CeremonyStatus) => Left };

/** Prompts their holders for key shares until the ceremony has as many as it requires. Throws `failed.ceremony` if another operator ended it. */
export async function collectShares<Result>(collecting: Collecting<Result>, begun: CeremonyStatus): Promise<Result> {
  const { vault, ceremony } = collecting;
  const { session, status: seal } = vault;
  const given = new Set<number | undefined>();
  let status = begun;
  for (let turn = 1; ; turn++) {
    session.progress(progressOf(status));
    const share = await askShare(collecting, status, given);
    const { progress, required, nonce } = status;
    const step = await session.act({
      id: `share-${turn}`,
      right: 'operate',
      request: `PUT /v1/${ceremony.path}/update with a key share (${progress} of ${required} entered)`,
      run: (grant) => ceremony.give(grant, share, nonce),
      failure: (one) => failureOf(one, seal.threshold),
    });
    if (!step) throw new Error('unexpected dry run');
    if (step.kind === 'done') {
      session.progress({ ...progressOf({ ...status, progress: required }), done: true });
      return step.result;
    }
    if (step.kind === 'taken') {
      given.add(shareNumber(share));
      status = step.status;
    } else {
      if (step.kind === 'dropped') given.clear();
      tellRejection(session, step, seal.threshold);
      status = await ceremony.status(session.signal);
    }
  }
}

export async function cancelCeremony(session: Session, ceremony: Ceremony<unknown>, { id, nonce }: { id: string; nonce: string }) {
  const request = `DELETE /v1/${ceremony.attempt}`;
  await session.act({ id, right: 'operate', request, run: (grant) => ceremony.cancel(grant, nonce) });
}

async function askShare<Result>(collecting: Collecting<Result>, status: CeremonyStatus, given: ReadonlySet<number | undefined>) {
  const { vault, ceremony, left } = collecting;
  const { progress, required } = status;
  const question = {
    id: 'share',
    label: `Key share ${progress + 1} of ${required}`,
    help: `${progress} of ${required} accepted. Sends PUT /v1/${ceremony.path}/update. A wrong share is detected only after all required shares are entered.`,
    check: (text: string) => shareProblem(text, vault.status, given),
  };
  return (await unlessCancelled(vault.session, left(status), () => vault.session.ask.secret(question))).trim();
}

/** For `catch`: cleans up after this fault, unless the session was interrupted, and throws it again. */
export function afterFault({ signal }: Session, code: FaultCode, cleanUp: () => Promise<unknown>) {
  return async (thrown: unknown): Promise<never> => {
    if (thrown instanceof Fault && thrown.code === code && !signal.aborted) await cleanUp();
    throw thrown;
  };
}

function failureOf<Result>(step: CeremonyStep<Result>, threshold: number): string | undefined {
  if (step.kind === 'gone') return 'the share was not accepted, because the attempt was completed or cancelled, or another one began';
  return step.kind === 'refused' || step.kind === 'dropped' ? rejection(step, threshold) : undefined;
}

type Rejected = Extract<CeremonyStep<never>, { kind: 'gone' | 'refused' | 'dropped' }>;

function tellRejection(session: Session, step: Rejected, threshold: number): void {
  if (step.kind === 'gone') {
    const message = 'The attempt was completed, cancelled or restarted in the meantime; the share was not accepted.';
    throw new Fault('failed.ceremony', message, 'Check with the other holders, then run the command again.');
  }
  const text =
    step.kind === 'refused'
      ? `The share was rejected (${step.words}). Nothing was lost. Enter another one.`
      : `The ${threshold} shares do not match: at least one is wrong or outdated. The server discarded them all and cannot tell which one. Start over, and have each holder check their share.`;
  session.show({ kind: 'text', text });
}

function progressOf({ progress, required }: CeremonyStatus) {
  return { id: 'shares', label: `${progress} of ${required} key shares accepted`, fraction: required === 0 ? 0 : progress / required };
}

/** R75. */
const usualShares = 5;
const usualThreshold = 3;
/** Shares are numbered with one byte, from 1. */
const mostShares = 255;

export type ShareCounts = Pick<SealStatus, 'shares' | 'threshold'>;

/** The defaults are the current numbers, if any. Recovery shares do not unseal a server after a restart. */
export async function promptCounts(session: Session, recovery: boolean, now?: ShareCounts): Promise<ShareCounts> {
  const shares = await session.ask.number({
    id: 'shares',
    label: `Total number of ${recovery ? 'recovery' : 'key'} shares`,
    help: 'One for each holder. With more than one, a single share is not enough.',
    initial: String(now?.shares || usualShares),
    least: 1,
    most: mostShares,
  });
  if (shares === 1) return { shares, threshold: 1 };
  const threshold = await session.ask.number({
    id: 'threshold',
    label: recovery ? 'Number of shares required' : 'Number of shares required to unseal',
    help: recovery
      ? 'This many holders are required to create a root token, to rotate the shares, and to unseal a server that was sealed manually.'
      : 'This many holders are required after every restart. If fewer shares than this remain, the server can never be unsealed again.',
    initial: String(Math.min(Math.max(now?.threshold || usualThreshold, 2), shares)),
    least: 2,
    most: shares,
  });
  return { shares, threshold };
}

export function shareDeliveries(shares: readonly string[], labels: readonly string[]): SecretDelivery[] {
  return shares.map((value, at) => ({ id: `share-${at + 1}`, label: labels[at] ?? '', value, whose: `the holder of share ${at + 1}` }));
}

export const shareLabels = (kind: string, count: number) => Array.from({ length: count }, (_, at) => `${kind} ${at + 1} of ${count}`);
