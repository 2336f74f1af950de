import { Fault } from '../../faults/fault.ts';
import { pauseFor } from '../../faults/waits.ts';
import type { Procedure } from '../../flows/flow.ts';
import type { Act } from '../../session/session.ts';
import type { SealStatus, ShareOutcome } from './client/secrets-manager.ts';
import { type FlowVault, tokenFor, vaultOf } from './vault-open.ts';

export const seal: Procedure = async (session, input, context) => {
  const vault = await vaultOf(session, input, context);
  const { component, manager } = vault;
  const { sealed, initialized, threshold, shares, recoverySeal, type } = vault.status;
  if (sealed) return { message: `${component.id} is ${initialized ? 'already sealed' : 'sealed and not initialised'}.` };
  const { token } = session.dryRun ? { token: '' } : await tokenFor(vault, { may: 'update and sudo on sys/seal' });
  await session.act({
    id: 'seal',
    right: 'destroy',
    title: `Seal ${component.id}`,
    request: 'PUT /v1/sys/seal',
    consequences: [
      'Secrets cannot be read or written until the server is unsealed.',
      recoverySeal
        ? `The server stays sealed until it is restarted (auto-unseal, ${type}), or ${threshold} of the ${shares} recovery shares are entered.`
        : `Unsealing requires ${threshold} of the ${shares} key shares from their holders.`,
    ],
    done: async () => (await manager.seal(session.signal)).sealed,
    run: (grant) => manager.close(grant, token),
  });
  return { message: session.dryRun ? `Dry run: ${component.id} was not sealed.` : `Sealed ${component.id}.` };
};

/** A node that joins a cluster reports "sealed" for a moment after its last share. */
const openingMs = 30_000;
const againMs = 500;
export const unsealStep = 'unseal';

type Sealable = Pick<FlowVault, 'session' | 'manager'>;

const isUnreachable = ({ kind }: Fault) => kind === 'unreachable';

/** Waits until the server answers after a restart. Throws the last fault after the limit, and a permanent fault at once. */
export async function sealWhenBack({ session, manager }: Sealable, limitMs: number, passes = isUnreachable): Promise<SealStatus> {
  const endMs = performance.now() + limitMs;
  while (true) {
    try {
      return await manager.seal(session.signal);
    } catch (thrown) {
      if (!(thrown instanceof Fault) || !passes(thrown) || session.signal.aborted || performance.now() > endMs) throw thrown;
      session.progress({ id: unsealStep, label: 'The server is not responding; waiting' });
      await pauseFor(againMs, session.signal);
    }
  }
}

/** Waits until the server has opened its storage after the last share, or reports that it requires more. */
export async function sealWhenOpened({ session: { signal }, manager }: Sealable, wait?: () => void): Promise<SealStatus> {
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
  { session, manager }: Sealable,
  share: string,
  before: SealStatus,
  act: Pick<Act<unknown>, 'id' | 'target'>,
) {
  const outcome = await session.act({
    ...act,
    right: 'operate',
    request: `PUT /v1/sys/unseal with a key share (${before.progress} of ${before.threshold} entered)`,
    run: (grant) => manager.give(grant, share),
    failure: (found) => shareFailure(found, before),
  });
  if (!outcome) throw new Error('unexpected dry run');
  return outcome;
}

/** Returns why a share does not count, for the audit. */
function shareFailure(outcome: ShareOutcome, before: SealStatus): string | undefined {
  if (outcome.kind !== 'taken') return rejection(outcome, before.threshold);
  const { sealed, progress } = outcome.status;
  const isLast = !sealed || (progress === 0 && before.progress + 1 >= before.threshold);
  return !isLast && progress <= before.progress ? 'the share was already sent, and counts only once' : undefined;
}

export const rejection = ({ kind, words }: { kind: 'refused' | 'dropped'; words: string }, threshold: number) =>
  `the server rejected ${kind === 'refused' ? 'the share' : `all ${threshold} shares`}: ${words}`;
