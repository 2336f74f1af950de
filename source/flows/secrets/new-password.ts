import { randomInt } from 'node:crypto';
import { Fault } from '../../faults/fault.ts';
import type { Session } from '../../session/session.ts';

export interface NewPassword {
  value: string;
  madeUp: boolean;
}

const leastLength = 8;
/** Letters and digits without those that are easily confused when read aloud. */
const letters = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const madeUpLength = 20;
const secondsSeen = 15;

/** Masked input is easily mistyped. An empty answer generates 20 characters, 116 bits. `sends` states what happens with the password. */
export async function promptNewPassword(session: Session, label: string, sends: string): Promise<NewPassword> {
  const value = await session.ask.secret({
    id: 'password',
    label,
    help: `Leave empty to generate a password, which is shown once. ${sends}`,
    check: (text) => (text !== '' && text.length < leastLength ? `Use at least ${leastLength} characters.` : undefined),
  });
  if (value === '') {
    const made = Array.from({ length: madeUpLength }, () => letters[randomInt(letters.length)]).join('');
    session.hide(made);
    return { value: made, madeUp: true };
  }
  if (session.attended) {
    await session.ask.secret({
      id: 'password-again',
      label: 'Repeat the password',
      check: (text) => (text === value ? undefined : 'The passwords do not match. Type the first one again, or cancel.'),
    });
  }
  return { value, madeUp: false };
}

/** Shows a generated password once. If it cannot be shown, says so: the password is in effect, and lost. */
export async function showGenerated(session: Session, whose: string, { value, madeUp }: NewPassword): Promise<void> {
  if (!madeUp) return;
  try {
    session.show({ kind: 'secret', label: `Password of ${whose}`, value, secondsLeft: secondsSeen });
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    const message = `The generated password for ${whose} is in effect, but could not be shown.`;
    throw new Fault('failed.unseen', message, 'Reset the password in a terminal, or pass one with --answers -.', { cause: thrown });
  }
}
