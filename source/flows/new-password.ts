import { randomInt } from 'node:crypto';
import { Fault } from '../faults/fault.ts';
import type { Session } from '../session/session.ts';

/** A password that somebody typed, or that was made up for them. */
export interface NewPassword {
  value: string;
  madeUp: boolean;
}

const leastLength = 8;
/** Without those that are mistaken for each other when they are read aloud. */
const letters = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const madeUpLength = 20;
const secondsSeen = 15;

/**
 * Asks twice, as everybody mistypes what is not seen. Empty makes one up: 20 letters, 116 bits.
 *
 * @param sends what becomes of it, as a sentence
 */
export async function askNewPassword(session: Session, label: string, sends: string): Promise<NewPassword> {
  const value = await session.ask.secret({
    id: 'password',
    label,
    help: `Empty makes one up, and shows it once. ${sends}`,
    check: (text) => (text !== '' && text.length < leastLength ? `At least ${leastLength} characters.` : undefined),
  });
  if (value === '') {
    const made = Array.from({ length: madeUpLength }, () => letters[randomInt(letters.length)]).join('');
    session.hide(made);
    return { value: made, madeUp: true };
  }
  if (session.attended) {
    await session.ask.secret({
      id: 'password-again',
      label: 'The same again',
      check: (text) => (text === value ? undefined : 'That is another one. Type the first one, or leave with Esc.'),
    });
  }
  return { value, madeUp: false };
}

/** Shows one that was made up, once. Where nobody can see it, says so: the password is in force, and lost. */
export async function showMadeUp(session: Session, whose: string, { value, madeUp }: NewPassword): Promise<void> {
  if (!madeUp) return;
  try {
    session.show({ kind: 'secret', label: `Password of ${whose}`, value, secondsLeft: secondsSeen });
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    throw new Fault({
      code: 'failed.unseen',
      message: `A password was made up for ${whose}, is in force, and nobody could see it.`,
      remedy: 'Reset it in a terminal, or pipe one in: --answers -',
      cause: thrown,
    });
  }
}
