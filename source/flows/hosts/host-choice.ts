import type { HostSettings } from '../../config/settings.ts';
import { Fault } from '../../faults/fault.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { chooseOne } from '../delete-one.ts';
import type { FlowContext, FlowInput } from '../flow.ts';
import type { HostBook } from './host-book.ts';

/** @throws Fault `refused.practice` on the practice stack, which is one machine */
export function bookOf(context: FlowContext): HostBook {
  if (context.hosts) return context.hosts;
  throw new Fault('refused.practice', 'The practice stack is one machine, and knows no other hosts.', 'Run it without --practice.');
}

/** Throws `usage.host`. */
export async function chooseHost(
  session: Session,
  input: FlowInput,
  hosts: Readonly<Record<string, HostSettings>>,
): Promise<[name: string, settings: HostSettings]> {
  const [word, more] = input.words;
  if (more !== undefined) throw oneWordTooMany(more);
  const names = Object.keys(hosts);
  if (word === undefined && names.length > 0 && !session.attended)
    throw new Fault('usage.host', 'The name of a host is required.', `One of: ${names.join(', ')}.`);
  return chooseOne(session, Object.entries(hosts), {
    ...{ noun: 'host', idOf: ([name]) => name, detailOf: ([, { ssh }]) => cleanLine(ssh) },
    ...{ word, step: 'host', code: 'usage.host', whenNone: 'Add one: quarterdeck hosts add NAME [user@]host' },
  });
}

export function oneWordTooMany(word: string): Fault {
  const message = `"${cleanLine(word)}" is one word too many.`;
  return new Fault('usage.words', message, 'A host is written as one word: nas, op@nas, op@192.168.1.20:2222.');
}
