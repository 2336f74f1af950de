import { randomBytes } from 'node:crypto';
import { Fault } from '../../faults/fault.ts';
import { endingWith } from '../../faults/waits.ts';
import { cleanLine } from '../../text/clean.ts';
import type { AnswerSsh } from './askpass-socket.ts';
import { pipeRemote } from './remote-pipes.ts';
import { shellWord } from './shell-words.ts';
import type { SshConnection } from './ssh-connection.ts';
import type { SshHost } from './ssh-host.ts';
import { relayPrograms } from './sudo-relay-programs.ts';

/** Socket paths of root's engines; the path set in the environment there comes first. */
const rootSockets = ['/var/run/docker.sock', '/run/podman/podman.sock'];

/**
 * A host whose engines listen on sockets that the login user may not use: they are reached through a relay started by sudo, one for each
 * connection. Everything else, files and programs, is done as the login user.
 */
export function withSudo(
  host: SshHost,
  { connection, answer }: { connection: (signal: AbortSignal) => Promise<SshConnection>; answer: AnswerSsh },
): SshHost {
  let relayOf: SshConnection | undefined;
  let relay: Promise<SudoRelay | undefined> | undefined;
  let active: SudoRelay | undefined;

  async function open(signal: AbortSignal): Promise<SudoRelay | undefined> {
    const now = await connection(signal);
    if (relayOf !== now) {
      relayOf = now;
      relay = undefined;
      active = undefined;
    }
    // A refusal is not retried on this connection: sudo reports each attempt to the administrator.
    relay ??= start(now);
    const opened = await relay;
    active = opened;
    return opened;
  }

  async function start(now: SshConnection): Promise<SudoRelay | undefined> {
    const closing = new AbortController();
    void now.ended.then(() => closing.abort(new DOMException('the connection ended', 'AbortError')));
    const { signal } = closing;
    const { uid, env } = await host.facts(signal);
    if (uid === 0) return undefined;
    const named = [env['DOCKER_HOST'], env['CONTAINER_HOST']].flatMap((url) => /^unix:\/\/(\/.*)$/.exec(url ?? '')?.[1] ?? []);
    const opened = await openSudoRelay(now, { wanted: [...new Set([...named, ...rootSockets])], answer, signal });
    void opened.ended.then(() => {
      if (relayOf === now) relay = undefined;
      if (active === opened) active = undefined;
    });
    return opened;
  }

  return {
    ...host,
    sudo: true,
    openSockets: async (signal) => {
      await open(signal);
    },
    files: {
      ...host.files,
      async facts(path, signal) {
        const relayed = active?.sockets.get(path);
        if (!relayed) return host.files.facts(path, signal);
        const { device, inode } = relayed;
        return { kind: 'socket', sizeBytes: 0, modifiedMs: 0, device, inode };
      },
    },
    async dial(address, signal, how) {
      if (!('socket' in address)) return host.dial(address, signal, how);
      const opened = await open(signal);
      const relayed = opened?.sockets.get(address.socket);
      return host.dial(relayed ? { socket: relayed.path } : address, signal, how);
    },
  };
}

interface RelayedSocket {
  /** Path in a folder that only the login user may enter. */
  path: string;
  device: number;
  inode: number;
}

interface SudoRelay {
  /** Keyed by the path that root uses. */
  sockets: ReadonlyMap<string, RelayedSocket>;
  ended: Promise<unknown>;
}

/** Time limit between two lines from the remote side; time spent in a prompt to the operator does not count. */
const answerLimitMs = 20_000;
const questionLimitMs = 5 * 60_000;

/** Runs in a shell there: sudo runs the first available program, and reads the password from its input. */
function startScript(token: string): string {
  const choices = Object.entries(relayPrograms).map(
    ([program, argv], index) =>
      `${index === 0 ? 'if' : 'elif'} command -v ${program} >/dev/null 2>&1; then set -- ${argv.map(shellWord).join(' ')} ${token} "$d" "$(id -u)" "$@"`,
  );
  return `command -v sudo >/dev/null 2>&1 || { echo '${token} nosudo'; exit 1; }
d=$(mktemp -d /tmp/quarterdeck-XXXXXX) || { echo '${token} nofolder'; exit 1; }
trap 'rm -rf "$d"' EXIT; trap 'exit 1' HUP TERM INT
echo "${token} folder $d"
${choices.join('\n')}
else echo '${token} noprogram'; exit 1; fi
LC_ALL=C sudo -S -p '
${token} password
' -- "$@" 2>&1
echo "${token} ended $?"`;
}

/**
 * Starts the relay of a connection. It ends when its input closes, and so with the connection, however that ends.
 * @param wanted sockets that may exist there
 * @throws Fault `refused.sudo` when sudo refuses this user, `refused.relay` when no program there can run the relay
 */
async function openSudoRelay(
  connection: SshConnection,
  { wanted, answer, signal }: { wanted: readonly string[]; answer: AnswerSsh; signal: AbortSignal },
): Promise<SudoRelay> {
  const token = `qd${randomBytes(12).toString('hex')}`;
  const { name } = connection;
  using closing = endingWith(signal);
  const running = await pipeRemote(connection, closing.signal, ['sh', '-c', startScript(token), 'sh', ...wanted]);
  const ended = running.ended.catch(() => undefined);
  const sockets = new Map<string, RelayedSocket>();
  let folder = '';
  let said = '';
  let limit: NodeJS.Timeout | undefined;
  const startLimit = () => {
    clearTimeout(limit);
    limit = setTimeout(() => closing.abort(refused(name, 'sudo does not respond')), answerLimitMs);
  };
  const addSocket = ([index = '', device, inode]: readonly string[]) => {
    const path = wanted[Number(index)];
    if (path !== undefined) sockets.set(path, { path: `${folder}/${index}`, device: Number(device), inode: Number(inode) });
  };
  const sendPassword = async () => {
    clearTimeout(limit);
    const again = /sorry|incorrect/i.test(said) ? ['Wrong password.'] : [];
    const lines = [...again, `Password of this user for sudo on ${name}:`];
    const password = await answer({ kind: 'secret', lines }, AbortSignal.any([closing.signal, AbortSignal.timeout(questionLimitMs)]));
    if (password === undefined) throw refused(name, 'no password was entered');
    running.stdin.write(`${password}\n`);
    startLimit();
  };
  /** Returns true when the relay is ready. */
  const receive = async (line: string): Promise<boolean> => {
    if (!line.startsWith(`${token} `)) {
      if (line.trim() !== '') said = line;
      return false;
    }
    const [, word, ...rest] = line.trim().split(' ');
    if (word === 'folder') folder = rest.join(' ');
    if (word === 'socket') addSocket(rest);
    if (word === 'password') await sendPassword();
    if (word === 'noprogram') throw noProgram(name);
    if (word === 'ended') throw refused(name, reasonOf(said));
    const refusal = refusals[word ?? ''];
    if (refusal !== undefined) throw refused(name, refusal);
    return word === 'ready';
  };

  startLimit();
  try {
    let held = '';
    running.stdout.setEncoding('utf8');
    for await (const chunk of running.stdout.iterator({ destroyOnReturn: false })) {
      held += String(chunk);
      const lines = held.split('\n');
      held = lines.pop() ?? '';
      for (const line of lines) {
        if (!(await receive(line))) continue;
        running.stdout.resume();
        return { sockets, ended };
      }
    }
    closing.signal.throwIfAborted();
    throw refused(name, reasonOf(said));
  } catch (thrown) {
    running.stdin.end();
    closing.abort(thrown);
    throw closing.signal.reason;
  } finally {
    clearTimeout(limit);
  }
}

const refusals: Readonly<Record<string, string>> = {
  nosudo: 'sudo is not installed',
  nofolder: 'this user cannot create a folder in /tmp',
};

function reasonOf(said: string): string {
  if (/not in the sudoers|not allowed to|may not run/i.test(said)) return 'this user is not allowed to use sudo';
  if (/incorrect password|sorry/i.test(said)) return 'the password was wrong';
  if (/must have a tty|terminal is required/i.test(said)) return 'sudo requires a terminal (Defaults !requiretty disables this)';
  return cleanLine(said).trim() || 'sudo exited without a message';
}

function refused(name: string, reason: string): Fault {
  const remedy = 'Check the output of sudo -l on the host, or give the user access to the socket (docker group) and remove sudo: true.';
  return new Fault('refused.sudo', `Cannot reach the engine of ${name} through sudo: ${reason}.`, remedy);
}

function noProgram(name: string): Fault {
  const message = `${name} has none of the programs that can forward a socket owned by root: perl, python3, socat.`;
  return new Fault('refused.relay', message, 'Install one of them on the host, or give the user access to the socket (docker group).');
}
