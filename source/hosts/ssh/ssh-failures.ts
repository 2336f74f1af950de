import { Fault, type FaultInit } from '../../faults/fault.ts';
import { cleanLine } from '../../text/clean.ts';

/** Why a connection could not be made, or ended. */
export interface SshFailure {
  fault: Fault;
  /** Trying again by itself makes no sense, or harm: the far side may count failed logins and ban us. */
  needsOperator: boolean;
}

interface Known {
  shape: RegExp;
  code: FaultInit['code'];
  says: (name: string, match: RegExpExecArray) => string;
  remedy: (name: string) => string;
  needsOperator?: boolean;
}

const network = 'Check the cable, the address and whether the machine is on.';

/** ssh's own words (OpenSSH 8 to 10), most telling first: one failure often has several lines. */
const known: readonly Known[] = [
  {
    shape: /REMOTE HOST IDENTIFICATION HAS CHANGED|Host key for \S+ has changed/,
    code: 'refused.hostKeyChanged',
    says: (name) => `${name} shows another host key than before: somebody may stand in between, or the machine was set up anew.`,
    remedy: (name) => `Compare the fingerprint with the machine's own; then forget the old key: quarterdeck hosts trust ${name}`,
    needsOperator: true,
  },
  {
    shape: /REVOKED HOST KEY DETECTED|host key for \S+ is marked as revoked/,
    code: 'refused.hostKeyRevoked',
    says: (name) => `${name} shows a host key that is marked as revoked here: whoever shows it may have stolen it.`,
    remedy: (name) => `Give that machine a new host key, compare it there, and connect again: quarterdeck hosts check ${name}`,
    needsOperator: true,
  },
  {
    shape: /Host key verification failed|No .* host key is known for|differs from the key for the IP address/,
    code: 'refused.hostKey',
    says: (name) => `The host key of ${name} was not accepted.`,
    remedy: (name) => `Compare the fingerprint with the machine's own and connect again: quarterdeck hosts check ${name}`,
    needsOperator: true,
  },
  {
    shape: /Permission denied \(([^)]*)\)/,
    code: 'refused.login',
    says: (name, [, ways]) => `${name} let nobody in: it takes ${cleanLine(ways ?? '').replaceAll(',', ', ')}, and none of that worked.`,
    remedy: (name) => `Check user and key with: ssh ${name}`,
    needsOperator: true,
  },
  {
    shape: /Too many authentication failures/,
    code: 'refused.login',
    says: (name) => `${name} ended the login: too many keys were tried.`,
    remedy: () => 'Name the key in your ssh configuration: IdentityFile and IdentitiesOnly yes.',
    needsOperator: true,
  },
  {
    shape:
      /(?:Bad configuration option|Bad owner or permissions on|terminating, \d+ bad configuration|keyword .* extra arguments|unsupported option)[^\n]*/,
    code: 'config.ssh',
    says: (_, [line]) => `ssh cannot use its configuration: ${cleanLine(line)}.`,
    remedy: () => 'Mend the ssh configuration; ssh -G HOST checks it.',
    needsOperator: true,
  },
  {
    shape: /Could not resolve hostname ([^:]+): ([^\n]*)/,
    code: 'unreachable.hostName',
    says: (name) => `The name of ${name} cannot be looked up.`,
    remedy: () => 'Check the name, and whether this machine has a network.',
  },
  {
    shape: /(?:connect to host|ssh_dispatch|Connection to) [^\n]*Connection refused/,
    code: 'unreachable.host',
    says: (name) => `${name} refuses the connection: no ssh server listens there.`,
    remedy: () => 'Check that sshd runs on that machine, and its port.',
  },
  {
    shape: /No route to host|Network is unreachable/,
    code: 'unreachable.silent',
    says: (name) => `There is no way to ${name} through the network.`,
    remedy: () => network,
  },
  {
    shape: /Timeout, server .* not responding/,
    code: 'unreachable.silent',
    says: (name) => `${name} has stopped answering.`,
    remedy: () => `The connection comes back by itself. ${network}`,
  },
  {
    shape: /Connection timed out|Operation timed out|Connection to .* timed out|timed out during banner exchange/,
    code: 'unreachable.silent',
    says: (name) => `${name} does not answer.`,
    remedy: () => network,
  },
  {
    shape: /no matching (host key type|key exchange method|cipher|MAC)[^\n]*/i,
    code: 'refused.algorithms',
    says: (name, [, what]) => `${name} and this machine's ssh have no ${(what ?? 'algorithm').toLowerCase()} in common.`,
    remedy: () => 'One of both is old: allow what it needs for this host alone, in your ssh configuration.',
    needsOperator: true,
  },
  {
    shape: /kex_exchange_identification|Connection closed by|Connection reset by|Broken pipe|closed by remote host/,
    code: 'unreachable.link',
    says: (name) => `${name} closed the connection.`,
    remedy: () => 'It comes back by itself. If not: sshd may be restarting, have too many logins at once, or have banned this address.',
  },
];

/** What ssh says of single streams, which has nothing to do with the end of the connection. */
const ofStreams = /^(?:channel \d+: |mux_client|debug\d: |Warning: Permanently added)/;

/** Why a connection that stood is over. */
export function brokenLink(name: string, log: string): SshFailure {
  const lines = log.split(/\r?\n/).filter((line) => line.trim() !== '' && !ofStreams.test(line));
  const told = sshFailure(name, lines.slice(-3).join('\n'), { exitCode: 255 });
  return { ...told, needsOperator: false };
}

/** What came over the streams of a session before its shell was there, raw. ssh writes banners to stderr, and so does the ssh that leads to a jump host. */
export interface Greeting {
  stdout: string;
  stderr: string;
}

/** The last line that says something, clean. */
function lastLine(text: string): string {
  return cleanLine(
    text
      .trim()
      .split(/[\r\n]+/)
      .at(-1) ?? '',
  ).trim();
}

const lastSaid = ({ stdout, stderr }: Greeting) => lastLine(stdout) || lastLine(stderr);
const ended = (sentence: string) => sentence.replace(/\.?$/, '.');

/** A sentence for the end of an ssh process. `log` is what ssh itself said, raw. */
export function sshFailure(
  name: string,
  log: string,
  { exitCode, before = { stdout: '', stderr: '' } }: { exitCode: number | null; before?: Greeting },
): SshFailure {
  // ssh ends with 255 for its own troubles; everything else is the far side's, and so is all that it says.
  if (exitCode !== null && exitCode !== 255) return noShell(name, exitCode, before);
  const words = [log, before.stderr];
  for (const text of words) {
    for (const { shape, code, says, remedy, needsOperator = false } of known) {
      const match = shape.exec(text);
      if (match) return { fault: new Fault({ code, message: says(name, match), remedy: remedy(name) }), needsOperator };
    }
  }
  const telling = words
    .join('\n')
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '' && !/^(?:Warning: Permanently added|debug\d:)/.test(line));
  const said = lastLine(telling.at(-1) ?? '');
  return {
    fault: new Fault({
      code: 'unreachable.link',
      message: ended(said ? `The connection to ${name} failed: ${said}` : `The connection to ${name} ended`),
      remedy: `See what ssh says: ssh ${name}`,
    }),
    needsOperator: false,
  };
}

function noShell(name: string, exitCode: number, before: Greeting): SshFailure {
  const said = lastSaid(before);
  // sshd's own words, where it has nobody to ask: only a login that asks question by question can change it.
  if (/^Password change required but no TTY available/.test(said)) {
    return {
      fault: new Fault({
        code: 'refused.passwordExpired',
        message: `The password of this user on ${name} has expired, and must be changed first.`,
        remedy: `Log in once in a terminal and change it: ssh ${name}`,
      }),
      needsOperator: true,
    };
  }
  return {
    fault: new Fault({
      code: 'refused.shell',
      message: ended(`${name} gives this user no shell: the login ended with exit code ${exitCode}${said && `, and said: ${said}`}`),
      remedy:
        'Commands are run by sh there: use a user with a login shell, no forced command, and nothing in the profile (.bashrc, .profile) that ends it.',
    }),
    needsOperator: true,
  };
}

const profileRemedy =
  'A profile there (.bashrc, .profile) waits for something: what asks or starts a program belongs behind [ -t 0 ] || return.';

/** While a shell is waited for. */
export function slowShell(name: string, before: Greeting): Fault {
  const said = lastSaid(before);
  return new Fault({
    code: 'unreachable.shell',
    message: ended(`${name} has let this user in, and no shell answers there yet${said && `; the last it said was: ${said}`}`),
    remedy: `If it stays so: ${profileRemedy.charAt(0).toLowerCase()}${profileRemedy.slice(1)}`,
  });
}

/** Behind a login that was let in nothing answers. Not tried again by itself: what hangs there would become more with each login. */
export function silentShell(name: string, before: Greeting): SshFailure {
  const said = lastSaid(before);
  return {
    fault: new Fault({
      code: 'refused.shell',
      message: ended(`${name} let this user in, and then no shell answered${said && `; the last it said was: ${said}`}`),
      remedy: `${profileRemedy} Then connect again.`,
    }),
    needsOperator: true,
  };
}
