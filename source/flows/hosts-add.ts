import { hostNameProblem } from '../config/host-names.ts';
import { writeHost } from '../config/hosts-file.ts';
import type { HostSettings } from '../config/settings.ts';
import { Fault } from '../faults/fault.ts';
import { parseDestination } from '../hosts/ssh/destination.ts';
import { sshNames } from '../hosts/ssh/ssh-names.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { hostsAddAbout } from './about-hosts.ts';
import type { Flow, FlowInput } from './flow.ts';
import { bookOf, oneWordTooMany } from './host-choice.ts';
import { lookAtHost } from './host-look.ts';

/** An alias that is no name of a host here: what is typed instead. */
const another = '/';
const offeredAtMost = 200;

export const hostsAdd: Flow = {
  ...hostsAddAbout,
  async run(session, input, world) {
    const book = bookOf(world);
    const listed = await book.list();
    const [name, ssh] = await whichOne(session, input, { listed: Object.keys(listed), home: book.home });
    parseDestination(ssh);
    const problem = hostNameProblem(name);
    if (problem) throw nameFault(name, problem);
    if (listed[name]) throw there(name, listed[name]);
    const settings: HostSettings = { ssh, ...optionsOf(input) };
    await session.act({
      id: 'add',
      right: 'operate',
      request: `write into ${book.file}: hosts: ${name}: ssh: ${ssh}${settings.sudo ? ', sudo: true' : ''}${settings.stackFolder === undefined ? '' : `, stackFolder: ${settings.stackFolder}`}`,
      target: { host: name },
      run: async (grant) => {
        await writeHost(grant, book.file, name, settings);
        await book.changed();
      },
    });
    if (session.rehearsing) return { message: 'Rehearsed: nothing was written.' };
    if (input.options.unchecked === true) return { message: `${name} is added.`, data: { name, ...settings } };
    const { report, exitCode } = await lookAtHost(session, book, name, settings);
    return {
      message:
        exitCode === 0
          ? `${name} is added. The console shows it; verbs take it with --host ${name}.`
          : `${name} is added, and not all is well there: quarterdeck hosts check ${name} looks again.`,
      data: { name, ...settings, report },
      exitCode,
    };
  },
};

async function whichOne(
  session: Session,
  { words: [word, destination, more] }: FlowInput,
  { listed, home }: { listed: readonly string[]; home: string },
): Promise<[name: string, ssh: string]> {
  if (more !== undefined) throw oneWordTooMany(more);
  if (word !== undefined) {
    if (destination === undefined && hostNameProblem(word) !== undefined && /[@:]/.test(word)) {
      throw nameFault(word, `That is where it is, and it needs a name too: quarterdeck hosts add NAME ${cleanLine(word)}`);
    }
    return [word, destination ?? word];
  }
  if (!session.attended) {
    throw new Fault({
      code: 'usage.host',
      message: 'The name of the host is needed.',
      remedy: 'quarterdeck hosts add NAME [user@]host, or NAME alone for a Host of your ssh configuration.',
    });
  }
  const known = (await sshNames(home)).filter((name) => !listed.includes(name)).slice(0, offeredAtMost);
  const chosen =
    known.length === 0
      ? another
      : await session.ask.choice({
          id: 'known',
          label: 'Which host?',
          help: 'Those that ssh knows on this machine.',
          choices: [...known.map((value) => ({ value, label: value })), { value: another, label: 'Another one' }],
        });
  const ssh =
    chosen !== another
      ? chosen
      : await session.ask.text({
          id: 'ssh',
          label: 'Where is it?',
          help: 'As behind ssh: nas, op@nas.example.org, op@192.168.1.20:2222.',
          check: (text) => faultOf(() => parseDestination(text.trim())),
        });
  const name = await session.ask.text({
    id: 'name',
    label: 'What do you call it?',
    initial: suggestedName(ssh.trim(), listed),
    check: (text) => hostNameProblem(text.trim()) ?? (listed.includes(text.trim()) ? 'There is one of that name already.' : undefined),
  });
  return [name.trim(), ssh.trim()];
}

/** `op@nas.example.org:22` is `nas`; an address stays whole. */
function suggestedName(ssh: string, listed: readonly string[]): string {
  const host = ssh.replace(/^.*@/, '').replace(/^\[|\].*$/g, '');
  const plain = host.split(':').length > 2 ? '' : host.replace(/:\d+$/, '');
  const name = /^[\d.]+$/.test(plain) ? plain : (plain.split('.')[0] ?? '');
  return hostNameProblem(name) === undefined && !listed.includes(name) ? name : '';
}

function optionsOf({ options }: FlowInput): Pick<HostSettings, 'sudo' | 'stackFolder'> {
  const folder = options['stack-folder'];
  if (typeof folder === 'string' && !/^(?:\/|~\/)/.test(folder)) {
    throw new Fault({
      code: 'usage.stackFolder',
      message: `"${cleanLine(folder)}" is no folder that could be found from everywhere.`,
      remedy: 'Begin it with / or ~/ (the home there).',
    });
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
  return new Fault({
    code: 'usage.hostName',
    message: `A host cannot be called "${cleanLine(name)}".`,
    remedy: problem,
  });
}

function there(name: string, { ssh }: HostSettings): Fault {
  return new Fault({
    code: 'refused.hostThere',
    message: `There is a host called ${name} already: ${cleanLine(ssh)}.`,
    remedy: `Choose another name, or take it away first: quarterdeck hosts remove ${name}`,
  });
}
