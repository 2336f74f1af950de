import type { HostSettings } from '../config/settings.ts';
import { Fault } from '../faults/fault.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { nameRemedy } from '../text/nearest-name.ts';
import type { FlowInput, FlowWorld } from './flow.ts';
import type { HostBook } from './host-book.ts';

/** @throws Fault `refused.practice` on the practice stack, which is one machine */
export function bookOf(world: FlowWorld): HostBook {
  if (world.hosts) return world.hosts;
  throw new Fault({
    code: 'refused.practice',
    message: 'The practice stack is one machine, and knows no other hosts.',
    remedy: 'Run it without --practice.',
  });
}

/** The host that the words name, or that is chosen. @throws Fault `usage.host` */
export async function chooseHost(
  session: Session,
  input: FlowInput,
  hosts: Readonly<Record<string, HostSettings>>,
): Promise<[name: string, settings: HostSettings]> {
  const names = Object.keys(hosts);
  const [word, more] = input.words;
  if (more !== undefined) throw oneWordTooMany(more);
  if (names.length === 0) {
    throw new Fault({
      code: 'usage.host',
      message: 'There is no host beside this machine yet.',
      remedy: 'Add one: quarterdeck hosts add NAME [user@]host',
    });
  }
  if (word === undefined && !session.attended) {
    throw new Fault({ code: 'usage.host', message: 'The name of a host is needed.', remedy: `One of: ${names.join(', ')}.` });
  }
  const name =
    word ??
    (await session.ask.choice({
      id: 'host',
      label: 'Which host?',
      choices: names.map((value) => ({ value, label: value, detail: cleanLine(hosts[value]?.ssh ?? '') })),
    }));
  const settings = hosts[name];
  if (settings) return [name, settings];
  throw new Fault({
    code: 'usage.host',
    message: `There is no host called "${cleanLine(name)}".`,
    remedy: nameRemedy(name, names, `Hosts: ${names.join(', ')}.`),
  });
}

export function oneWordTooMany(word: string): Fault {
  return new Fault({
    code: 'usage.words',
    message: `"${cleanLine(word)}" is one word too many.`,
    remedy: 'A host is written as one word: nas, op@nas, op@192.168.1.20:2222.',
  });
}
