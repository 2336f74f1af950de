import { Fault } from '../../faults/fault.ts';
import { limited } from '../../faults/waits.ts';
import type { Host, HostFacts } from '../host.ts';
import { underGrant } from '../program.ts';
import { type AnswerSsh, openAskpassSocket } from './askpass-socket.ts';
import type { SshDestination } from './destination.ts';
import { createSocketFolder } from './private-folder.ts';
import { ReconnectingLink } from './reconnecting-link.ts';
import { RemoteDial } from './remote-dial.ts';
import { RemoteListeners, remoteFacts } from './remote-facts.ts';
import { type RemoteShell, remoteFiles } from './remote-files.ts';
import { pipeRemote } from './remote-pipes.ts';
import { execRemote } from './remote-programs.ts';
import { readSshSettings, SshConnection } from './ssh-connection.ts';
import { measureLimits, type SshLimits } from './ssh-limits.ts';
import { withSudo } from './sudo-relay.ts';

export interface SshHostOptions {
  name: string;
  destination: SshDestination;
  /** Folder for sockets of running processes: `run` of our own paths. */
  runFolder: string;
  /** `bin/askpass`. */
  askpass: string;
  env: Readonly<Record<string, string | undefined>>;
  answer: AnswerSsh;
  /** Sockets of remote engines are reached through sudo. */
  sudo?: boolean;
  /** Time limit for a shell to answer after the login; for tests. */
  shellLimitMs?: number;
}

export interface SshHost extends Host {
  readonly link: ReconnectingLink;
  limits(signal: AbortSignal): Promise<SshLimits>;
  /** From the next login on, the first connections to this socket are opened in advance. */
  expect(address: { socket: string }): void;
  /** Called before engines are looked for: prepares access to their sockets, where needed. Throws `refused.sudo`, `refused.relay`. */
  openSockets(signal: AbortSignal): Promise<void>;
}

/** A prompt without an answer does not hold a connection forever. */
const questionLimitMs = 5 * 60_000;
const factsLimitMs = 15_000;

/** One askpass socket per process, for all hosts. */
const socketFolders = new Map<string, Promise<string>>();
let connections = 0;

async function socketFolderIn(runFolder: string): Promise<string> {
  const made = socketFolders.get(runFolder) ?? createSocketFolder(runFolder);
  socketFolders.set(runFolder, made);
  made.catch(() => socketFolders.delete(runFolder));
  return made;
}

/** A machine over OpenSSH. Connects on first use; `link` reports the state of the connection. */
export function openSshHost(options: SshHostOptions): SshHost {
  const { name, destination, env, answer, shellLimitMs } = options;
  const asking = { count: 0 };
  /** Ends the attempt that prompts: ssh itself would continue with an empty answer, and that would count as a failed login. */
  let declined = new AbortController();
  const asked: AnswerSsh = async (question, signal) => {
    asking.count += 1;
    connector.asking(true);
    try {
      const given = await answer(question, AbortSignal.any([signal, AbortSignal.timeout(questionLimitMs)]));
      if (given === undefined && !signal.aborted && question.kind !== 'touch') throw unanswered(name);
      return given;
    } catch (thrown) {
      declined.abort(thrown);
      throw thrown;
    } finally {
      asking.count -= 1;
      connector.asking(asking.count > 0);
    }
  };
  const connector: ReconnectingLink = new ReconnectingLink(async (signal) => {
    const program = env['QUARTERDECK_SSH'] || 'ssh';
    const [folder, settings] = await Promise.all([
      socketFolderIn(options.runFolder),
      readSshSettings({ program, destination, env }, signal),
    ]);
    // Incremented before the next await, during which another host may use the following number.
    connections += 1;
    const prefix = `${connections.toString(36)}-`;
    declined = new AbortController();
    const socket = await openAskpassSocket(folder, options.askpass, asked);
    try {
      const connection = await SshConnection.open(
        {
          name,
          destination,
          folder,
          prefix,
          program,
          settings,
          env: { ...env, ...socket.env, QUARTERDECK_NODE: process.execPath },
          onRoundTrip: (ms) => connector.roundTrip(ms),
          onOpening,
          onSlowShell: (fault) => connector.slow(fault),
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
  const shell: RemoteShell = {
    host: name,
    ask: async (script, options) => (await connector.connection(options.signal)).control(script, options),
    exec: async (argv, options) => execRemote(await connector.connection(options.signal), argv, options),
    run: async (grant, argv, options) => {
      const connection = await connector.connection(grant.signal);
      return underGrant(grant, options, (both) => execRemote(connection, argv, both));
    },
  };
  const listeners = new RemoteListeners(shell);
  const remote = new RemoteDial(name, shell);
  let expected: { socket: string } | undefined;
  const onOpening = (connection: SshConnection) => {
    void readFacts(connection).catch(ignore);
    const address = expected;
    if (address) void connection.loggedIn().then(() => remote.prepare(connection, address), ignore);
  };
  let facts: Promise<HostFacts> | undefined;
  let factsOf: SshConnection | undefined;
  // Facts that may change are few: they are read again with each connection, and callers that need current values run a program.
  const readFacts = (connection: SshConnection): Promise<HostFacts> => {
    if (facts && factsOf === connection) return facts;
    const reading = remoteFacts(connection, new AbortController().signal);
    facts = reading;
    factsOf = connection;
    reading.catch(() => {
      if (facts === reading) facts = undefined;
    });
    return reading;
  };

  const host: SshHost = {
    name,
    kind: 'ssh',
    link: connector,
    files: remoteFiles(shell),
    exec: shell.exec,
    run: shell.run,
    stream: async (argv, { signal, ...options }) => pipeRemote(await connector.connection(signal), signal, argv, options),
    pipe: async (grant, argv, options) => pipeRemote(await connector.connection(grant.signal), grant.signal, argv, options),
    dial: async (address, signal, how) => remote.dial(await connector.connection(signal), address, signal, how),
    async facts(signal) {
      const connection = await connector.connection(signal);
      return limited(signal, factsLimitMs, () => readFacts(connection));
    },
    expect: (address) => {
      expected = options.sudo ? undefined : address;
    },
    listeners: (signal) => listeners.read(signal),
    limits: async (signal) => measureLimits(await connector.connection(signal), signal),
    openSockets: async () => {},
    close: async () => {
      remote.close();
      connector.close();
    },
  };
  return options.sudo ? withSudo(host, { connection: (signal) => connector.connection(signal), answer }) : host;
}

const ignore = () => undefined;

function unanswered(name: string): Fault {
  const message = `ssh prompted before connecting to ${name}, but was not answered in time.`;
  return new Fault('refused.login', message, `Connect again when you have the answer: quarterdeck hosts check ${name}`);
}
