import { Fault } from '../../faults/fault.ts';
import type { Session } from '../../session/session.ts';
import { cancelled, type Left } from '../prompt-cancelled.ts';

export interface SecretDelivery {
  /** Prefix of its steps. */
  id: string;
  label: string;
  value: string;
  /** The person who should be at the screen. */
  whose: string;
}

/** The step under which a run records delivered secrets, by label. */
export const deliveredStep = 'handed-out';

export interface DeliveryTexts {
  /** Returns what is lost with the undelivered secrets: the help of the question whether to leave. */
  lost: (left: readonly string[]) => string;
  /** What is needed then, shown beside "Leave". */
  detail: string;
  /** Returns the fault for a run that is left all the same. */
  left: (left: readonly string[]) => Left;
}

/** Each secret is shown alone, until its written copy was typed. A value is not shown elsewhere, nor in any journal, audit or log. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: a secret is shown until it is typed, or leaving is confirmed
export async function deliverSecrets(session: Session, handouts: readonly SecretDelivery[], words: DeliveryTexts): Promise<void> {
  for (const { value } of handouts) session.hide(value);
  for (const [at, handout] of handouts.entries()) {
    const left = handouts.slice(at).map(({ label }) => label);
    session.progress({ id: 'handing-out', label: `${at} of ${handouts.length} delivered`, fraction: at / handouts.length });
    for (let time = 1; ; time++) {
      const step = time === 1 ? '' : `-${time}`;
      try {
        await reveal(session, handout, step);
        if (await prove(session, handout, step)) break;
      } catch (thrown) {
        if (session.signal.aborted || !(thrown instanceof Fault) || thrown.kind !== 'interrupted') throw thrown;
        if (await leaves(session, words, left, `${handout.id}${step}`)) throw cancelled(words.left(left), thrown);
      }
    }
    await session.note(deliveredStep, handout.label);
    session.show({ kind: 'item', id: handout.id, title: handout.label, state: 'ok', evidence: 'written down and verified' });
  }
  session.progress({ id: 'handing-out', label: 'All delivered', done: true });
}

async function reveal(session: Session, { id, label, value, whose }: SecretDelivery, step: string): Promise<void> {
  await session.ask.choice({
    id: `${id}-call${step}`,
    label: `${label}: confirm that only ${whose} can see the screen`,
    choices: [{ value: 'yes', label: 'Show' }],
    initial: 'yes',
  });
  await session.ask.choice({
    id: `${id}-shown${step}`,
    label: 'Write the secret down now: it is not shown again after verification.',
    reveals: { label, value },
    choices: [{ value: 'yes', label: 'Continue to verification' }],
    initial: 'yes',
  });
}

async function prove(session: Session, { id, label, value }: SecretDelivery, step: string): Promise<boolean> {
  const typed = await session.ask.secret({
    id: `${id}-proof${step}`,
    label: `Type ${label.slice(0, 1).toLowerCase()}${label.slice(1)} as you wrote it down`,
    help: 'Leave empty to see the secret again.',
    check: (text) => {
      const given = text.trim();
      return given === '' || given === value ? undefined : 'No match. Check your note, or leave empty to see the secret again.';
    },
  });
  return typed.trim() !== '';
}

async function leaves(session: Session, { lost, detail }: DeliveryTexts, left: readonly string[], step: string): Promise<boolean> {
  const answer = await session.ask
    .choice({
      id: `leave-${step}`,
      label: 'Quit and lose the undelivered secrets?',
      help: lost(left),
      choices: [
        { value: 'stay', label: 'Continue' },
        { value: 'leave', label: 'Quit', detail },
      ],
      initial: 'stay',
    })
    .catch((thrown: unknown) => {
      if (session.signal.aborted || !(thrown instanceof Fault) || thrown.kind !== 'interrupted') throw thrown;
      return 'stay';
    });
  return answer === 'leave';
}
