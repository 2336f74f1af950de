import { Fault, messageOf } from '../faults/fault.ts';
import { authority } from '../text/authority.ts';
import { cleanLine } from '../text/clean.ts';
import type { DialAddress } from './host.ts';

const reasons: Record<string, string> = {
  ENOENT: 'socket not found',
  ECONNREFUSED: 'connection refused, nothing is listening there',
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  ETIMEDOUT: 'connection timed out',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ENOTFOUND: 'host name not found',
  EAI_AGAIN: 'the host name could not be resolved',
  ENOTSOCK: 'the file is not a socket',
  ECONNRESET: 'the connection was reset',
};

export function addressText(address: DialAddress): string {
  if ('socket' in address) return address.socket;
  return authority(address);
}

/**
 * Explains why a socket or a port cannot be reached. The error code of the cause decides the message, unless `says` does.
 * @param host the remote host, if it is not this machine; owner and group are those of a remote socket that we may not use
 */
export function notReached(
  address: DialAddress,
  cause: NodeJS.ErrnoException,
  {
    host,
    says = reasons[cause.code ?? ''] ?? messageOf(cause),
    owner,
    group,
  }: { host?: string; says?: string; owner?: string | undefined; group?: string | undefined } = {},
): Fault {
  const denied = host === undefined ? 'Run Quarterdeck as a user who can use this socket.' : letIn(host, group);
  const whose = owner && group ? ` The socket belongs to user ${owner} and group ${group}.` : '';
  const message = `${cleanLine(addressText(address))}${host === undefined ? '' : ` on ${host}`} cannot be reached: ${says}.${whose}`;
  const remedy =
    cause.code === 'EACCES' ? denied : `Check that the server at this address is running${host === undefined ? '' : ' on the host'}.`;
  return new Fault('socket' in address ? 'unreachable.socket' : 'unreachable.port', message, remedy, { cause });
}

/** Any user with access to an engine's socket is root on that machine, so both methods are equivalent. */
function letIn(host: string, group: string | undefined): string {
  const join =
    group === undefined || group === 'root' || group === 'UNKNOWN'
      ? 'Log in as a user who can use this socket, for example a member of the docker group'
      : `Add the user to the ${group} group (sudo usermod -aG ${group} USER) and connect again`;
  return `${join}, or use sudo: set sudo: true for ${host} in config.yaml.`;
}

export function systemError(code: string, message = reasons[code] ?? code): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code });
}
