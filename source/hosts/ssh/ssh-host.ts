import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { Fault } from '../../faults/fault.ts';
import { limited } from '../../faults/waits.ts';
import type { DialAddress, Host, HostFacts } from '../host.ts';
import { PacedConnection } from '../paced-connection.ts';
import { type AnswerSsh, openAskSocket } from './ask-socket.ts';
import type { SshDestination } from './destination.ts';
import { FarListeners, farFacts } from './far-facts.ts';
import { type FarShell, farFiles } from './far-files.ts';
import { execFar, pipeFar, runFar } from './far-programs.ts';
import { LinkKeeper } from './link-keeper.ts';
import { makeSocketFolder } from './private-folder.ts';
import { shellWord } from './shell-words.ts';
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
const lookLimitMs = 15_000;
/** An address there that answered is not looked at again for a while. */
const lookedMs = 5_000;

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
export function openSshHost({ name, destination, runFolder, askProgram, env, answer, sudo = false }: SshHostOptions): SshHost {
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
    connections += 1;
    declined = new AbortController();
    const socket = await openAskSocket(folder, askProgram, asked);
    try {
      const connection = await SshConnection.open(
        {
          name,
          destination,
          folder,
          prefix: `${connections.toString(36)}-`,
          program: env['QUARTERDECK_SSH'] || 'ssh',
          env: { ...env, ...socket.env, QUARTERDECK_NODE: process.execPath },
          onRoundTrip: (ms) => keeper.roundTrip(ms),
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
    ask: async (script, options) => (await keeper.connection(options.signal)).control(script, options),
    exec: async (argv, options) => execFar(await keeper.connection(options.signal), argv, options),
    run: async (grant, argv, options) => runFar(await keeper.connection(grant.signal), grant, argv, options),
  };
  const listeners = new FarListeners(shell);
  const looked = new Map<string, number>();
  let facts: Promise<HostFacts> | undefined;
  let factsOf: SshConnection | undefined;

  const host: SshHost = {
    name,
    kind: 'ssh',
    link: keeper,
    files: farFiles(shell),
    exec: shell.exec,
    run: shell.run,
    pipe: async (grant, argv, options) => pipeFar(await keeper.connection(grant.signal), grant.signal, argv, options),
    async dial(address, signal, { paced = false } = {}) {
      const connection = await keeper.connection(signal);
      const key = JSON.stringify(address);
      if (Date.now() - (looked.get(key) ?? 0) > lookedMs) {
        await look(shell, name, address, signal);
        looked.set(key, Date.now());
      }
      try {
        const path = await connection.openForward(address, signal);
        return await dialHere(path, name, address, signal, paced);
      } catch (thrown) {
        looked.delete(key);
        throw thrown;
      }
    },
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
      return limited(signal, lookLimitMs, () => asked);
    },
    listeners: (signal) => listeners.read(signal),
    limits: async (signal) => measureLimits(await keeper.connection(signal), signal),
    openSockets: async () => {},
    close: async () => keeper.close(),
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

/** ssh connects blindly: whether something listens there is asked beforehand, so that a refusal is told as one. */
async function look(shell: FarShell, name: string, address: DialAddress, signal: AbortSignal): Promise<void> {
  const script = 'socket' in address ? lookAtSocket(address.socket) : lookAtPort(address.host, address.port);
  const { ending } = await shell.ask((number) => `${script}\nqd_end ${number} "$?"`, { signal, limitMs: lookLimitMs });
  const reason = reasons[Number(ending)];
  if (reason) throw notReached(name, address, reason);
}

const reasons: Record<number, { code: string; says: string }> = {
  81: { code: 'ENOENT', says: 'there is no such socket' },
  82: { code: 'ENOTSOCK', says: 'that file is no socket' },
  83: { code: 'EACCES', says: 'permission denied' },
  84: { code: 'ECONNREFUSED', says: 'the connection was refused: nothing listens there' },
};

function lookAtSocket(path: string): string {
  const word = shellWord(path);
  return `( if ! [ -e ${word} ]; then case $(LC_ALL=C ls -d -- ${word} 2>&1) in *[Pp]ermission*) exit 83 ;; *) exit 81 ;; esac; fi
[ -S ${word} ] || exit 82
[ -w ${word} ] || exit 83; exit 0 )`;
}

/** Only for addresses of the machine itself, where the kernel's table can be read. */
function lookAtPort(host: string, port: number): string {
  const isOwn = /^(?:127\.|localhost$|::1$|0\.0\.0\.0$|::$)/.test(host);
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  return isOwn
    ? `( [ -r /proc/net/tcp ] || exit 0; cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -q ":${hex} [0-9A-F]*:0000 0A " || exit 84 )`
    : ':';
}

function dialHere(path: string, name: string, address: DialAddress, signal: AbortSignal, paced: boolean): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const pacing = paced ? new PacedConnection() : undefined;
    const socket = connect({ path, ...(pacing && { onread: pacing.onread }) });
    const stop = () => {
      socket.destroy();
      reject(signal.reason);
    };
    const fail = (cause: NodeJS.ErrnoException) => {
      signal.removeEventListener('abort', stop);
      reject(notReached(name, address, { code: cause.code ?? 'ECONNRESET', says: 'the connection to the host broke' }, cause));
    };
    signal.addEventListener('abort', stop, { once: true });
    socket.once('error', fail);
    socket.once('connect', () => {
      signal.removeEventListener('abort', stop);
      socket.off('error', fail);
      resolve(pacing?.over(socket) ?? socket);
    });
  });
}

function notReached(name: string, address: DialAddress, { code, says }: { code: string; says: string }, cause?: Error): Fault {
  const where = 'socket' in address ? address.socket : `${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`;
  return new Fault({
    code: 'socket' in address ? 'unreachable.socket' : 'unreachable.port',
    message: `${where} on ${name} cannot be reached: ${says}.`,
    remedy:
      code === 'EACCES'
        ? 'Log in as a user who may use this socket, for example one of the group docker.'
        : 'Check that the program behind it runs there.',
    cause: cause ?? Object.assign(new Error(says), { code }),
  });
}
