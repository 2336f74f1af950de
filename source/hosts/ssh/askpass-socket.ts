import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { cleanLines } from '../../text/clean.ts';
import { objectOf, parsedJson } from '../../text/json-value.ts';

export interface SshQuestion {
  kind:
    | 'hostKey' /** An unknown key: yes, no, or the expected fingerprint. */
    | 'secret' /** A password, a passphrase, a PIN, a one-time code: never shown. */
    | 'confirm' /** Confirms the use of a key. */
    | 'touch' /** No answer needed: a hardware key waits to be touched. Ends by itself. */;
  /** Sanitized lines, in ssh's words. */
  lines: readonly string[];
}

/** Returns undefined to decline. The signal is aborted when ssh no longer waits. */
export type AnswerSsh = (question: SshQuestion, signal: AbortSignal) => Promise<string | undefined>;

export interface AskpassSocket {
  env: Readonly<Record<string, string>>;
  close(): void;
}

const questionLimitBytes = 16 * 1024;

/**
 * Listens for the prompts of ssh. ssh prompts through a program (SSH_ASKPASS), because it has no terminal: ours belongs to the screen.
 * That program sends the prompt over a socket that only we can reach, and receives the answer there: never in an argument or in a file.
 * @param program `bin/askpass`
 */
export async function openAskpassSocket(folder: string, program: string, answer: AnswerSsh): Promise<AskpassSocket> {
  const path = join(folder, `ask-${randomBytes(2).toString('hex')}`);
  const questions = new Questions();
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
    // One line: the prompt as JSON. The socket then stays open for as long as ssh waits.
    const take = (chunk: string) => {
      text += chunk;
      if (text.length > questionLimitBytes) socket.destroy();
      if (!text.includes('\n')) return;
      socket.off('data', take);
      socket.resume();
      const asked = objectOf(parsedJson(text.slice(0, text.indexOf('\n'))));
      if (!asked) return void socket.destroy();
      answer(questions.next(String(asked['prompt'] ?? ''), String(asked['hint'] ?? '')), ending.signal).then(
        (given) => socket.end(given === undefined ? '' : `${JSON.stringify(given)}\n`),
        () => socket.destroy(),
      );
    };
    socket.on('data', take);
    socket.once('end', () => ending.abort());
  });
  await once(server.listen(path), 'listening');
  server.on('error', () => undefined);
  return {
    env: {
      SSH_ASKPASS: program,
      SSH_ASKPASS_REQUIRE: 'force',
      // Before OpenSSH 8.4, this variable was required for ssh to use an askpass program at all.
      DISPLAY: process.env['DISPLAY'] || ':0',
      QUARTERDECK_ASK: path,
    },
    close() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

/** The prompts of one connection, in order: ssh repeats a prompt after a wrong answer without saying so. */
class Questions {
  #hostKey: readonly string[] = [];
  readonly #secrets = new Set<string>();

  /** ssh sets a prompt hint only for some prompts; the others are recognized by their text. */
  next(prompt: string, hint: string): SshQuestion {
    const lines = cleanLines(prompt.trim());
    if (/\(yes\/no/i.test(prompt)) {
      this.#hostKey = lines;
      return { kind: 'hostKey', lines };
    }
    // The text that ssh shows for a changed fingerprint, without its subject.
    if (/^please type 'yes'/i.test(prompt.trim()))
      return { kind: 'hostKey', lines: ['The fingerprint does not match the host key.', ...this.#hostKey] };
    if (hint === 'none') return { kind: 'touch', lines };
    if (hint === 'confirm') return { kind: 'confirm', lines };
    const isAgain = this.#secrets.has(prompt);
    this.#secrets.add(prompt);
    return { kind: 'secret', lines: isAgain ? ['The answer was not accepted.', ...lines] : lines };
  }
}
