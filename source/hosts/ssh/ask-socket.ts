import { randomBytes } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { cleanLines } from '../../text/clean.ts';
import { parseJson } from '../../text/json-value.ts';

/** What ssh wants to know before it goes on. */
export interface SshQuestion {
  kind:
    | 'hostKey' /** An unknown key: yes, no, or the fingerprint that it should have. */
    | 'secret' /** A password, a passphrase, a PIN, a one-time code: never shown. */
    | 'confirm' /** May this key be used? */
    | 'touch' /** Nothing to answer: a hardware key waits to be touched. Ends by itself. */;
  /** Clean lines, as ssh words it. */
  lines: readonly string[];
}

/** Answers one question; undefined declines. The signal ends when ssh no longer waits. */
export type AnswerSsh = (question: SshQuestion, signal: AbortSignal) => Promise<string | undefined>;

export interface AskSocket {
  /** What ssh's environment needs, so that it asks us. */
  env: Readonly<Record<string, string>>;
  close(): void;
}

const questionLimitBytes = 16 * 1024;

/**
 * Listens for the questions of ssh. It asks through a program of its own (SSH_ASKPASS), because it has no terminal: ours belongs to the screen. That program
 * hands the question over on a socket that only we can reach, and gets the answer there: never in an argument or in a file.
 * @param program `bin/askpass`
 */
export async function openAskSocket(folder: string, program: string, answer: AnswerSsh): Promise<AskSocket> {
  const path = join(folder, `ask-${randomBytes(2).toString('hex')}`);
  const heard = new Questions();
  const open = new Set<Socket>();
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket);
    const ending = new AbortController();
    socket.on('error', () => undefined);
    socket.once('close', () => {
      open.delete(socket);
      ending.abort();
    });
    let text = '';
    socket.setEncoding('utf8');
    // One line: the question as JSON. Afterwards the socket stays open for as long as ssh waits.
    const take = (chunk: string) => {
      text += chunk;
      if (text.length > questionLimitBytes) socket.destroy();
      if (!text.includes('\n')) return;
      socket.off('data', take);
      socket.resume();
      let asked: { prompt?: unknown; hint?: unknown };
      try {
        asked = parseJson(text.slice(0, text.indexOf('\n'))) as typeof asked;
      } catch {
        socket.destroy();
        return;
      }
      answer(heard.next(String(asked.prompt ?? ''), String(asked.hint ?? '')), ending.signal).then(
        (given) => socket.end(given === undefined ? '' : `${JSON.stringify(given)}\n`),
        () => socket.destroy(),
      );
    };
    socket.on('data', take);
    socket.once('end', () => ending.abort());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  return {
    env: {
      SSH_ASKPASS: program,
      SSH_ASKPASS_REQUIRE: 'force',
      // Before OpenSSH 8.4 it was this that made ssh ask a program at all.
      DISPLAY: process.env['DISPLAY'] || ':0',
      QUARTERDECK_ASK: path,
    },
    close() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

/** The questions of one connection, one after the other: ssh puts one again where the answer was wrong, and does not say so. */
class Questions {
  #hostKey: readonly string[] = [];
  readonly #secrets = new Set<string>();

  /** ssh gives a hint only for some; the rest is known by its words. */
  next(prompt: string, hint: string): SshQuestion {
    const lines = cleanLines(prompt.trim());
    if (/\(yes\/no/i.test(prompt)) {
      this.#hostKey = lines;
      return { kind: 'hostKey', lines };
    }
    // What it says after a fingerprint that is another one, without what it is about.
    if (/^please type 'yes'/i.test(prompt.trim()))
      return { kind: 'hostKey', lines: ['That is not the fingerprint of its key.', ...this.#hostKey] };
    if (hint === 'none') return { kind: 'touch', lines };
    if (hint === 'confirm') return { kind: 'confirm', lines };
    const isAgain = this.#secrets.has(prompt);
    this.#secrets.add(prompt);
    return { kind: 'secret', lines: isAgain ? ['That was not accepted.', ...lines] : lines };
  }
}
