import { Fault } from '../faults/fault.ts';
import type { SealStatus } from '../products/secrets-manager.ts';
import type { Session } from '../session/session.ts';
import { initialiseAbout } from './about-vault.ts';
import type { Flow, FlowOutcome } from './flow.ts';
import { componentOf } from './service-targets.ts';
import { secretsManagerOf } from './vault-target.ts';

/** R75. */
const usualShares = 5;
const usualThreshold = 3;
/** A byte numbers the shares, and none is 0. */
const mostShares = 255;

/** Something that is shown once, to one person. */
interface Handout {
  id: string;
  label: string;
  value: string;
  /** Who is to be at the screen. */
  whose: string;
}

export const initialise: Flow = {
  ...initialiseAbout,
  async run(session, input, world) {
    const component = componentOf(input);
    const manager = await secretsManagerOf(world, component, session.signal);
    const status = await manager.seal(session.signal);
    if (status.initialized) return { message: `${component.id} is initialised already.` };
    if (!session.attended) throw unattended();
    const counts = await askCounts(session);
    await askReady(session, counts);
    // Only a seal of shares is opened by them; of another kind they are for recovery.
    const recovery = status.type !== 'shamir' && status.type !== '';
    const made = await session.act({
      id: 'initialise',
      right: 'reveal',
      request: `PUT /v1/sys/init: ${counts.shares} shares, ${counts.threshold} of them open it`,
      target: { host: input.place, component: component.id },
      run: (grant) => manager.initialise(grant, { ...counts, recovery }),
    });
    if (!made) return { message: `Rehearsed: ${component.id} is still without keys.` };
    for (const secret of [...made.shares, made.rootToken]) session.hide(secret);
    const handouts = made.shares.map((value, at) => ({
      id: `share-${at + 1}`,
      label: `${recovery ? 'Recovery share' : 'Key share'} ${at + 1} of ${counts.shares}`,
      value,
      whose: `the holder of share ${at + 1}`,
    }));
    const root = { id: 'root', label: 'Root token', value: made.rootToken, whose: 'who sets the secrets manager up' };
    await handOut(session, [...handouts, root], component.id);
    return outcomeOf(await manager.seal(session.signal), counts, component.id);
  },
};

async function askCounts(session: Session): Promise<{ shares: number; threshold: number }> {
  const shares = await session.ask.number({
    id: 'shares',
    label: 'Key shares in all',
    help: 'One for each holder. Each of them alone opens nothing.',
    initial: String(usualShares),
    least: 1,
    most: mostShares,
  });
  if (shares === 1) return { shares, threshold: 1 };
  const threshold = await session.ask.number({
    id: 'threshold',
    label: 'How many of them open it together',
    help: 'So many holders have to be found after every restart. The others may be lost; one more, and it never opens again.',
    initial: String(Math.min(usualThreshold, shares)),
    least: 2,
    most: shares,
  });
  return { shares, threshold };
}

async function askReady(session: Session, { shares, threshold }: { shares: number; threshold: number }): Promise<void> {
  const way = await session.ask.choice({
    id: 'ready',
    label: `Make ${shares} key shares, ${threshold} of which open it?`,
    help: 'Each is shown once, to its holder, who writes it down and types it again. Then the root token. Nothing of it is kept: whoever leaves in the middle has to begin anew.',
    choices: [
      { value: 'yes', label: 'Make them', detail: 'the holders are here' },
      { value: 'no', label: 'Not now' },
    ],
    initial: 'yes',
  });
  if (way === 'no')
    throw new Fault({ code: 'interrupted.cancelled', message: 'Nothing was made.', remedy: 'Come back when the holders are at hand.' });
}

async function handOut(session: Session, handouts: readonly Handout[], id: string): Promise<void> {
  for (const [at, handout] of handouts.entries()) {
    const left = handouts.slice(at).map(({ label }) => label);
    session.progress({ id: 'handing-out', label: `${at} of ${handouts.length} are in safe hands`, fraction: at / handouts.length });
    for (let time = 1; ; time++) {
      const step = time === 1 ? '' : `-${time}`;
      try {
        await reveal(session, handout, step);
        if (await prove(session, handout, step)) break;
      } catch (thrown) {
        if (session.signal.aborted || !(thrown instanceof Fault) || thrown.kind !== 'interrupted') throw thrown;
        if (await leaves(session, left, `${handout.id}${step}`)) throw lost(left, id, thrown);
      }
    }
    session.show({ kind: 'item', id: handout.id, title: handout.label, state: 'ok', evidence: 'written down and typed again' });
  }
  session.progress({ id: 'handing-out', label: 'All are in safe hands', done: true });
}

async function reveal(session: Session, { id, label, value, whose }: Handout, step: string): Promise<void> {
  await session.ask.choice({
    id: `${id}-call${step}`,
    label: `${label}: is ${whose} at the screen, alone?`,
    choices: [{ value: 'yes', label: 'Show it' }],
    initial: 'yes',
  });
  await session.ask.choice({
    id: `${id}-shown${step}`,
    label: 'Write it down now: it is not shown again once it was proved.',
    reveals: { label, value },
    choices: [{ value: 'yes', label: 'It is written down' }],
    initial: 'yes',
  });
}

/** False where the holder wants to see it once more. */
async function prove(session: Session, { id, label, value }: Handout, step: string): Promise<boolean> {
  const typed = await session.ask.secret({
    id: `${id}-proof${step}`,
    label: `Type ${label.toLowerCase()} from what was written down`,
    help: 'Empty shows it once more.',
    check: (text) => {
      const given = text.trim();
      return given === '' || given === value
        ? undefined
        : 'That is another one: look at what was written down, or leave it empty to see it again.';
    },
  });
  return typed.trim() !== '';
}

/** Whoever leaves now loses what nobody has yet. */
async function leaves(session: Session, left: readonly string[], step: string): Promise<boolean> {
  const way = await session.ask
    .choice({
      id: `leave-${step}`,
      label: 'Leave, and lose what was not handed out?',
      help: `Nobody has these yet: ${left.join(', ')}. They are kept nowhere, and cannot be shown again later.`,
      choices: [
        { value: 'stay', label: 'Go on' },
        { value: 'leave', label: 'Leave', detail: 'then its data has to be removed, and all begins anew' },
      ],
      initial: 'stay',
    })
    .catch((thrown: unknown) => {
      if (session.signal.aborted || !(thrown instanceof Fault) || thrown.kind !== 'interrupted') throw thrown;
      return 'stay';
    });
  return way === 'leave';
}

function lost(left: readonly string[], id: string, cause: Fault): Fault {
  return new Fault({
    code: 'failed.handout',
    message: `${id} is initialised, and nobody has ${left.join(', ')}. They are gone.`,
    remedy: `It is new and empty: remove its data (quarterdeck remove ${id} --data), deploy and initialise it again.`,
    cause,
  });
}

function outcomeOf({ sealed }: SealStatus, { shares, threshold }: { shares: number; threshold: number }, id: string): FlowOutcome {
  const opened = sealed ? ` It is sealed: ${threshold} of the ${shares} holders open it with "unseal".` : ' It is open.';
  return {
    message: `${id} is initialised, and every share is in the hands of its holder.${opened}`,
    data: { sealed, shares, threshold },
    todo: {
      component: id,
      items: [
        ...(sealed
          ? [{ id: 'unseal', title: `Unseal it with ${threshold} shares`, detail: `quarterdeck unseal ${id}`, byHand: false }]
          : []),
        {
          id: 'second-admin',
          title: 'Make another admin token, try it, then revoke the root token',
          detail: 'Newer releases have no way to a new root token without a login.',
          byHand: true,
        },
      ],
    },
  };
}

function unattended(): Fault {
  return new Fault({
    code: 'refused.unattended',
    message: 'Shares that nobody sees are lost at once: initialising needs somebody at a terminal.',
    remedy: 'Run it in a terminal, with the holders at hand.',
  });
}
