import { beforeEach, describe, expect, test, vi } from 'vitest';
import { inputStream, OutputStream, type TypingStream } from '../../test/doubles/streams.ts';
import type { Choice } from '../session/session.ts';
import { Output } from './output.ts';
import { readSecret } from './secret-entry.ts';
import { TextSink } from './shown-text.ts';
import { createTerminalOperator, type TerminalOperatorOptions } from './terminal-operator.ts';

let input: TypingStream;
let stdout: OutputStream;
let stderr: OutputStream;
const never = new AbortController().signal;
beforeEach(() => {
  input = inputStream({ terminal: true });
  stdout = new OutputStream({ columns: 80 });
  stderr = new OutputStream({ columns: 80 });
});

function operatorWith(options: Partial<TerminalOperatorOptions> = {}) {
  const output = new Output({ stdout: stdout as never, stderr: stderr as never, env: { NO_COLOR: '1', LANG: 'C.UTF-8' } });
  return createTerminalOperator({
    stdin: input as never,
    stdout: stdout as never,
    stderr: stderr as never,
    output,
    sink: new TextSink(output),
    yes: false,
    ...options,
  });
}
const sees = (text: string) => vi.waitFor(() => expect(stderr.text).toContain(text));
/** Types each text once, when the awaited output is on the screen. */
async function types(...steps: [sees: string, keys: string][]) {
  for (const [text, keys] of steps) {
    await sees(text);
    input.write(keys);
  }
}

describe('a secret', () => {
  const terminal = () => ({ stdin: input as never, stderr: stderr as never, output: { ascii: true } as Output });
  const read = (signal = never) => readSecret(terminal(), 'Key share: ', signal);

  test('is never on the screen; a mark stands for each character', async () => {
    const reading = read();
    input.write('kX9-grüße\r');
    expect(await reading).toBe('kX9-grüße');
    expect(stderr.text).toBe(`Key share: ${'*'.repeat(9)}\n`);
    expect(input.rawModes).toEqual([true, false]);
    expect(input.listenerCount('data')).toBe(0);
  });

  test('is not shown by the terminal either to who types as soon as the prompt is there', async () => {
    let rawAtPrompt: boolean | undefined;
    const write = stderr.write.bind(stderr);
    stderr.write = ((text: string) => {
      rawAtPrompt ??= input.rawModes.at(-1);
      return write(text);
    }) as typeof stderr.write;
    const reading = read();
    input.write('kX9\r');
    await reading;
    expect(rawAtPrompt).toBe(true);
  });

  test('can be corrected and pasted, in pieces too', async () => {
    const reading = read();
    input.write('ab\x7fc');
    input.write('\x1b[D');
    input.write('wrong\x15');
    input.write(Buffer.from('\x1b[200~gr\xc3', 'latin1'));
    input.write(Buffer.from('\xbc\x1b[201~\n', 'latin1'));
    expect(await reading).toBe('grü');
  });

  test.each([
    ['Ctrl-C', '\x03'],
    ['Ctrl-D', '\x04'],
  ])('%s walks away, and the terminal is restored', async (_, key) => {
    const reading = read();
    input.write(`${key}`);
    await expect(reading).rejects.toMatchObject({ code: 'interrupted.cancelled' });
    expect(input.rawModes).toEqual([true, false]);
  });

  test('an interrupt or the end of input walks away too', async () => {
    const control = new AbortController();
    const reading = read(control.signal);
    control.abort(new Error('SIGTERM'));
    await expect(reading).rejects.toThrow('SIGTERM');
    input = inputStream({ terminal: true });
    const other = read();
    input.end();
    await expect(other).rejects.toMatchObject({ code: 'interrupted.cancelled' });
  });
});

describe('questions', () => {
  const choices: Choice[] = [
    { value: 'images', label: 'Images', detail: '3, 1 GB' },
    { value: 'volumes', label: 'Volumes' },
  ];

  test('text, with what is proposed on an empty line', async () => {
    const asking = operatorWith().ask({ kind: 'text', id: 'n', label: 'Name', initial: 'ada' }, never);
    await types(['Name [ada]: ', '\r']);
    expect(await asking).toBe('ada');
  });

  test('an answer that does not pass is asked for again, with the reason', async () => {
    const asking = operatorWith().ask(
      { kind: 'text', id: 'n', label: 'Port', check: (text) => (text === '80' ? undefined : 'Write 80.') },
      never,
    );
    await types(['Port: ', '8\r'], ['Write 80.', '80\r']);
    expect(await asking).toBe('80');
  });

  test('a choice by its number or its name', async () => {
    for (const answer of ['2', 'volumes']) {
      stderr.text = '';
      const asking = operatorWith().ask({ kind: 'choice', id: 'k', label: 'Kind', choices }, never);
      await types(['Kind: ', `${answer}\r`]);
      expect(await asking).toBe('volumes');
      expect(stderr.text).toContain(' 1  Images  3, 1 GB');
    }
  });

  test('several, all and none; nonsense is asked for again', async () => {
    for (const [answer, expected] of [
      ['1,2', ['images', 'volumes']],
      ['all', ['images', 'volumes']],
      ['none', []],
      ['volumes', ['volumes']],
    ] as const) {
      stderr.text = '';
      const asking = operatorWith().ask({ kind: 'several', id: 'k', label: 'Kinds', choices }, never);
      await types(['Kinds: ', '7\r'], ['each choice', `${answer}\r`]);
      expect(await asking).toEqual(expected);
    }
  });

  test('Ctrl-C and the end of input walk away', async () => {
    const asking = operatorWith().ask({ kind: 'text', id: 'n', label: 'Name' }, never);
    await types(['Name: ', '\x03']);
    await expect(asking).rejects.toMatchObject({ code: 'interrupted.cancelled' });
    input = inputStream({ terminal: true });
    stderr.text = '';
    const other = operatorWith().ask({ kind: 'text', id: 'n', label: 'Name' }, never);
    await sees('Name: ');
    input.end();
    await expect(other).rejects.toMatchObject({ code: 'interrupted.cancelled' });
  });
});

describe('a confirmation', () => {
  const confirmation = {
    id: 'x',
    title: 'Remove db',
    request: 'DELETE /containers/db?force=false&v=false',
    consequences: ['its data', 'evil\x1b[2J'],
  };

  test.each([
    ['y', true],
    ['yes', true],
    ['', false],
    ['n', false],
    ['yep', false],
  ])('"%s" is %s', async (answer, confirmed) => {
    const confirming = operatorWith().confirm(confirmation, never);
    await types(['Continue? [y/N] ', `${answer}\r`]);
    expect(await confirming).toBe(confirmed);
    expect(stderr.text).toContain('Remove db\n  DELETE /containers/db?force=false&v=false\n  - its data\n  - evil\n');
  });

  test('--yes answers it, and what is lost is said all the same', async () => {
    expect(await operatorWith({ yes: true }).confirm(confirmation, never)).toBe(true);
    expect(stderr.text).toContain('its data');
  });

  test.each([
    ['nas', true],
    ['NAS', false],
    ['y', false],
  ])('a production host wants its name: "%s" is %s, --yes or not', async (answer, confirmed) => {
    const confirming = operatorWith({ yes: true }).confirm({ ...confirmation, typed: 'nas' }, never);
    await types(['Type nas to continue: ', `${answer}\r`]);
    expect(await confirming).toBe(confirmed);
  });
});

test('what a question reveals stands on a screen of its own, which is gone with the answer, also when it is walked away from', async () => {
  const question = { id: 'share', label: 'Written down?', kind: 'text', reveals: { label: 'Share 1', value: 'beef' } } as const;
  for (const keys of ['yes\r', '\x03']) {
    stderr.text = '';
    const asking = operatorWith().ask(question, never);
    await types(['Written down?', keys]);
    await asking.catch(() => {});
    expect(stderr.text).toMatch(/^\x1b\[\?1049h.*Share 1:\n\n {2}beef\n.*\x1b\[\?1049l$/s);
  }
});

test('a terminal is lent only where there is one', async () => {
  expect(await operatorWith().lend(async ({ input: lent }) => lent === (input as never))).toBe(true);
  stdout.isTTY = undefined;
  await expect(operatorWith().lend(async () => 1)).rejects.toMatchObject({ code: 'refused.noTerminal' });
});

test('progress is one line that goes away before anything else is written', () => {
  const operator = operatorWith();
  operator.progress({ id: 'a', label: 'Stopping db\x1b[2J', fraction: 0.5 });
  operator.show({ kind: 'text', text: 'done' });
  expect(stderr.text).toBe('\r\x1b[K 50 %  Stopping db\r\x1b[K');
  expect(stdout.text).toBe('done\n');
});
