import { randomBytes } from 'node:crypto';
import { Fault } from '../../faults/fault.ts';
import { cleanLine } from '../../text/clean.ts';
import type { AnswerSsh } from './ask-socket.ts';
import { pipeFar } from './far-pipes.ts';
import { shellWord } from './shell-words.ts';
import type { SshConnection } from './ssh-connection.ts';
import { relayPrograms } from './sudo-relay-programs.ts';

/** A socket of root as the login user reaches it. */
export interface RelayedSocket {
  /** In a folder that the login user alone may enter. */
  path: string;
  /** Of the socket behind it. */
  device: number;
  inode: number;
}

export interface SudoRelay {
  /** By the path that root knows. */
  sockets: ReadonlyMap<string, RelayedSocket>;
  /** Resolves when it runs no longer. */
  ended: Promise<void>;
}

/** Between two words of the far side; a question to the operator does not count. */
const answerLimitMs = 20_000;
const questionLimitMs = 5 * 60_000;

/** In a shell there: the first of what can do it is run by sudo, which reads the password from its input. */
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
 * Starts the relay of a connection. It ends with its input, and so with the connection, however that ends.
 * @param wanted sockets that may be there
 * @throws Fault `refused.sudo` when sudo does not let this user, `refused.relay` when nothing there could do it
 */
export async function openSudoRelay(
  connection: SshConnection,
  { wanted, answer, signal }: { wanted: readonly string[]; answer: AnswerSsh; signal: AbortSignal },
): Promise<SudoRelay> {
  const token = `qd${randomBytes(12).toString('hex')}`;
  const { name } = connection;
  const closing = new AbortController();
  const stop = () => closing.abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  const running = await pipeFar(connection, closing.signal, ['sh', '-c', startScript(token), 'sh', ...wanted]);
  const ended = running.ended.then(
    () => undefined,
    () => undefined,
  );
  const sockets = new Map<string, RelayedSocket>();
  let folder = '';
  let said = '';
  let limit: NodeJS.Timeout | undefined;
  const patient = () => {
    clearTimeout(limit);
    limit = setTimeout(() => closing.abort(refused(name, 'sudo there does not answer')), answerLimitMs);
  };
  /** True when the relay stands. */
  const hear = async (line: string): Promise<boolean> => {
    if (!line.startsWith(`${token} `)) {
      if (line.trim() !== '') said = line;
      return false;
    }
    const [, word, ...rest] = line.trim().split(' ');
    if (word === 'folder') folder = rest.join(' ');
    if (word === 'socket') {
      const [index = '', device, inode] = rest;
      const there = wanted[Number(index)];
      if (there !== undefined) sockets.set(there, { path: `${folder}/${index}`, device: Number(device), inode: Number(inode) });
    }
    if (word === 'password') {
      clearTimeout(limit);
      const lines = [
        ...(/sorry|incorrect/i.test(said) ? ['That was not the password.'] : []),
        `Password of this user for sudo on ${name}:`,
      ];
      const given = await answer({ kind: 'secret', lines }, AbortSignal.any([closing.signal, AbortSignal.timeout(questionLimitMs)]));
      if (given === undefined) throw refused(name, 'its password was not given');
      running.stdin.write(`${given}\n`);
      patient();
    }
    if (word === 'nosudo') throw refused(name, 'there is no sudo');
    if (word === 'nofolder') throw refused(name, 'this user can make no folder in /tmp there');
    if (word === 'noprogram') throw noProgram(name);
    if (word === 'ended') throw refused(name, reasonOf(said));
    return word === 'ready';
  };

  patient();
  try {
    let held = '';
    running.stdout.setEncoding('utf8');
    for await (const chunk of running.stdout.iterator({ destroyOnReturn: false })) {
      held += String(chunk);
      const lines = held.split('\n');
      held = lines.pop() ?? '';
      for (const line of lines) {
        if (!(await hear(line))) continue;
        running.stdout.resume();
        signal.removeEventListener('abort', stop);
        return { sockets, ended };
      }
    }
    closing.signal.throwIfAborted();
    throw refused(name, reasonOf(said));
  } catch (thrown) {
    signal.removeEventListener('abort', stop);
    running.stdin.end();
    closing.abort(thrown);
    throw closing.signal.reason;
  } finally {
    clearTimeout(limit);
  }
}

function reasonOf(said: string): string {
  if (/not in the sudoers|not allowed to|may not run/i.test(said)) return 'this user may not use it there';
  if (/incorrect password|sorry/i.test(said)) return 'the password was wrong';
  if (/must have a tty|terminal is required/i.test(said)) return 'it wants a terminal there (Defaults !requiretty allows it without)';
  return cleanLine(said).trim() || 'it ended without a word';
}

function refused(name: string, reason: string): Fault {
  return new Fault({
    code: 'refused.sudo',
    message: `The engine of ${name} is reached through sudo, and that failed: ${reason}.`,
    remedy: 'See what sudo -l says there, or let the user use the socket itself (group docker) and take sudo: true away.',
  });
}

function noProgram(name: string): Fault {
  return new Fault({
    code: 'refused.relay',
    message: `${name} has nothing that could lead to a socket of root: neither perl, nor python3, nor socat.`,
    remedy: 'Install one of them there, or let the user use the socket itself (group docker).',
  });
}
