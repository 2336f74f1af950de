import { randomBytes } from 'node:crypto';
import { addAbortListener } from 'node:events';
import { Fault } from '../../faults/fault.ts';
import type { ExecOutcome } from '../host.ts';
import { Output } from '../program-output.ts';
import { printable } from './shell-words.ts';
import type { KeptProgram } from './ssh-command.ts';

/**
 * The command that sshd runs. Each line is one script, read as a whole: a shell that reads its script from stdin may swallow a program's
 * input. Nothing in it has a meaning to a login shell that is not POSIX.
 */
export const sessionCommand = `exec sh -c 'while IFS= read -r q; do eval "$(printf %b "$q")"; done'`;

/** Distinguishes our output from that of a chatty profile. */
const prelude = (token: string) => `qd_t=${token}
PATH=$PATH:/usr/local/bin:/usr/local/sbin:/usr/sbin:/sbin
qd_mark() { printf '\\n%s %s %s %s\\n' "$qd_t" "$1" "$2" "$3"; }
qd_end() { qd_mark "$1" end "$2"; qd_mark "$1" end "$2" >&2; }
if stat -c %f / >/dev/null 2>&1; then qd_stat() { LC_ALL=C stat -L -c '%f %s %Y %d %i' -- "$1"; }
else qd_stat() { LC_ALL=C stat -L -f '%Xp %z %m %d %i' -- "$1"; }; fi
qd_group=
if command -v setsid >/dev/null 2>&1; then qd_group=setsid; fi
case $(command -v printf) in printf) qd_end 0 "ready:$qd_group" ;; *) qd_end 0 unfit ;; esac
:`;

/** Limit for the output of a profile, which may be megabytes. */
const keptBytes = 4 * 1024;

export interface SessionAnswer extends Omit<ExecOutcome, 'exitCode'> {
  /** A program's exit code; a text if it did not start. */
  ending: string;
}

interface Asked {
  number: number;
  stdout: Output;
  stderr: Output;
  ended: { stdout?: string; stderr?: string };
  onPid: ((pid: number) => void) | undefined;
  resolve: (answer: SessionAnswer) => void;
  reject: (cause: unknown) => void;
}

/**
 * A long-lived remote `sh` that runs one script after the other: a command costs one round trip. Scripts go over its stdin, never through
 * an argument of a program; `printf` is a shell built-in everywhere this is used (checked).
 */
export class ShellSession {
  readonly #token = randomBytes(16).toString('hex');
  #number = 0;
  readonly #asked: Asked[] = [];
  readonly #unsent: string[] = [];
  #closed: unknown;
  isClosed = false;
  readonly #before = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  /** True if the remote side has `setsid`: a command can be ended with everything it started. */
  hasGroups = false;
  /** Never rejects; resolves when nothing more can be run. */
  readonly gone: Promise<void>;

  /** @param kept runs `sessionCommand`; until the shell is ready, its stderr may carry messages of ssh itself */
  constructor(
    private readonly kept: KeptProgram,
    private readonly host: string,
  ) {
    const { child } = kept;
    for (const name of ['stdout', 'stderr'] as const) {
      const marked = new MarkedOutput(this.#token, {
        onText: (text) => this.#takeText(name, text),
        onMark: ({ number, word, value }) => this.#receiveMark(name, number, word, value),
      });
      child[name].on('data', (chunk: Buffer) => marked.push(chunk));
    }
    child.stdin.on('error', () => undefined);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.gone = promise;
    const end = (cause?: unknown) => {
      this.isClosed = true;
      this.#closed ??= cause;
      for (const asked of this.#asked.splice(0)) asked.reject(this.#lost());
      resolve();
    };
    child.once('error', end);
    child.once('close', () => end());
  }

  /**
   * Waits until the shell is ready.
   * @throws Fault `unreachable.shell` with the remote side's message
   */
  async open(signal: AbortSignal): Promise<void> {
    const answer = this.#ask(0, prelude(this.#token), 4 * 1024);
    using _stop = addAbortListener(signal, () => this.close());
    const { ending } = await answer.catch((cause: unknown) => {
      signal.throwIfAborted();
      throw cause;
    });
    if (ending === 'unfit') {
      this.close();
      const message = 'The remote sh has no built-in printf, so secrets passed to programs would be visible to other users.';
      throw new Fault('unreachable.shell', message, 'Install dash, bash or busybox as /bin/sh on the host.');
    }
    this.hasGroups = ending === 'ready:setsid';
  }

  /** The end of the output before the shell was ready, raw: greetings, refusals. */
  get before(): { stdout: string; stderr: string } {
    const { stdout, stderr } = this.#before;
    // Without what a shell says about our own functions, where a profile has read the line that defines them.
    return { stdout: stdout.toString('utf8'), stderr: stderr.toString('utf8').replaceAll(/^.*\bqd_.*\n?/gm, '') };
  }

  /**
   * Sends a script, queued after those already sent: several short ones cost one round trip together. It must end with `qd_end NUMBER
   * WORD`. Rejects when the session is lost. Without a limit: only another session can stop a command.
   */
  ask(script: (number: number) => string, limitBytes: number, onPid?: (pid: number) => void): Promise<SessionAnswer> {
    this.#number += 1;
    return this.#ask(this.#number, script(this.#number), limitBytes, onPid);
  }

  close(): void {
    this.isClosed = true;
    this.kept.child.stdin.end();
    this.kept.end();
  }

  #ask(number: number, script: string, limitBytes: number, onPid?: (pid: number) => void): Promise<SessionAnswer> {
    if (this.isClosed) return Promise.reject(this.#lost());
    const { promise, resolve, reject } = Promise.withResolvers<SessionAnswer>();
    this.#asked.push({ number, stdout: new Output(limitBytes), stderr: new Output(limitBytes), ended: {}, onPid, resolve, reject });
    this.#unsent.push(script);
    // Those of one moment are one line: a profile that reads its input takes all of them, or none.
    if (this.#unsent.length === 1) queueMicrotask(() => this.kept.child.stdin.write(`${printable(this.#unsent.splice(0).join('\n'))}\n`));
    return promise;
  }

  #takeText(name: 'stdout' | 'stderr', text: Buffer): void {
    const asked = this.#currentFor(name);
    if (asked) asked[name].add(text);
    else this.#before[name] = Buffer.from(Buffer.concat([this.#before[name], text.subarray(-keptBytes)]).subarray(-keptBytes));
  }

  #receiveMark(name: 'stdout' | 'stderr', number: number, word: string, value: string): void {
    const asked = this.#asked.find(({ ended }) => ended[name] === undefined);
    if (asked?.number !== number) return;
    if (word === 'pid') asked.onPid?.(Number(value));
    if (word !== 'end') return;
    asked.ended[name] = value;
    if (asked.ended.stdout === undefined || asked.ended.stderr === undefined) return;
    this.#asked.shift();
    const { stdout, stderr } = asked;
    asked.resolve({ ending: value, stdout: stdout.bytes(), stderr: stderr.bytes(), cut: stdout.cut || stderr.cut });
  }

  /** The script that the output belongs to: scripts run one after the other, but their two output streams are not in step. */
  #currentFor(name: 'stdout' | 'stderr'): Asked | undefined {
    const asked = this.#asked.find(({ ended }) => ended[name] === undefined);
    return asked?.number === 0 ? undefined : asked;
  }

  #lost(): unknown {
    return this.#closed ?? linkLost(this.host);
  }
}

/** Returns the error for callers that wait for a response when the connection breaks. */
export function linkLost(host: string): Fault {
  const remedy = 'The console reconnects automatically. Operations in progress may have continued on the host.';
  return new Fault('unreachable.link', `The connection to ${host} was lost.`, remedy);
}

/** A remote shell's line between our marks: `\n<token> <number> <word> <value>\n`. The token is secret and new for each shell. */
export interface Mark {
  number: number;
  word: string;
  value: string;
}

/** Separates the output of several commands in one stream. A mark may arrive in pieces, and in the middle of a program's output. */
export class MarkedOutput {
  readonly #start: Buffer;
  #held: Buffer = Buffer.alloc(0);

  constructor(
    token: string,
    private readonly receiver: { onText: (text: Buffer) => void; onMark: (mark: Mark) => void },
  ) {
    this.#start = Buffer.from(`\n${token} `);
  }

  push(chunk: Buffer): void {
    let rest = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    for (;;) {
      const at = rest.indexOf(this.#start);
      if (at < 0) break;
      const end = rest.indexOf(0x0a, at + this.#start.length);
      if (at > 0) this.receiver.onText(rest.subarray(0, at));
      rest = rest.subarray(at);
      if (end < 0) {
        this.#held = Buffer.from(rest);
        return;
      }
      const [number = '', word = '', value = ''] = rest.toString('latin1', this.#start.length, end - at).split(' ');
      rest = rest.subarray(end - at + 1);
      this.receiver.onMark({ number: Number(number), word, value });
    }
    const kept = this.#heldBack(rest);
    if (rest.length > kept) this.receiver.onText(rest.subarray(0, rest.length - kept));
    this.#held = kept === 0 ? Buffer.alloc(0) : Buffer.from(rest.subarray(rest.length - kept));
  }

  /** Returns how many bytes at the end may be the beginning of a mark. */
  #heldBack(text: Buffer): number {
    for (let length = Math.min(this.#start.length - 1, text.length); length > 0; length--) {
      if (text.subarray(text.length - length).equals(this.#start.subarray(0, length))) return length;
    }
    return 0;
  }
}
