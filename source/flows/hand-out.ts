import { Fault } from '../faults/fault.ts';
import type { Session } from '../session/session.ts';

/** Something that is shown once, to one person. */
export interface Handout {
  /** Of its steps. */
  id: string;
  label: string;
  value: string;
  /** Who is to be at the screen. */
  whose: string;
}

/** Under which a run notes what is in safe hands, by its label. */
export const handedOutStep = 'handed-out';

export interface HandoutWords {
  /** What is lost with those that nobody has yet, as the help of the question whether to leave. */
  lost: (left: readonly string[]) => string;
  /** What it takes then, beside "Leave". */
  detail: string;
  /** What is thrown when somebody leaves all the same. */
  left: (left: readonly string[], cause: Fault) => Fault;
}

/**
 * Shows each to its holder, alone, and goes on when what was written down has been typed again. Leaving in the middle is asked about. Nobody else sees a value: it is in
 * no journal, audit or log.
 */
export async function handOut(session: Session, handouts: readonly Handout[], words: HandoutWords): Promise<void> {
  for (const { value } of handouts) session.hide(value);
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
        if (await leaves(session, words, left, `${handout.id}${step}`)) throw words.left(left, thrown);
      }
    }
    await session.note(handedOutStep, handout.label);
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
    label: `Type ${label.slice(0, 1).toLowerCase()}${label.slice(1)} from what was written down`,
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
async function leaves(session: Session, { lost, detail }: HandoutWords, left: readonly string[], step: string): Promise<boolean> {
  const way = await session.ask
    .choice({
      id: `leave-${step}`,
      label: 'Leave, and lose what was not handed out?',
      help: lost(left),
      choices: [
        { value: 'stay', label: 'Go on' },
        { value: 'leave', label: 'Leave', detail },
      ],
      initial: 'stay',
    })
    .catch((thrown: unknown) => {
      if (session.signal.aborted || !(thrown instanceof Fault) || thrown.kind !== 'interrupted') throw thrown;
      return 'stay';
    });
  return way === 'leave';
}
