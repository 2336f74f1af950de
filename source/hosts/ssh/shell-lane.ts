import { randomBytes } from 'node:crypto';
import { Fault } from '../../faults/fault.ts';
import { Output } from '../program-output.ts';
import { MarkedOutput } from './marked-output.ts';
import { printable } from './shell-words.ts';
import type { KeptProgram } from './ssh-command.ts';

/**
 * What sshd is asked to run. Each line is one script: read as one, because a shell that reads its script from stdin may swallow what is meant for a
 * program. Nothing in it means anything to a login shell that is not POSIX.
 */
export const laneCommand = `exec sh -c 'while IFS= read -r q; do eval "$(printf %b "$q")"; done'`;

/** Told apart from what a chatty profile writes. */
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

/** Of what a profile says, megabytes perhaps. */
const keptBytes = 4 * 1024;

export interface LaneAnswer {
  /** A program's exit code; words where it did not get as far. */
  ending: string;
  stdout: Uint8Array;
  stderr: Uint8Array;
  cut: boolean;
}

interface Asked {
  number: number;
  stdout: Output;
  stderr: Output;
  ended: { stdout?: string; stderr?: string };
  onPid: ((pid: number) => void) | undefined;
  resolve: (answer: LaneAnswer) => void;
  reject: (cause: unknown) => void;
}

/**
 * A `sh` on the far side that lasts, and runs one script after the other: a command costs one round trip. What it is told goes over its stdin, never through
 * an argument of a program; `printf` is part of the shell wherever this is used (it is looked at).
 */
export class ShellLane {
  readonly #kept: KeptProgram;
  readonly #token = randomBytes(16).toString('hex');
  #number = 0;
  readonly #asked: Asked[] = [];
  #closed: unknown;
  #isClosed = false;
  readonly #host: string;
  readonly #before = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  /** Has `setsid`: what a command started can be ended with it. */
  hasGroups = false;
  /** Rejects never; resolves when nothing more can be run. */
  readonly gone: Promise<void>;

  /** @param kept whose streams lead to `laneCommand`; its stderr may carry what ssh itself says until the shell is there */
  /** `host`: what the operator calls the machine. */
  constructor(kept: KeptProgram, host: string) {
    const { child } = kept;
    this.#host = host;
    this.#kept = kept;
    for (const name of ['stdout', 'stderr'] as const) {
      const marked = new MarkedOutput(this.#token, {
        onText: (text) => this.#takeText(name, text),
        onMark: ({ number, word, value }) => this.#heard(name, number, word, value),
      });
      child[name].on('data', (chunk: Buffer) => marked.push(chunk));
    }
    child.stdin.on('error', () => undefined);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.gone = promise;
    const end = (cause?: unknown) => {
      this.#isClosed = true;
      this.#closed ??= cause;
      for (const asked of this.#asked.splice(0)) asked.reject(this.#lost());
      resolve();
    };
    child.once('error', end);
    child.once('close', () => end());
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * Waits until the shell is there.
   * @throws Fault `unreachable.shell` with what the far side said instead
   */
  async open(signal: AbortSignal): Promise<void> {
    const answer = this.#ask(0, prelude(this.#token), { limitBytes: 4 * 1024 });
    const stop = () => this.close();
    signal.addEventListener('abort', stop, { once: true });
    let ending: string;
    try {
      ({ ending } = await answer);
    } catch (cause) {
      signal.throwIfAborted();
      throw cause;
    } finally {
      signal.removeEventListener('abort', stop);
    }
    if (ending === 'unfit') {
      this.close();
      throw new Fault({
        code: 'unreachable.shell',
        message:
          'The sh on the far side has no printf of its own, so secrets could not be given to programs there without showing them to others.',
        remedy: 'Install dash, bash or busybox as /bin/sh there.',
      });
    }
    this.hasGroups = ending === 'ready:setsid';
  }

  /** The end of what came before the shell was there, raw: greetings, refusals. */
  get before(): { stdout: string; stderr: string } {
    const { stdout, stderr } = this.#before;
    return { stdout: stdout.toString('utf8'), stderr: stderr.toString('utf8') };
  }

  /**
   * Hands a script over, behind those that the shell has already: several short ones cost one round trip together. It has to end with `qd_end NUMBER WORD`.
   * Rejects when the lane is lost. There is no limit here: a lane cannot stop what it waits for, another one can.
   */
  ask(script: (number: number) => string, limitBytes: number, onPid?: (pid: number) => void): Promise<LaneAnswer> {
    this.#number += 1;
    return this.#ask(this.#number, script(this.#number), { limitBytes, onPid });
  }

  close(): void {
    this.#isClosed = true;
    this.#kept.child.stdin.end();
    this.#kept.end();
  }

  #ask(
    number: number,
    script: string,
    { limitBytes, onPid }: { limitBytes: number; onPid?: ((pid: number) => void) | undefined },
  ): Promise<LaneAnswer> {
    if (this.#isClosed) return Promise.reject(this.#lost());
    const { promise, resolve, reject } = Promise.withResolvers<LaneAnswer>();
    this.#asked.push({ number, stdout: new Output(limitBytes), stderr: new Output(limitBytes), ended: {}, onPid, resolve, reject });
    this.#kept.child.stdin.write(`${printable(script)}\n`);
    return promise;
  }

  #takeText(name: 'stdout' | 'stderr', text: Buffer): void {
    const asked = this.#speaking(name);
    if (asked) asked[name].add(text);
    else this.#before[name] = Buffer.from(Buffer.concat([this.#before[name], text.subarray(-keptBytes)]).subarray(-keptBytes));
  }

  #heard(name: 'stdout' | 'stderr', number: number, word: string, value: string): void {
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

  /** Whose output it is: scripts run one after the other, but their two outputs do not come in step. */
  #speaking(name: 'stdout' | 'stderr'): Asked | undefined {
    const asked = this.#asked.find(({ ended }) => ended[name] === undefined);
    return asked?.number === 0 ? undefined : asked;
  }

  #lost(): unknown {
    return this.#closed ?? linkLost(this.#host);
  }
}

/** To whoever waits for an answer when the connection breaks. */
export function linkLost(host: string): Fault {
  return new Fault({
    code: 'unreachable.link',
    message: `The connection to ${host} broke.`,
    remedy: 'It comes back by itself; what was under way may have gone on there.',
  });
}
