import { Fault } from '../faults/fault.ts';
import { pauseFor } from '../faults/waits.ts';
import { shareNumber, shareProblem } from '../products/key-share.ts';
import type { SealStatus, SecretsManager, ShareOutcome } from '../products/secrets-manager.ts';
import type { Session } from '../session/session.ts';
import { countText } from '../text/quantities.ts';
import { unsealAbout } from './about-vault.ts';
import type { Flow, FlowOutcome } from './flow.ts';
import { componentOf } from './service-targets.ts';
import { chooseNodes, type NodeOutcome, openNode, shareFailure } from './unseal-nodes.ts';
import { chooseRecovery } from './unseal-recovery.ts';
import { secretsManagerOf } from './vault-target.ts';

/** A node that joins a cluster says "sealed" for a moment after its last share. */
const finishingMs = 30_000;
/** One that restarts is waited for: its holders are here now. */
const restartingMs = 60_000;
const againMs = 500;

interface Attempt {
  session: Session;
  manager: SecretsManager;
  component: string;
  host: string;
  /** Numbers of the shares that were given from here in this attempt. */
  given: Set<number>;
  /** How many were sent from here, in all attempts: names the acts. */
  sent: number;
  /** What was accepted from here in this attempt, for other nodes. Undefined where there are none: then no share is held longer than it takes to send it. */
  held: string[] | undefined;
}

export const unseal: Flow = {
  ...unsealAbout,
  async run(session, input, world) {
    const component = componentOf(input);
    const manager = await secretsManagerOf(world, component, session.signal);
    const first = await manager.seal(session.signal);
    throwIfNot(first, component.id);
    if (!first.sealed) return { message: `${component.id} is unsealed already.`, data: dataOf(first) };
    if (session.rehearsing) return rehearsed(session, first, component.id);
    await chooseRecovery(session, first, component.id);
    const nodes = await chooseNodes(session, input, world, first);
    const attempt: Attempt = {
      session,
      manager,
      component: component.id,
      host: input.place,
      given: new Set(),
      sent: 0,
      held: nodes.length > 0 ? [] : undefined,
    };
    try {
      const begun = await startOver(attempt, first);
      const last = await giveShares(attempt, begun);
      const others: NodeOutcome[] = [];
      for (const [at, node] of nodes.entries()) others.push(await openNode(session, node, attempt.held ?? [], at + 1));
      return outcomeOf(component.id, last, others, input.place);
    } finally {
      attempt.held?.splice(0);
    }
  },
};

function outcomeOf(id: string, last: SealStatus, others: readonly NodeOutcome[], place: string): FlowOutcome {
  const opened = last.sealed ? `${id} has ${last.progress} of ${last.threshold} key shares, and is still sealed.` : `${id} is unsealed.`;
  const nodes = others.map(({ name: _, ...node }) => node);
  const data = { ...dataOf(last), ...(nodes.length > 0 && { nodes }) };
  if (others.length === 0) return { message: opened, data };
  const [open, sealed] = [others.filter((one) => !one.sealed), others.filter((one) => one.sealed)].map((some) =>
    some.map(({ host, name }) => (host === place ? name : host)),
  );
  const parts = [
    open && open.length > 0 ? ` Unsealed too: ${open.join(', ')}.` : '',
    sealed && sealed.length > 0 ? ` Still sealed: ${sealed.join(', ')}.` : '',
  ];
  return { message: `${opened}${parts.join('')}`, data };
}

function throwIfNot({ initialized }: SealStatus, id: string): void {
  if (!initialized) {
    throw new Fault({
      code: 'refused.notInitialised',
      message: `${id} is not initialised: there are no key shares yet.`,
      remedy: 'Initialise it: that makes the shares, and shows them once.',
    });
  }
}

function rehearsed(session: Session, { progress, threshold, shares }: SealStatus, id: string): FlowOutcome {
  const missing = threshold - progress;
  session.show({
    kind: 'text',
    text: `Would ask for ${countText(missing, 'key share')} of ${shares} (${progress} of ${threshold} are given) and send each: PUT /v1/sys/unseal`,
  });
  return { message: `Rehearsed: ${id} is still sealed.` };
}

/** Shares that somebody else gave may be part of this, or of an attempt that nobody knows any more. */
async function startOver(attempt: Attempt, status: SealStatus): Promise<SealStatus> {
  const { session, manager, component, host } = attempt;
  if (status.progress === 0 || !session.attended) return status;
  const way = await session.ask.choice({
    id: 'attempt',
    label: `${status.progress} of ${status.threshold} shares were given before you. Go on with them?`,
    help: 'Other holders may be giving theirs right now. Whoever can reach the port can begin an attempt, so drop one that nobody knows of.',
    choices: [
      { value: 'continue', label: 'Go on with them' },
      { value: 'reset', label: 'Drop them and start over', detail: 'everybody gives theirs again' },
    ],
    initial: 'continue',
    fresh: true,
  });
  if (way === 'continue') return status;
  await session.act({
    id: 'reset',
    right: 'operate',
    request: 'PUT /v1/sys/unseal {"reset": true}',
    target: { host, component },
    run: (grant) => manager.reset(grant),
  });
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
      session.show({ kind: 'text', text: 'Somebody else gave the last share meanwhile; yours was not sent.' });
      return before;
    }
    if (isAnother(status, before)) {
      startAnew(attempt);
      tell(session, 'Somebody dropped the shares that were given: the count starts over.');
    }
    const outcome = await send(attempt, share, before);
    status = await settle(attempt, share, before, outcome);
  }
  session.progress({ ...progressOf(status), done: true });
  return status;
}

/** Undefined where nobody is there to ask and those that were given in advance are through. */
async function askShare({ session, component, given, sent }: Attempt, status: SealStatus): Promise<string | undefined> {
  const { progress, threshold, shares, recoverySeal } = status;
  try {
    const share = await session.ask.secret({
      id: 'share',
      label: `${recoverySeal ? 'Recovery' : 'Key'} share ${progress + 1} of ${threshold}`,
      help: `${progress} of ${threshold} accepted, ${shares} exist. Sends PUT /v1/sys/unseal. A wrong share shows only when all are together.`,
      check: (text) => shareProblem(text, status, given),
    });
    return share.trim();
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.kind === 'interrupted') throw leftAt(status, component);
    if (thrown instanceof Fault && thrown.code === 'usage.unanswered' && sent > 0) return undefined;
    throw thrown;
  }
}

/** Leaving is safe at any time: what was given stays with the server, and somebody else can go on. */
function leftAt({ progress, threshold }: SealStatus, component: string): Fault {
  return new Fault({
    code: 'interrupted.cancelled',
    message:
      progress === 0
        ? `${component} is still sealed; no share was given.`
        : `${component} is still sealed, with ${progress} of ${threshold} shares given. They stay until it is unsealed, restarted, or somebody drops them.`,
    remedy: `Go on any time, here or elsewhere: quarterdeck unseal ${component}`,
  });
}

/** `lost`: it went away while the share was on its way. */
async function send(attempt: Attempt, share: string, { progress, threshold }: SealStatus): Promise<ShareOutcome | 'lost'> {
  const { session, manager, host, component } = attempt;
  try {
    const outcome = await session.act({
      id: `share-${++attempt.sent}`,
      right: 'operate',
      request: `PUT /v1/sys/unseal with a key share (${progress} of ${threshold} were given)`,
      target: { host, component },
      run: (grant) => manager.give(grant, share),
      failure: (one) => shareFailure(one, { progress, threshold }),
    });
    if (!outcome) throw new Error('an act that is not rehearsed has an outcome');
    return outcome;
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.kind !== 'unreachable' || session.signal.aborted) throw thrown;
    return 'lost';
  }
}

/** Its state; while it restarts there is none, and its holders wait. */
async function look({ session, manager }: Attempt): Promise<SealStatus> {
  const endMs = performance.now() + restartingMs;
  while (true) {
    try {
      return await manager.seal(session.signal);
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.kind !== 'unreachable' || performance.now() > endMs) throw thrown;
      session.progress({ id: 'unseal', label: 'It does not answer; waiting for it to come back' });
      await pauseFor(againMs, session.signal);
    }
  }
}

/** Nothing of what was given counts any more. */
function startAnew({ given, held }: Attempt): void {
  given.clear();
  held?.splice(0);
}

/** Compares what the server says now with what it said before: there is no other way to see what became of a share. */
async function settle(attempt: Attempt, share: string, before: SealStatus, outcome: ShareOutcome | 'lost'): Promise<SealStatus> {
  const { session, given, held } = attempt;
  if (outcome === 'lost') return afterLoss(attempt, before);
  if (outcome.kind === 'refused') {
    tell(session, `The server takes that for no share (${outcome.words}). Nothing was lost: give it again.`);
    return look(attempt);
  }
  if (outcome.kind === 'dropped') {
    startAnew(attempt);
    const sentence = `The ${before.threshold} shares do not open it together: at least one of them is wrong, or of another time. The server dropped them all and cannot say whose it was.`;
    if (!session.attended) throw new Fault({ code: 'failed.shares', message: sentence, remedy: 'Start over with other shares.' });
    tell(session, `${sentence} Start over: ask each holder to look at theirs.`);
    return look(attempt);
  }
  const { status } = outcome;
  // Without a trace of the attempt it was the last one.
  const isLast = !status.sealed || (status.progress === 0 && before.progress + 1 >= before.threshold);
  if (isLast) {
    held?.push(share);
    // The reply alone proves nothing: what counts is what it says of itself afterwards.
    return status.sealed ? finished(attempt, status) : look(attempt);
  }
  const number = shareNumber(share);
  if (isAnother(before, status)) {
    startAnew(attempt);
    tell(session, 'Somebody dropped the shares while yours was on its way: the count starts over.');
  } else if (status.progress <= before.progress) {
    if (!session.attended)
      throw new Fault({ code: 'failed.shares', message: 'That share was given before: it counts once.', remedy: 'Give another one.' });
    tell(session, 'That share was given before, here or by somebody else: it counts once. Give another one.');
  }
  if (number !== undefined) given.add(number);
  if (!held?.includes(share)) held?.push(share);
  return status;
}

/** Whether the share counted shows in what the server says when it is back. */
async function afterLoss(attempt: Attempt, before: SealStatus): Promise<SealStatus> {
  const now = await look(attempt);
  if (isAnother(before, now)) startAnew(attempt);
  tell(
    attempt.session,
    now.sealed
      ? `It went away while the share was on its way. ${now.progress} of ${now.threshold} are accepted now${now.progress === 0 ? ': a restart drops them all' : ''}.`
      : 'It went away while the share was on its way, and is unsealed now.',
  );
  return now;
}

/** The last share was taken, and it still says "sealed": a node that joins a cluster needs a moment. */
async function finished({ session, manager }: Attempt, status: SealStatus): Promise<SealStatus> {
  const endMs = performance.now() + finishingMs;
  let now = status;
  while (now.sealed && now.progress === 0 && performance.now() < endMs) {
    session.progress({ id: 'unseal', label: 'All shares are given; it is opening its storage' });
    await pauseFor(againMs, session.signal);
    now = await manager.seal(session.signal);
  }
  return now;
}

/** A new attempt has another nonce; before the first share there is none. */
function isAnother(before: SealStatus, now: SealStatus): boolean {
  return before.progress > 0 && now.nonce !== before.nonce;
}

function tell(session: Session, text: string): void {
  session.show({ kind: 'text', text });
}

function progressOf({ progress, threshold, sealed, recoverySeal }: SealStatus): { id: string; label: string; fraction: number } {
  const given = sealed ? progress : threshold;
  return {
    id: 'unseal',
    label: `${given} of ${threshold} ${recoverySeal ? 'recovery' : 'key'} shares accepted`,
    fraction: threshold === 0 ? 0 : given / threshold,
  };
}

function dataOf({ sealed, progress, threshold, shares, version, type }: SealStatus): object {
  return { sealed, progress: sealed ? progress : threshold, threshold, shares, version, type };
}
