import { Fault } from '../../faults/fault.ts';
import { limited } from '../../faults/waits.ts';
import type { Host, HostFacts } from '../host.ts';
import { type AnswerSsh, openAskSocket } from './ask-socket.ts';
import type { SshDestination } from './destination.ts';
import { FarDial } from './far-dial.ts';
import { FarListeners, farFacts } from './far-facts.ts';
import { type FarShell, farFiles } from './far-files.ts';
import { pipeFar } from './far-pipes.ts';
import { execFar, runFar } from './far-programs.ts';
import { LinkKeeper } from './link-keeper.ts';
import { makeSocketFolder } from './private-folder.ts';
import { SshConnection } from './ssh-connection.ts';
import { measureLimits, type SshLimits } from './ssh-limits.ts';
import { withSudo } from './sudo-host.ts';

export interface SshHostOptions {
  /** What the operator calls it. */
  name: string;
  destination: SshDestination;
  /** Of sockets of running processes: `run` of the own paths. */
  runFolder: string;
  /** `bin/askpass`. */
  askProgram: string;
  env: Readonly<Record<string, string | undefined>>;
  answer: AnswerSsh;
  /** Sockets of engines there are reached through sudo. */
  sudo?: boolean;
  /** Until a shell has to answer behind the login; for tests. */
  shellLimitMs?: number;
}

export interface SshHost extends Host {
  readonly link: LinkKeeper;
  /** What its sshd allows, tried out. */
  limits(signal: AbortSignal): Promise<SshLimits>;
  /** Before engines are looked for: makes the way to their sockets, where there has to be made one. Throws `refused.sudo`, `refused.relay`. */
  openSockets(signal: AbortSignal): Promise<void>;
}

/** A question that nobody answers does not hold a connection for ever. */
const questionLimitMs = 5 * 60_000;
const factsLimitMs = 15_000;

/** One of this process, for all hosts. */
const socketFolders = new Map<string, Promise<string>>();
let connections = 0;

async function socketFolderIn(runFolder: string): Promise<string> {
  const made = socketFolders.get(runFolder) ?? makeSocketFolder(runFolder);
  socketFolders.set(runFolder, made);
  made.catch(() => socketFolders.delete(runFolder));
  return made;
}

/** A machine over OpenSSH. Connects when first asked for something; `link` says how the way to it is. */
export function openSshHost({
  name,
  destination,
  runFolder,
  askProgram,
  env,
  answer,
  sudo = false,
  shellLimitMs,
}: SshHostOptions): SshHost {
  const asking = { count: 0 };
  /** Ends the attempt that asks: ssh itself would go on with an empty answer, and be counted as a failed login. */
  let declined = new AbortController();
  const asked: AnswerSsh = async (question, signal) => {
    asking.count += 1;
    keeper.asking(true);
    try {
      const given = await answer(question, AbortSignal.any([signal, AbortSignal.timeout(questionLimitMs)]));
      if (given === undefined && !signal.aborted && question.kind !== 'touch') throw unanswered(name);
      return given;
    } catch (thrown) {
      declined.abort(thrown);
      throw thrown;
    } finally {
      asking.count -= 1;
      keeper.asking(asking.count > 0);
    }
  };
  const keeper: LinkKeeper = new LinkKeeper(async (signal) => {
    const folder = await socketFolderIn(runFolder);
    // Taken before the next wait, during which another host may take the one after it.
    connections += 1;
    const prefix = `${connections.toString(36)}-`;
    declined = new AbortController();
    const socket = await openAskSocket(folder, askProgram, asked);
    try {
      const connection = await SshConnection.open(
        {
          name,
          destination,
          folder,
          prefix,
          program: env['QUARTERDECK_SSH'] || 'ssh',
          env: { ...env, ...socket.env, QUARTERDECK_NODE: process.execPath },
          onRoundTrip: (ms) => keeper.roundTrip(ms),
          onSlowShell: (fault) => keeper.slow(fault),
          ...(shellLimitMs !== undefined && { shellLimitMs }),
        },
        AbortSignal.any([signal, declined.signal]),
      );
      void connection.ended.then(() => socket.close());
      return connection;
    } catch (thrown) {
      socket.close();
      throw thrown;
    }
  });
  const shell: FarShell = {
    host: name,
    ask: async (script, options) => (await keeper.connection(options.signal)).control(script, options),
    exec: async (argv, options) => execFar(await keeper.connection(options.signal), argv, options),
    run: async (grant, argv, options) => runFar(await keeper.connection(grant.signal), grant, argv, options),
  };
  const listeners = new FarListeners(shell);
  const far = new FarDial(name, shell);
  let facts: Promise<HostFacts> | undefined;
  let factsOf: SshConnection | undefined;

  const host: SshHost = {
    name,
    kind: 'ssh',
    link: keeper,
    files: farFiles(shell),
    exec: shell.exec,
    run: shell.run,
    stream: async (argv, { signal, ...options }) => pipeFar(await keeper.connection(signal), signal, argv, options),
    pipe: async (grant, argv, options) => pipeFar(await keeper.connection(grant.signal), grant.signal, argv, options),
    dial: async (address, signal, how) => far.dial(await keeper.connection(signal), address, signal, how),
    async facts(signal) {
      // What may change is small: it is asked anew with each connection, and whoever wants it fresh asks a program.
      const connection = await keeper.connection(signal);
      if (connection !== factsOf) facts = undefined;
      factsOf = connection;
      facts ??= farFacts(shell, new AbortController().signal);
      const asked = facts;
      asked.catch(() => {
        if (facts === asked) facts = undefined;
      });
      return limited(signal, factsLimitMs, () => asked);
    },
    listeners: (signal) => listeners.read(signal),
    limits: async (signal) => measureLimits(await keeper.connection(signal), signal),
    openSockets: async () => {},
    close: async () => {
      far.close();
      keeper.close();
    },
  };
  return sudo ? withSudo(host, { connection: (signal) => keeper.connection(signal), answer }) : host;
}

function unanswered(name: string): Fault {
  return new Fault({
    code: 'refused.login',
    message: `ssh asked something before it connected to ${name}, and got no answer in time.`,
    remedy: `Connect again when you have the answer: quarterdeck hosts check ${name}`,
  });
}
