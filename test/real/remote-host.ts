import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AnswerSsh } from '../../source/hosts/ssh/askpass-socket.ts';
import { parseDestination } from '../../source/hosts/ssh/destination.ts';
import { openSshHost } from '../../source/hosts/ssh/ssh-host.ts';
import { makeShortFolder } from '../short-folder.ts';
import type { ClientHost, Sshd } from './sshd.ts';

export const askpass = fileURLToPath(new URL('../../bin/askpass', import.meta.url));

export interface RemoteHost {
  host: ReturnType<typeof openSshHost>;
  /** States of its link, one after the other, from the beginning. */
  states: string[];
  /** Resolves when the link is in this state. */
  link(state: string, limitMs?: number): Promise<void>;
  leave(): Promise<void>;
}

/** A host as the product opens it, at the end of a real connection. */
export async function openRemote(
  sshd: Sshd,
  {
    answer = async () => undefined,
    env = {},
    destination = 'far',
    runFolder = 'run',
    shellLimitMs,
    program: own,
    ...client
  }: ClientHost & {
    answer?: AnswerSsh;
    env?: Readonly<Record<string, string>>;
    /** As behind `ssh`; the section of the client's configuration is of this name. */
    destination?: string;
    /** Below a folder of its own. */
    runFolder?: string;
    shellLimitMs?: number;
    /** An ssh client that was made before, in the place of one of its own. */
    program?: string;
  } = {},
): Promise<RemoteHost> {
  const parsed = parseDestination(destination);
  const program = own ?? (await sshd.client({ [parsed.target.replace(/^.*@/, '')]: client })).program;
  const folder = await makeShortFolder('qd-far-');
  const host = openSshHost({
    name: 'far',
    destination: parsed,
    runFolder: join(folder, runFolder),
    askpass,
    ...(shellLimitMs !== undefined && { shellLimitMs }),
    env: { HOME: process.env.HOME, PATH: process.env.PATH, QUARTERDECK_SSH: program, ...env },
    answer,
  });
  const states: string[] = [host.link.view.state];
  const changed = new Set<() => void>();
  host.link.subscribe(() => {
    if (states.at(-1) !== host.link.view.state) states.push(host.link.view.state);
    for (const tell of changed) tell();
  });
  return {
    host,
    states,
    link: (state, limitMs = 15_000) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (host.link.view.state !== state) return;
          clearTimeout(limit);
          changed.delete(look);
          resolve();
        };
        const limit = setTimeout(() => {
          changed.delete(look);
          reject(new Error(`the link was never ${state}: ${states.join(', ')}; ${host.link.view.fault?.message ?? ''}`));
        }, limitMs);
        changed.add(look);
        look();
      }),
    async leave() {
      await host.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
