import { Fault } from '../../faults/fault.ts';
import { askChoice } from '../../flows/ask-choice.ts';
import { dryRunOf } from '../../flows/dry-run.ts';
import type { FlowOutcome, Procedure } from '../../flows/flow.ts';
import type { Session } from '../../session/session.ts';
import { shareNumber, shareProblem } from './client/key-share.ts';
import type { SealStatus, ShareOutcome } from './client/secrets-manager.ts';
import { sealWhenBack, sealWhenOpened, sendShare, unsealStep } from './seal.ts';
import { chooseNodes, type NodeOutcome, openNode } from './unseal-nodes.ts';
import { type FlowVault, vaultOf } from './vault-open.ts';

/** A server that restarts is waited for, because its holders are present now. */
const restartingMs = 60_000;

interface Attempt extends FlowVault {
  given: Set<number | undefined>;
  /** Number of shares sent from here, for the ids of the actions. */
  sent: number;
  /** Accepted shares, for other nodes. Undefined without other nodes: then no share is kept in memory longer than required to send it. */
  held: string[] | undefined;
}

export const unseal: Procedure = async (session, input, context) => {
  const vault = await vaultOf(session, input, context);
  const { component, status: first } = vault;
  if (!first.initialized) {
    const message = `${component.id} is not initialised and has no key shares yet.`;
    throw new Fault('refused.notInitialised', message, `To create the shares: quarterdeck init ${component.id}`);
  }
  if (!first.sealed) return { message: `${component.id} is already unsealed.`, data: dataOf(first) };
  if (session.dryRun) {
    const { progress, threshold, shares } = first;
    const would = `prompt for ${threshold - progress} of the ${shares} key shares (${progress} of ${threshold} entered) and send each: PUT /v1/sys/unseal`;
    return dryRunOf(session, would, `${component.id} is still sealed.`);
  }
  await chooseRecovery(session, first, component.id);
  const nodes = await chooseNodes(vault, input);
  const attempt: Attempt = { ...vault, given: new Set(), sent: 0, held: nodes.length > 0 ? [] : undefined };
  try {
    const begun = await startOver(attempt);
    const last = await giveShares(attempt, begun);
    const others: NodeOutcome[] = [];
    for (const [at, node] of nodes.entries()) others.push(await openNode(node, attempt.held ?? [], at + 1));
    return outcomeOf(component.id, last, others, input.engineName);
  } finally {
    attempt.held?.splice(0);
  }
};

function outcomeOf(id: string, last: SealStatus, others: readonly NodeOutcome[], engineName: string): FlowOutcome {
  const opened = last.sealed ? `${id} is still sealed (${last.progress} of ${last.threshold} key shares entered).` : `${id} is unsealed.`;
  const nodes = others.map(({ name: _, ...node }) => node);
  const data = { ...dataOf(last), ...(nodes.length > 0 && { nodes }) };
  if (others.length === 0) return { message: opened, data };
  const nameOf = ({ host, name }: NodeOutcome) => (host === engineName ? name : host);
  const stateOf = ({ sealed, threshold }: NodeOutcome) => (threshold === 0 ? 'Unreachable' : sealed ? 'Still sealed' : 'Also unsealed');
  const listed = [...Map.groupBy(others, stateOf)].map(([state, inIt]) => ` ${state}: ${inIt.map(nameOf).join(', ')}.`);
  return { message: `${opened}${listed.join('')}`, data };
}

/** Shares that were entered elsewhere may belong to an unknown earlier attempt. */
async function startOver({ session, manager, status }: Attempt): Promise<SealStatus> {
  if (status.progress === 0 || !session.attended) return status;
  const chosen = await askChoice(session, {
    id: 'attempt',
    label: `${status.progress} of ${status.threshold} shares were already entered`,
    help: 'Other holders may be entering their shares now. Anyone who can reach the port can start an attempt, so discard the shares of an unknown attempt.',
    choices: { continue: 'Continue', reset: ['Discard the shares and start over', 'all shares must be entered again'] },
    initial: 'continue',
    fresh: true,
  });
  if (chosen === 'continue') return status;
  await session.act({ id: 'reset', right: 'operate', request: 'PUT /v1/sys/unseal {"reset": true}', run: (grant) => manager.reset(grant) });
  return manager.seal(session.signal);
}

async function giveShares(attempt: Attempt, begun: SealStatus): Promise<SealStatus> {
  const { session } = attempt;
  let status = begun;
  while (status.sealed) {
    session.progress(progressOf(status));
    const share = await askShare(attempt, status);
    if (share === undefined) break;
    const before = await look(attempt);
    if (!before.sealed) {
      showText(session, 'The server was unsealed in the meantime; your share was not sent.');
      return before;
    }
    if (isAnother(status, before)) {
      startAnew(attempt);
      showText(session, 'The entered shares were discarded, so the count starts over.');
    }
    status = await settle(attempt, share, before, await send(attempt, share, before));
  }
  session.progress({ ...progressOf(status), done: true });
  return status;
}

/** Returns undefined when the shares of an unattended session are used up. */
async function askShare({ session, component, given, sent }: Attempt, status: SealStatus): Promise<string | undefined> {
  const { progress, threshold, shares, recoverySeal } = status;
  try {
    const share = await session.ask.secret({
      id: 'share',
      label: `${recoverySeal ? 'Recovery' : 'Key'} share ${progress + 1} of ${threshold}`,
      help: `${progress} of ${threshold} accepted, ${shares} exist. Sends PUT /v1/sys/unseal. A wrong share is detected only after all required shares are entered.`,
      check: (text) => shareProblem(text, status, given),
    });
    return share.trim();
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.kind === 'interrupted') throw leftAt(status, component.id);
    if (thrown instanceof Fault && thrown.code === 'usage.unanswered' && sent > 0) return undefined;
    throw thrown;
  }
}

/** Cancelling is safe at any time: the server keeps the shares, and another holder can continue. */
function leftAt({ progress, threshold }: SealStatus, component: string): Fault {
  const message =
    progress === 0
      ? `${component} is still sealed; no shares are entered.`
      : `${component} is still sealed, with ${progress} of ${threshold} shares entered. The shares are kept until the server is unsealed, restarted or reset.`;
  return new Fault('interrupted.cancelled', message, `To resume, here or elsewhere: quarterdeck unseal ${component}`);
}

async function send(attempt: Attempt, share: string, before: SealStatus): Promise<ShareOutcome | 'lost'> {
  try {
    return await sendShare(attempt, share, before, { id: `share-${++attempt.sent}` });
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.kind !== 'unreachable' || attempt.session.signal.aborted) throw thrown;
    return 'lost';
  }
}

const look = (attempt: Attempt) => sealWhenBack(attempt, restartingMs);

function startAnew({ given, held }: Attempt): void {
  given.clear();
  held?.splice(0);
}

/** Only comparing the seal status before and after a share shows its effect. */
async function settle(attempt: Attempt, share: string, before: SealStatus, outcome: ShareOutcome | 'lost'): Promise<SealStatus> {
  const { session, given, held } = attempt;
  if (outcome === 'lost') return afterLoss(attempt, before);
  if (outcome.kind === 'refused') {
    showText(session, `The server rejected the share as invalid (${outcome.words}). Nothing was lost. Enter the share again.`);
    return look(attempt);
  }
  if (outcome.kind === 'dropped') {
    startAnew(attempt);
    const service = before.recoverySeal ? `, or the auto-unseal service (${before.type}) is unreachable` : '';
    const sentence = `The ${before.threshold} shares do not unseal the server: at least one is wrong or outdated${service}. The server discarded them all and cannot tell which one.`;
    if (!session.attended) throw new Fault('failed.shares', sentence, 'Start over with other shares.');
    showText(session, `${sentence} Start over, and have each holder check their share.`);
    return look(attempt);
  }
  const { status } = outcome;
  // If no attempt is in progress any more, the share was the last one.
  const isLast = !status.sealed || (status.progress === 0 && before.progress + 1 >= before.threshold);
  if (isLast) {
    held?.push(share);
    // The reply alone proves nothing: the seal status afterwards decides.
    const opening = { id: unsealStep, label: 'All shares are entered; opening the storage' };
    return status.sealed ? sealWhenOpened(attempt, () => session.progress(opening)) : look(attempt);
  }
  if (isAnother(before, status)) {
    startAnew(attempt);
    showText(session, 'The shares were discarded while yours was being sent, so the count starts over.');
  } else if (status.progress <= before.progress) {
    if (!session.attended) throw new Fault('failed.shares', 'This share was already entered.', 'Enter another share.');
    showText(session, 'This share was already entered, here or elsewhere. Each share counts only once. Enter another one.');
  }
  given.add(shareNumber(share));
  if (!held?.includes(share)) held?.push(share);
  return status;
}

async function afterLoss(attempt: Attempt, before: SealStatus): Promise<SealStatus> {
  const now = await look(attempt);
  if (isAnother(before, now)) startAnew(attempt);
  showText(
    attempt.session,
    now.sealed
      ? `The connection was lost while the share was being sent. The server now has ${now.progress} of ${now.threshold} shares${now.progress < before.progress ? '; a restart, a reset or a wrong share discards all of them' : ''}.`
      : 'The connection was lost while the share was being sent. The server is unsealed now.',
  );
  return now;
}

/** A new attempt has another nonce. Before the first share there is none. */
const isAnother = (before: SealStatus, now: SealStatus) => before.progress > 0 && now.nonce !== before.nonce;

const showText = (session: Session, text: string) => session.show({ kind: 'text', text });

function progressOf({ progress, threshold, sealed, recoverySeal }: SealStatus) {
  const given = sealed ? progress : threshold;
  return {
    id: unsealStep,
    label: `${given} of ${threshold} ${recoverySeal ? 'recovery' : 'key'} shares accepted`,
    fraction: threshold === 0 ? 0 : given / threshold,
  };
}

function dataOf({ sealed, progress, threshold, shares, version, type }: SealStatus): object {
  return { sealed, progress: sealed ? progress : threshold, threshold, shares, version, type };
}

/** With auto-unseal, recovery shares unseal a server that was sealed by hand, but not one whose auto-unseal service is unreachable. */
async function chooseRecovery(session: Session, { recoverySeal, migration, type }: SealStatus, id: string): Promise<void> {
  if (!recoverySeal || migration) return;
  const sentence = `${id} unseals automatically (${type}) when it starts. If it was sealed manually, recovery shares can also unseal it, unless its auto-unseal service is unreachable.`;
  if (!session.attended) return showText(session, sentence);
  const chosen = await askChoice(session, {
    id: 'recovery',
    label: `${id} unseals automatically. Enter recovery shares anyway?`,
    help: sentence,
    choices: {
      shares: ['Enter recovery shares', 'if it was sealed manually'],
      leave: ['Quit and restart the server', `quarterdeck restart ${id}`],
    },
    initial: 'leave',
    fresh: true,
  });
  if (chosen === 'shares') return;
  const remedy = `Restart ${id}: quarterdeck restart ${id}. If it stays sealed, its auto-unseal service (${type}) may be unreachable; check the log.`;
  throw new Fault('interrupted.cancelled', `${id} is still sealed; no share was entered.`, remedy);
}
