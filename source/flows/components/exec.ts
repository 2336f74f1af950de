import { Fault } from '../../faults/fault.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import { quotedWord } from '../../text/quoted-word.ts';
import { EngineScope } from '../engine-scope.ts';
import type { Flow } from '../flow.ts';
import { runInTerminal } from './inner-terminal.ts';
import { serviceFlag } from './service.ts';
import { componentOf, isUp, oneTarget } from './service-targets.ts';

const limitMs = 3_600_000;

export const exec: Flow = {
  id: 'exec',
  verb: 'exec',
  title: 'Run a program inside',
  summary:
    'Runs a program in a running container and ends with its exit code. Its output goes on byte for byte. Secrets do not belong in its arguments: the engine shows them to everybody.',
  right: 'operate',
  about: 'component',
  usage: '-- PROGRAM [ARGUMENT...]',
  flags: {
    ...serviceFlag,
    stdin: { meaning: 'give it what is piped in, up to 64 MB' },
    tty: { meaning: 'give it the terminal, for programs that draw or ask' },
  },
  offered: (component) => component.services.some(isUp),
  async run(session, input, context) {
    const component = componentOf(input);
    const engine = context.engineOf(input.engineName);
    if (input.words.length === 0 && !session.attended) {
      throw new Fault('usage.program', 'exec needs a program to run.', `For example: quarterdeck exec ${component.id} -- ls /`);
    }
    const check = (text: string) => (text.trim() === '' ? 'Name a program.' : undefined);
    const question = { id: 'command', label: 'Program and arguments', sensitive: true, check } as const;
    const argv = input.words.length > 0 ? input.words : splitWords(await session.ask.text(question));
    const { id, name } = await oneTarget(new EngineScope(session, context, input.engineName), input, { running: true });
    if (session.dryRun) session.show({ kind: 'text', text: `In ${name}: ${argv.map(quotedWord).join(' ')}` });
    const count = argv.length - 1;
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
        run: (grant) => session.lend((terminal) => runInTerminal(engine.writer(grant), id, argv, terminal, grant.signal)),
        failure: (end) => (end.left ? undefined : exitFailure(end)),
      });
      if (end === undefined) return { message: 'Dry run: nothing was run.' };
      if (end.left) return { message: `Left ${name}. The program may go on.`, data: { left: true } };
      return { message: `The program ended with exit code ${end.exitCode}.`, data: { exitCode: end.exitCode }, exitCode: end.exitCode };
    }

    const result = await session.act({
      ...act,
      limitMs,
      run: (grant) => engine.writer(grant).exec(id, argv, { stdin: input.stdin }),
      failure: exitFailure,
    });
    if (result === undefined) return { message: 'Dry run: nothing was run.' };
    if (result.stdout.length > 0) session.show({ kind: 'output', stream: 'stdout', bytes: result.stdout });
    if (result.stderr.length > 0) session.show({ kind: 'output', stream: 'stderr', bytes: result.stderr });
    if (result.cut) {
      throw new Fault(
        'failed.outputCut',
        `The program wrote more than is kept; its output was cut. It ended with exit code ${result.exitCode}.`,
        'Let it write into a file inside, and fetch that with quarterdeck cp.',
      );
    }
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return {
      message: `The program ended with exit code ${result.exitCode}.`,
      data: { exitCode: result.exitCode, stdout: text(result.stdout), stderr: text(result.stderr) },
      exitCode: result.exitCode,
    };
  },
};

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
  if (quote !== undefined) throw new Fault('usage.quote', `A ${quote} is never closed.`, 'Close it.');
  if (word !== undefined) words.push(word);
  return words;
}
