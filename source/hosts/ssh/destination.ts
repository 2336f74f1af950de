import { Fault } from '../../faults/fault.ts';

/** The target of ssh, as the operator would write it after `ssh`. Missing parts come from ssh's own configuration. */
export interface SshDestination {
  /** `nas`, `op@nas`: as entered, without the port. An alias from ssh's configuration stays an alias. */
  target: string;
  port?: number;
}

// Excludes anything that ssh would read as an option, that its configuration would split, or that could end a line.
const userShape = /^[A-Za-z0-9_][A-Za-z0-9_.+$@-]*$/;
const nameShape = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/;
const addressShape = /^[0-9A-Fa-f]*:[0-9A-Fa-f:.]*(?:%[A-Za-z0-9_.-]+)?$/;

/**
 * Reads `[user@]host`, `[user@]host:port`, `[user@][address]:port` or `ssh://[user@]host[:port]`.
 * @throws Fault `usage.destination` for anything that is not a host name: ssh never receives a value that it could read as an option.
 */
export function parseDestination(text: string): SshDestination {
  const plain = text.replace(/^ssh:\/\//, '').replace(/\/$/, '');
  const at = plain.lastIndexOf('@');
  const user = at < 0 ? undefined : plain.slice(0, at);
  const rest = plain.slice(at + 1);
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/.exec(rest);
  const isBareAddress = !bracketed && rest.split(':').length > 2;
  const [host = '', portText] = bracketed ? bracketed.slice(1) : isBareAddress ? [rest] : rest.split(':');
  if (user !== undefined && !userShape.test(user))
    throw wrong(text, user === '' ? 'the user name before the @ is missing' : 'the user name contains invalid characters');
  if (host === '') throw wrong(text, 'the host is missing');
  if (host.startsWith('-')) throw wrong(text, 'a host name must not begin with a dash');
  if (!nameShape.test(host) && !addressShape.test(host)) throw wrong(text, 'the host name contains invalid characters');
  const port = portText === undefined ? undefined : Number(portText);
  if (port !== undefined && !(Number.isInteger(port) && port >= 1 && port <= 65_535 && /^\d+$/.test(portText ?? '')))
    throw wrong(text, 'the port must be a number from 1 to 65535');
  const target = user === undefined ? host : `${user}@${host}`;
  return port === undefined ? { target } : { target, port };
}

/** Returns the command that connects to it by hand: a host may have another name in the configuration. */
export const sshText = ({ target, port }: SshDestination): string => `ssh ${port === undefined ? '' : `-p ${port} `}${target}`;

function wrong(text: string, reason: string): Fault {
  const remedy = 'Use the form that ssh accepts: nas, op@nas.example.org, op@192.168.1.20:2222, or a Host from your ssh configuration.';
  return new Fault('usage.destination', `${JSON.stringify(text)} is not a valid ssh destination: ${reason}.`, remedy);
}
