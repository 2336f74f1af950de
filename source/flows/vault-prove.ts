import { Fault } from '../faults/fault.ts';
import type { NewShares, RotationStatus, ShareRotation } from '../products/key-ceremonies.ts';
import { shareNumber, shareProblem } from '../products/key-share.ts';
import type { Session } from '../session/session.ts';
import type { ShareCounts } from './share-counts.ts';
import type { OpenVault } from './vault-open.ts';

type Target = OpenVault['target'];

/** The server is given the new shares once, and only then takes them in force. */
export async function proveShares(
  session: Session,
  rotation: ShareRotation,
  target: Target,
  { shares, verificationNonce }: NewShares,
  { threshold }: ShareCounts,
): Promise<void> {
  let done = false;
  for (const [at, share] of shares.slice(0, threshold).entries())
    done = await prove(session, rotation, target, { share, nonce: verificationNonce, at, threshold });
  if (!done) throw unproved();
}

/** The same with what the holders type, in a run after the one that handed the new shares out. Throws `failed.rotate` where they do not belong together. */
export async function proveTyped(session: Session, rotation: ShareRotation, target: Target, status: RotationStatus): Promise<void> {
  const { threshold, shares } = status;
  const nonce = await session.act({
    id: 'prove-anew',
    right: 'operate',
    request: `DELETE /v1/${rotation.path}/verify: the proof begins anew`,
    target,
    run: (grant) => rotation.proveAnew(grant),
  });
  if (nonce === undefined) throw new Error('an act that is not rehearsed has an outcome');
  const given = new Set<number>();
  let done = false;
  for (let at = 0; at < threshold; at++) {
    session.progress({ id: 'proof', label: `${at} of ${threshold} new key shares given`, fraction: at / threshold });
    const typed = await session.ask.secret({
      id: 'new-share',
      label: `New key share ${at + 1} of ${threshold}`,
      help: `Sends PUT /v1/${rotation.path}/verify. The shares of before are in force until the last one is given; leave any time with Esc.`,
      check: (text) => shareProblem(text, { threshold, shares }, given),
    });
    const share = typed.trim();
    const number = shareNumber(share);
    if (number !== undefined) given.add(number);
    done = await prove(session, rotation, target, { share, nonce, at, threshold });
  }
  session.progress({ id: 'proof', label: `${threshold} of ${threshold} new key shares given`, done: true });
  if (!done) throw unproved();
}

async function prove(
  session: Session,
  rotation: ShareRotation,
  target: Target,
  { share, nonce, at, threshold }: { share: string; nonce: string; at: number; threshold: number },
): Promise<boolean> {
  const answer = await session.act({
    id: `prove-${at + 1}`,
    right: 'operate',
    request: `PUT /v1/${rotation.path}/verify with a new key share (${at} of ${threshold} were given)`,
    target,
    run: (grant) => rotation.prove(grant, share, nonce),
  });
  return answer === true;
}

function unproved(): Fault {
  return new Fault({
    code: 'failed.rotate',
    message: 'The new shares were given, and the server does not say that they are in force.',
    remedy: 'Keep the shares of before and the new ones, and look at its log.',
  });
}
