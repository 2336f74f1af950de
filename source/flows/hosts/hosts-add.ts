import { hostNameProblem } from '../../config/host-names.ts';
import { writeHost } from '../../config/hosts-file.ts';
import type { HostSettings } from '../../config/settings.ts';
import { Fault } from '../../faults/fault.ts';
import { parseDestination } from '../../hosts/ssh/destination.ts';
import { sshNames } from '../../hosts/ssh/ssh-names.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import type { FlowInput, Procedure } from '../flow.ts';
import { bookOf, unexpectedArgument } from './host-book.ts';
import { checkHost } from './host-report.ts';

/** Choice for another name; not a valid SSH alias, so it cannot collide with one. */
const another = '/';
const offeredAtMost = 200;

export const hostsAdd: Procedure = async (session, input, context) => {
  const book = bookOf(context);
  const listed = await book.list();
  const [name, ssh] = await chooseNewHost(session, input, { listed: Object.keys(listed), home: book.home });
  parseDestination(ssh);
  const problem = hostNameProblem(name);
  if (problem) throw nameFault(name, problem);
  if (listed[name]) {
    const message = `A host named ${name} already exists: ${cleanLine(listed[name].ssh)}.`;
    throw new Fault('refused.hostThere', message, `Choose another name, or remove that host first: quarterdeck hosts remove ${name}`);
  }
  const settings: HostSettings = { ssh, ...optionsOf(input) };
  const { sudo, stackFolder } = settings;
  const written = [`ssh: ${ssh}`, ...(sudo ? ['sudo: true'] : []), ...(stackFolder === undefined ? [] : [`stackFolder: ${stackFolder}`])];
  await session.act({
    id: 'add',
    right: 'operate',
    request: `write to ${book.file}: hosts: ${name}: ${written.join(', ')}`,
    target: { host: name },
    run: async (grant) => {
      await writeHost(grant, book.file, name, settings);
      await book.changed();
    },
  });
  if (session.dryRun) return { message: 'Dry run: nothing was written.' };
  if (input.options.unchecked === true) return { message: `Added ${name}.`, data: { name, ...settings } };
  const { report, exitCode } = await checkHost(session, book, name, settings);
  const good = `Added ${name}. The host appears in the console; to use it in a command, add --host ${name}.`;
  const bad = `Added ${name}, but the check found problems. To check again: quarterdeck hosts check ${name}`;
  return { message: exitCode === 0 ? good : bad, data: { name, ...settings, report }, exitCode };
};

async function chooseNewHost(
  session: Session,
  { words: [word, destination, more] }: FlowInput,
  { listed, home }: { listed: readonly string[]; home: string },
): Promise<[name: string, ssh: string]> {
  if (more !== undefined) throw unexpectedArgument(more, 'Pass a name and an address: nas op@192.168.1.20:2222');
  if (word !== undefined) {
    if (destination === undefined && hostNameProblem(word) !== undefined && /[@:]/.test(word))
      throw nameFault(word, `Pass a name before the address: quarterdeck hosts add NAME ${cleanLine(word)}`);
    return [word, destination ?? word];
  }
  if (!session.attended)
    throw new Fault('usage.host', 'A host name is required.', 'Pass NAME [user@]host, or NAME alone for a Host in your ssh configuration.');
  const known = (await sshNames(home)).filter((name) => !listed.includes(name)).slice(0, offeredAtMost);
  const chosen =
    known.length === 0
      ? another
      : await session.ask.choice({
          id: 'known',
          label: 'Host',
          help: 'Hosts in the ssh configuration on this machine.',
          choices: [...known.map((value) => ({ value, label: value })), { value: another, label: 'Other' }],
        });
  const ssh =
    chosen !== another
      ? chosen
      : await session.ask.text({
          id: 'ssh',
          label: 'Address',
          help: 'Address as in an ssh command: nas, op@nas.example.org, op@192.168.1.20:2222.',
          check: (text) => faultOf(() => parseDestination(text.trim())),
        });
  const name = await session.ask.text({
    id: 'name',
    label: 'Name',
    initial: suggestedName(ssh.trim(), listed),
    check: (text) => hostNameProblem(text.trim()) ?? (listed.includes(text.trim()) ? 'This name is already in use.' : undefined),
  });
  return [name.trim(), ssh.trim()];
}

/** Suggests a name: `op@nas.example.org:22` becomes `nas`; an address stays whole. */
function suggestedName(ssh: string, listed: readonly string[]): string {
  const host = ssh.replace(/^.*@/, '').replace(/^\[|\].*$/g, '');
  const plain = host.split(':').length > 2 ? '' : host.replace(/:\d+$/, '');
  const name = /^[\d.]+$/.test(plain) ? plain : (plain.split('.')[0] ?? '');
  return hostNameProblem(name) === undefined && !listed.includes(name) ? name : '';
}

function optionsOf({ options }: FlowInput): Pick<HostSettings, 'sudo' | 'stackFolder'> {
  const folder = options['stack-folder'];
  if (typeof folder === 'string' && !/^(?:\/|~\/)/.test(folder)) {
    const message = `"${cleanLine(folder)}" is not an absolute path.`;
    throw new Fault('usage.stackFolder', message, 'Use a path that begins with / or ~/ (the home directory on the host).');
  }
  return { ...(typeof folder === 'string' && { stackFolder: folder }), ...(options.sudo === true && { sudo: true }) };
}

function faultOf(check: () => unknown): string | undefined {
  try {
    check();
    return undefined;
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown.message;
    throw thrown;
  }
}

function nameFault(name: string, problem: string): Fault {
  return new Fault('usage.hostName', `"${cleanLine(name)}" is not a valid host name.`, problem);
}
