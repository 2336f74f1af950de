import { Fault } from '../../faults/fault.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import { quotedWord } from '../../text/quoted-word.ts';
import { onEngine } from '../engine-scope.ts';
import { optionOf } from '../flow-options.ts';
import { runInTerminal } from './inner-terminal.ts';
import { componentOf, oneTarget } from './service-targets.ts';

const limitMs = 3_600_000;

export const exec = onEngine(async (scope, input, session, context) => {
  const component = componentOf(input);
  const engine = context.engineOf(input.engineName);
  if (input.words.length === 0 && !session.attended)
    throw new Fault('usage.program', 'A program is required.', `For example: quarterdeck exec ${component.id} -- ls /`);
  const check = (text: string) => (text.trim() === '' ? 'A program is required.' : undefined);
  const question = { id: 'command', label: 'Program and arguments', sensitive: true, check } as const;
  const argv = input.words.length > 0 ? input.words : splitWords(await session.ask.text(question));
  const { id, name } = await oneTarget(scope, input, { running: true });
  if (session.dryRun) session.show({ kind: 'text', text: `In ${name}: ${argv.map(quotedWord).join(' ')}` });
  const count = argv.length - 1;
  const user = optionOf(input, 'user');
  const act = {
    id: 'exec',
    right: 'operate' as const,
    // The audit records this, and users do pass passwords as arguments.
    request: `exec in ${name}: ${cleanLine(argv[0] ?? '')}${count === 0 ? '' : `, with ${countText(count, 'argument')}`}`,
    confirmOnProduction: true as const,
  };
  if (input.options.tty === true) {
    const end = await session.act({
      ...act,
      limitMs: Number.POSITIVE_INFINITY,
      run: (grant) => session.lend((terminal) => runInTerminal(engine.writer(grant), id, argv, terminal, { signal: grant.signal, user })),
      failure: (end) => (end.left ? undefined : exitFailure(end)),
    });
    if (end === undefined) return { message: 'Dry run: nothing was run.' };
    if (end.left) return { message: `Detached from ${name}. The program may still be running.`, data: { left: true } };
    return { message: `The program ended with exit code ${end.exitCode}.`, data: { exitCode: end.exitCode }, exitCode: end.exitCode };
  }

  const result = await session.act({
    ...act,
    limitMs,
    run: (grant) => engine.writer(grant).exec(id, argv, { stdin: input.stdin, user }),
    failure: exitFailure,
  });
  if (result === undefined) return { message: 'Dry run: nothing was run.' };
  if (result.stdout.length > 0) session.show({ kind: 'output', stream: 'stdout', bytes: result.stdout });
  if (result.stderr.length > 0) session.show({ kind: 'output', stream: 'stderr', bytes: result.stderr });
  if (result.cut) {
    const message = `The output of the program was too long and was truncated. The program ended with exit code ${result.exitCode}.`;
    throw new Fault('failed.outputCut', message, 'Write the output to a file in the container, then copy the file with quarterdeck cp.');
  }
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return {
    message: `The program ended with exit code ${result.exitCode}.`,
    data: { exitCode: result.exitCode, stdout: text(result.stdout), stderr: text(result.stderr) },
    exitCode: result.exitCode,
  };
});

export function exitFailure({ exitCode }: { exitCode: number }): string | undefined {
  return exitCode === 0 ? undefined : `exit code ${exitCode}`;
}

/** Splits a line into words, with single and double quotes for words that contain spaces. No shell is involved: nothing is expanded. */
export function splitWords(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (const character of line) {
    if (quote !== undefined) {
      if (character === quote) quote = undefined;
      else word = (word ?? '') + character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= '';
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? '') + character;
    }
  }
  if (quote !== undefined) throw new Fault('usage.quote', `Unclosed quote: ${quote}`, 'Add the closing quote.');
  if (word !== undefined) words.push(word);
  return words;
}

/** Every image with a shell has sh; inside, it looks for a better one. A fixed argument list: nothing in it comes from outside. */
export const shellArgv = ['/bin/sh', '-c', 'if command -v bash >/dev/null 2>&1; then exec bash; else exec sh; fi'] as const;

/** Exit codes of a runtime if the program does not exist or may not be run. */
const cannotRun: ReadonlySet<number> = new Set([126, 127]);

export const shell = onEngine(async (scope, input, session, context) => {
  const component = componentOf(input);
  const engine = context.engineOf(input.engineName);
  const { id, name } = await oneTarget(scope, input, { running: true });
  const end = await session.act({
    id: 'shell',
    right: 'operate',
    request: `exec in ${name}, with a terminal: sh`,
    confirmOnProduction: true,
    limitMs: Number.POSITIVE_INFINITY,
    run: (grant) =>
      session.lend((terminal) =>
        runInTerminal(engine.writer(grant), id, shellArgv, terminal, { signal: grant.signal, user: optionOf(input, 'user') }),
      ),
    failure: (ended) => (!ended.left && cannotRun.has(ended.exitCode) ? exitFailure(ended) : undefined),
  });
  if (end === undefined) return { message: 'Dry run: no shell was opened.' };
  if (end.left) return { message: `Detached from ${name}. Programs in that shell may still be running.`, data: { left: true } };
  if (cannotRun.has(end.exitCode)) {
    const remedy = `Run a program that the image contains: quarterdeck exec ${component.id} -- PROGRAM`;
    const message = `The shell in ${name} ended with exit code ${end.exitCode}; the image may not contain a shell.`;
    throw new Fault('failed.noShell', message, remedy);
  }
  return { message: `The shell in ${name} ended with exit code ${end.exitCode}.`, data: { exitCode: end.exitCode } };
});
