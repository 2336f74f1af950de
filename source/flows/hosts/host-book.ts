import type { HostSettings } from '../../config/settings.ts';
import type { EngineFacts } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import type { Host, HostLink } from '../../hosts/host.ts';
import type { SshLimits } from '../../hosts/ssh/ssh-limits.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { chooseOne } from '../delete-one.ts';
import type { FlowContext, FlowInput } from '../flow.ts';

/** A host over SSH that is listed, or about to be. */
export interface RemoteHost extends Host {
  readonly link: HostLink;
  limits(signal: AbortSignal): Promise<SshLimits>;
  /** Called before engines are searched. */
  openSockets(signal: AbortSignal): Promise<void>;
}

export interface RemoteEngine {
  engineName: string;
  url: string;
  facts?: EngineFacts;
  fault?: Fault;
}

/** The operator's hosts over SSH, for flows that manage them. */
export interface HostBook {
  /** Path of the file that lists them: `config.yaml`. */
  readonly file: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** `ssh`, or the program that QUARTERDECK_SSH names. */
  readonly program: string;
  /** Reads the hosts that the file lists now. */
  list(): Promise<Readonly<Record<string, HostSettings>>>;
  /** Returns the path of its stack, as written in the file. */
  stackFolderOf(settings: HostSettings): string;
  /** The open connection of this process, or a new one, closed with it. Throws `refused.readOnly` if no other host may be reached. */
  open(name: string, settings: HostSettings): Promise<RemoteHost>;
  /** Searches for its engines and queries each. */
  engines(name: string, host: RemoteHost, signal: AbortSignal): Promise<readonly RemoteEngine[]>;
  /** Called after a host was added to the file or removed from it. Resolves when the console shows the change. */
  changed(): Promise<void>;
  /** Forgets all remembered data about a host whose name is no longer used. */
  forget(name: string): Promise<void>;
}

/** @throws Fault `refused.practice` on the practice stack, which is one machine */
export function bookOf(context: FlowContext): HostBook {
  if (context.hosts) return context.hosts;
  throw new Fault('refused.practice', 'The practice stack has no other hosts.', 'Run the command without --practice.');
}

/** Throws `usage.host`. */
export async function chooseHost(session: Session, input: FlowInput, hosts: Readonly<Record<string, HostSettings>>) {
  const [word, more] = input.words;
  if (more !== undefined) throw unexpectedArgument(more, 'Pass one host at a time.');
  const names = Object.keys(hosts);
  if (word === undefined && names.length > 0 && !session.attended)
    throw new Fault('usage.host', 'A host name is required.', `Hosts: ${names.join(', ')}.`);
  return chooseOne(session, Object.entries(hosts), {
    ...{ noun: 'host', idOf: ([name]) => name, detailOf: ([, { ssh }]) => cleanLine(ssh) },
    ...{ word, step: 'host', code: 'usage.host', whenNone: 'Add a host: quarterdeck hosts add NAME [user@]host' },
  });
}

export function unexpectedArgument(word: string, remedy: string): Fault {
  return new Fault('usage.words', `Unexpected argument "${cleanLine(word)}".`, remedy);
}
