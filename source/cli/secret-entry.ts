import { createInterface } from 'node:readline/promises';
import { StringDecoder } from 'node:string_decoder';
import { Fault } from '../faults/fault.ts';
import { endingWith } from '../faults/waits.ts';
import type { Output } from './output.ts';

export interface PromptTerminal {
  stdin: NodeJS.ReadStream;
  /** Prompts go here, so that stdout can be piped. */
  stderr: NodeJS.WriteStream;
  output: Output;
}

function cancelled(): Fault {
  return new Fault('interrupted.cancelled', 'Cancelled. No further changes were made.', 'Run the command again to continue.');
}

/** Prints a mark per character. Backspace deletes, Ctrl-U clears, Ctrl-C cancels. No buffer of ours keeps the input. */
export function readSecret({ stdin: input, stderr, output }: PromptTerminal, prompt: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const decoder = new StringDecoder('utf8');
    const wasRaw = input.isRaw;
    let typed: string[] = [];

    const end = (settle: () => void) => {
      input.off('data', onData);
      input.off('end', onEnd);
      signal.removeEventListener('abort', onAbort);
      input.setRawMode?.(wasRaw ?? false);
      input.pause();
      stderr.write('\n');
      settle();
      typed = [];
    };
    const onEnd = () => end(() => reject(cancelled()));
    const onAbort = () => end(() => reject(signal.reason as Error));
    // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: each character is typed text or an editing key
    const onData = (chunk: Buffer | string) => {
      // Removes arrow keys and the marks around a paste.
      const text = (typeof chunk === 'string' ? chunk : decoder.write(chunk)).replace(/\x1b(?:\[[\d;?]*[ -/]*[@-~]|O.|.)?/g, '');
      for (const character of text) {
        if (character === '\r' || character === '\n') {
          const answer = typed.join('');
          end(() => resolve(answer));
          return;
        }
        if (character === '\x03' || (character === '\x04' && typed.length === 0)) return end(() => reject(cancelled()));
        if (character === '\x7f' || character === '\b') {
          if (typed.pop() !== undefined) stderr.write('\b \b');
        } else if (character === '\x15') {
          stderr.write('\b \b'.repeat(typed.length));
          typed = [];
        } else if (character >= ' ') {
          typed.push(character);
          stderr.write(output.ascii ? '*' : '•');
        }
      }
    };

    if (signal.aborted) return reject(signal.reason as Error);
    // Set first: after the prompt the operator may type, and input before raw mode would be echoed.
    input.setRawMode?.(true);
    stderr.write(prompt);
    input.on('data', onData);
    input.once('end', onEnd);
    signal.addEventListener('abort', onAbort, { once: true });
    input.resume();
  });
}

/** Reads a line from a terminal. Ctrl-C and the end of input cancel: Node's reader swallows SIGINT while it has the terminal. */
export async function readLine({ stdin, stderr }: PromptTerminal, prompt: string, signal: AbortSignal): Promise<string> {
  const reader = createInterface({ input: stdin, output: stderr, terminal: true, historySize: 0 });
  const { promise: left, reject } = Promise.withResolvers<never>();
  reader.once('SIGINT', () => reject(cancelled())).once('close', () => reject(cancelled()));
  left.catch(() => {});
  // After Ctrl-C, Node's reader keeps its listener, and would write a line when the signal aborts later.
  using asking = endingWith(signal);
  try {
    return await Promise.race([reader.question(prompt, { signal: asking.signal }), left]);
  } catch (thrown) {
    stderr.write('\n');
    if (signal.aborted) throw signal.reason;
    throw thrown;
  } finally {
    reader.close();
  }
}
