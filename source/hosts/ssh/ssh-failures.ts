import { Fault, type FaultCode } from '../../faults/fault.ts';
import { cleanLine } from '../../text/clean.ts';

export interface SshFailure {
  fault: Fault;
  /** Automatic retries are useless or harmful: the remote side may count failed logins and ban us. */
  needsOperator: boolean;
}

interface Known {
  shape: RegExp;
  code: FaultCode;
  says: (name: string, match: RegExpExecArray) => string;
  /** @param ssh the command that connects to it by hand */
  remedy: (name: string, ssh: string) => string;
}

const network = 'Check the network, the address and whether the machine is on.';

/** An unreachable host is retried automatically; a refusal or a configuration error is not. */
export const failureOf = (fault: Fault): SshFailure => ({ fault, needsOperator: fault.kind !== 'unreachable' });

/** Messages of ssh (OpenSSH 8 to 10), most specific first: one failure often has several lines. */
const known: readonly Known[] = [
  {
    shape: /REMOTE HOST IDENTIFICATION HAS CHANGED|Host key for \S+ has changed/,
    code: 'refused.hostKeyChanged',
    says: (name) => `The host key of ${name} has changed: the connection may be intercepted, or the machine was reinstalled.`,
    remedy: (name) => `Compare the fingerprint on the machine itself, then replace the old key: quarterdeck hosts trust ${name}`,
  },
  {
    shape: /REVOKED HOST KEY DETECTED|host key for \S+ is marked as revoked/,
    code: 'refused.hostKeyRevoked',
    says: (name) => `The host key of ${name} is marked as revoked on this machine; the key may have been stolen.`,
    remedy: (name) => `Generate a new host key on that machine, compare its fingerprint, then connect: quarterdeck hosts check ${name}`,
  },
  {
    shape: /No .* host key is known for/,
    code: 'refused.hostKey',
    says: (name) => `The host key of ${name} is not known, and the ssh configuration accepts no unknown key.`,
    remedy: (_, ssh) => `Compare the fingerprint on the machine itself, then accept it: ${ssh} -o StrictHostKeyChecking=ask`,
  },
  {
    shape: /Host key verification failed|differs from the key for the IP address/,
    code: 'refused.hostKey',
    says: (name) => `The host key of ${name} was not accepted.`,
    remedy: (name) => `Compare the fingerprint on the machine itself and connect again: quarterdeck hosts check ${name}`,
  },
  {
    shape: /Permission denied \(([^)]*)\)/,
    code: 'refused.login',
    says: (name, [, ways]) => `${name} refused the login. It accepts these methods: ${cleanLine(ways ?? '').replaceAll(',', ', ')}.`,
    remedy: (_, ssh) => `Check the user and the key: ${ssh}`,
  },
  {
    shape: /Too many authentication failures/,
    code: 'refused.login',
    says: (name) => `${name} refused the login: too many keys were tried.`,
    remedy: () => 'Set the key in your ssh configuration: IdentityFile and IdentitiesOnly yes.',
  },
  {
    shape:
      /(?:Bad configuration option|Bad owner or permissions on|terminating, \d+ bad configuration|keyword .* extra arguments|unsupported option)[^\n]*/,
    code: 'config.ssh',
    says: (_, [line]) => `ssh cannot use its configuration: ${cleanLine(line)}.`,
    remedy: () => 'Fix the ssh configuration. Check it: ssh -G HOST',
  },
  {
    shape: /Could not resolve hostname ([^:]+): ([^\n]*)/,
    code: 'unreachable.hostName',
    says: (name) => `The host name of ${name} cannot be resolved.`,
    remedy: () => 'Check the name and the network of this machine.',
  },
  {
    shape: /(?:connect to host|ssh_dispatch|Connection to) [^\n]*Connection refused/,
    code: 'unreachable.host',
    says: (name) => `${name} refuses the connection: no ssh server is listening.`,
    remedy: () => 'Check that sshd is running on that machine, and check its port.',
  },
  {
    shape: /No route to host|Network is unreachable/,
    code: 'unreachable.silent',
    says: (name) => `No route to ${name}.`,
    remedy: () => network,
  },
  {
    shape: /Timeout, server .* not responding/,
    code: 'unreachable.silent',
    says: (name) => `${name} no longer responds.`,
    remedy: () => `The console reconnects automatically. ${network}`,
  },
  {
    shape: /Connection timed out|Operation timed out|Connection to .* timed out|timed out during banner exchange/,
    code: 'unreachable.silent',
    says: (name) => `${name} does not respond.`,
    remedy: () => network,
  },
  {
    shape: /no matching (host key type|key exchange method|cipher|MAC)[^\n]*/i,
    code: 'refused.algorithms',
    says: (name, [, what]) => `${name} and ssh on this machine have no ${(what ?? 'algorithm').toLowerCase()} in common.`,
    remedy: () =>
      'Update the older of the two. If that is not possible, allow its algorithms for this host only, in your ssh configuration.',
  },
  {
    shape: /kex_exchange_identification|Connection closed by|Connection reset by|Broken pipe|closed by remote host/,
    code: 'unreachable.link',
    says: (name) => `${name} closed the connection.`,
    remedy: () => 'If this persists, sshd may be restarting, may have too many logins, or may have banned this address.',
  },
];

/** Messages of ssh about single streams, unrelated to the end of the connection. */
const ofStreams = /^(?:channel \d+: |mux_client|debug\d: |Warning: Permanently added)/;

export function brokenLink(name: string, log: string, ssh = `ssh ${name}`): SshFailure {
  const lines = log.split(/\r?\n/).filter((line) => line.trim() !== '' && !ofStreams.test(line));
  const reported = sshFailure(name, lines.slice(-3).join('\n'), { exitCode: 255, ssh });
  return { ...reported, needsOperator: false };
}

/** Output of a session before its shell was ready, raw. ssh writes banners to stderr, and so does the ssh that connects to a jump host. */
export interface Greeting {
  stdout: string;
  stderr: string;
}

function lastLine(text: string): string {
  const lines = text.trim().split(/[\r\n]+/);
  return cleanLine(lines.at(-1) ?? '').trim();
}

const lastSaid = ({ stdout, stderr }: Greeting) => lastLine(stdout) || lastLine(stderr);
const ended = (sentence: string) => sentence.replace(/\.?$/, '.');

/** Returns an error message for the end of an ssh process. `log` is ssh's own output, raw. */
export function sshFailure(
  name: string,
  log: string,
  { exitCode, before = { stdout: '', stderr: '' }, ssh = `ssh ${name}` }: { exitCode: number | null; before?: Greeting; ssh?: string },
): SshFailure {
  // ssh exits with 255 for its own errors; any other exit code comes from the remote side, and so does all output.
  if (exitCode !== null && exitCode !== 255) return noShell(name, exitCode, before, ssh);
  const words = [log, before.stderr];
  // The last one, a closed connection, is also how ssh itself ends if a jump host refused, whose reason is in the other text.
  for (const shapes of [known.slice(0, -1), known.slice(-1)])
    for (const text of words)
      for (const { shape, code, says, remedy } of shapes) {
        const match = shape.exec(text);
        if (match) return failureOf(new Fault(code, says(name, match), remedy(name, ssh)));
      }
  const lines = words.join('\n').split(/\r?\n/);
  const said = lastLine(lines.findLast((line) => line.trim() !== '' && !/^(?:Warning: Permanently added|debug\d:)/.test(line)) ?? '');
  const message = ended(said ? `The connection to ${name} failed: ${said}` : `The connection to ${name} ended`);
  return failureOf(new Fault('unreachable.link', message, `Check what ssh reports: ${ssh}`));
}

function noShell(name: string, exitCode: number, before: Greeting, ssh: string): SshFailure {
  const said = lastSaid(before);
  // sshd's own words, for a login without prompts: only a keyboard-interactive login can change it.
  if (/^Password change required but no TTY available/.test(said)) {
    const message = `The password of this user on ${name} has expired and must be changed.`;
    return failureOf(new Fault('refused.passwordExpired', message, `Log in once in a terminal and change the password: ${ssh}`));
  }
  const message = ended(`${name} does not start a shell for this user: the login ended with exit code ${exitCode}${said && `: ${said}`}`);
  const remedy =
    'Use an account with a login shell, without a forced command, and without a profile (.bashrc, .profile) that ends the shell.';
  return failureOf(new Fault('refused.shell', message, remedy));
}

const profileRemedy = 'The shell profile (.bashrc, .profile) may be waiting for input. Put prompts and programs after [ -t 0 ] || return.';

export function slowShell(name: string, before: Greeting): Fault {
  const said = lastSaid(before);
  const message = ended(`${name} accepted the login, but its shell does not respond yet${said && `; last output: ${said}`}`);
  const remedy = `If there is still no response, ${profileRemedy.charAt(0).toLowerCase()}${profileRemedy.slice(1)}`;
  return new Fault('unreachable.shell', message, remedy);
}

/** After an accepted login, nothing answers. Not retried automatically: each login would add another hanging process. */
export function silentShell(name: string, before: Greeting): SshFailure {
  const said = lastSaid(before);
  const message = ended(`${name} accepted the login, but its shell does not respond${said && `; last output: ${said}`}`);
  return failureOf(new Fault('refused.shell', message, `${profileRemedy} Then connect again.`));
}
