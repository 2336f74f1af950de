import { hostname, userInfo } from 'node:os';
import { unlessThrown } from '../text/unless-thrown.ts';

/** The user of this terminal, as far as the system reports it. */
export interface Identity {
  user: string;
  /** The user who became `user` with sudo. */
  sudoUser?: string;
  from?: string;
  machine: string;
}

export function identityOf(env: Readonly<Record<string, string | undefined>> = process.env): Identity {
  const from = env.SSH_CONNECTION?.split(' ', 1)[0];
  return { user: userName(), ...(env.SUDO_USER && { sudoUser: env.SUDO_USER }), ...(from && { from }), machine: hostname() };
}

/** `ada@desk`; behind sudo `ada@desk`, not `root@desk`. */
export const whoText = ({ user, sudoUser, machine }: Identity): string => `${sudoUser ?? user}@${machine}`;

function userName(): string {
  // The user id may have no entry in the user database, as in containers.
  return unlessThrown(() => userInfo().username, `uid ${process.getuid?.() ?? '?'}`);
}
