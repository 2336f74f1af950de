import { StringDecoder } from 'node:string_decoder';
import { Fault } from '../faults/fault.ts';

export function cancelled(): Fault {
  return new Fault({
    code: 'interrupted.cancelled',
    message: 'Cancelled, nothing further was done.',
    remedy: 'Run it again whenever you like.',
  });
}

/**
 * Reads a secret from a terminal, a mark for each character. Typed or pasted; backspace takes one back, Ctrl-U all, Ctrl-C walks away. The terminal is as
 * it was afterwards. What was typed is in no buffer of ours when this returns, except in the answer.
 */
export function readSecret(
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
  prompt: string,
  signal: AbortSignal,
  mark = '*',
): Promise<string> {
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
      output.write('\n');
      settle();
      typed = [];
    };
    const onEnd = () => end(() => reject(cancelled()));
    const onAbort = () => end(() => reject(signal.reason as Error));
    const onData = (chunk: Buffer | string) => {
      // Arrow keys and the marks around a paste are no part of it.
      const text = (typeof chunk === 'string' ? chunk : decoder.write(chunk)).replace(/\x1b(?:\[[\d;?]*[ -/]*[@-~]|O.|.)?/g, '');
      for (const character of text) {
        if (character === '\r' || character === '\n') {
          const answer = typed.join('');
          end(() => resolve(answer));
          return;
        }
        if (character === '\x03' || (character === '\x04' && typed.length === 0)) {
          end(() => reject(cancelled()));
          return;
        }
        if (character === '\x7f' || character === '\b') {
          if (typed.pop() !== undefined) output.write('\b \b');
        } else if (character === '\x15') {
          output.write('\b \b'.repeat(typed.length));
          typed = [];
        } else if (character >= ' ') {
          typed.push(character);
          output.write(mark);
        }
      }
    };

    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    // First: who sees the prompt may type, and what comes before would be shown.
    input.setRawMode?.(true);
    output.write(prompt);
    input.on('data', onData);
    input.once('end', onEnd);
    signal.addEventListener('abort', onAbort, { once: true });
    input.resume();
  });
}
