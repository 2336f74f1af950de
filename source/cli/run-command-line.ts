import type { QuarterdeckApp } from '../app/app.ts';
import type { PracticeAccess } from '../app/practice-access.ts';
import type { OwnPaths } from '../config/paths.ts';
import { exitCodeOf, Fault, messageOf, positionText } from '../faults/fault.ts';
import { cleanLine, jsonText } from '../text/clean.ts';
import { wrap } from '../text/width.ts';
import { type CreateApp, type GlobalOptions, usualOptions, type VerbContext } from './command.ts';
import type { ParsedLine } from './command-line.ts';
import { Output } from './output.ts';
import { whileWaiting } from './slow-waits.ts';
import { isTaken } from './terminal-turns.ts';

export interface Surroundings {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
  env: Readonly<Record<string, string | undefined>>;
  paths: OwnPaths;
  version: string;
  createApp: CreateApp;
  /** Shows the console until the operator leaves it. Returns the exit code. */
  openConsole: (context: VerbContext) => Promise<number>;
  /** Calls back on SIGINT, SIGTERM and SIGHUP. Returns the function that stops it. */
  onSignal: (heard: () => void) => () => void;
}

/** Runs the program from the command line to the exit code. Never throws. */
export async function runCommandLine(argv: readonly string[], around: Surroundings): Promise<number> {
  const output = new Output(around);
  const control = new AbortController();
  const deafen = around.onSignal(() => {
    // The session adds the changes that an action may have made.
    control.abort(new Fault('interrupted.signal', 'Interrupted.', 'Run the command again.'));
  });
  // Read before parsing, so that a fault of the command line itself is printed in the requested format.
  const end = argv.indexOf('--');
  const own = end === -1 ? argv : argv.slice(0, end);
  let how = { json: own.includes('--json'), verbose: own.includes('--verbose') || own.includes('-v') };
  if (own.includes('--no-color')) output.withoutColour();
  let verb = '';
  let app: Promise<QuarterdeckApp> | undefined;
  const apps: Promise<QuarterdeckApp>[] = [];
  let practice: Promise<PracticeAccess> | undefined;
  try {
    const line = argv.length === 0 ? bareLine : await parse(argv, around, output);
    if ('text' in line) {
      output.line(line.text.replace(/\n$/, ''));
      return 0;
    }
    const { options } = line;
    const { readOnly, dryRun } = options;
    how = options;
    verb = line.verb;
    // The console shows every host at once; a verb uses this machine by default.
    const showsAll = line.run === undefined && canShowConsole(around, options) && !options.practice;
    const host = options.host ?? (showsAll ? 'all' : undefined);
    const createApp = (access: PracticeAccess | undefined, meant = host) => {
      const opening = around.createApp({ readOnly, dryRun, host: meant, practice: access, signal: control.signal });
      apps.push(opening);
      return opening;
    };
    const openPractice = () => {
      practice ??= import('../app/practice-access.ts').then(({ accessPractice }) => accessPractice(around.paths, control.signal));
      return practice;
    };
    // `practice serve` creates its own app, and the description of practice requires none.
    const reported = verb === 'practice' && line.run === undefined && !canShowConsole(around, options);
    const access = options.practice && !reported ? await openPractice() : undefined;
    output.home = access ? `${access.folder}/home` : options.host === undefined ? around.env['HOME'] : undefined;
    const { stdin, stdout, env, paths } = around;
    const context: VerbContext = {
      ...{ stdin, stdout, env, output, options, signal: control.signal, practice: access },
      ...{ basePaths: paths, paths: access?.paths ?? paths },
      app: (meant) => {
        app ??= createApp(access, host ?? meant).then(async (opened) => {
          const { questions } = opened;
          // The console answers prompts itself.
          if (line.run && questions)
            await whileWaiting(
              output,
              () => (host === 'all' ? 'Connecting to the hosts' : `Connecting to ${host ?? meant ?? 'this machine'}`),
              async () => {
                const { answerHosts } = await import('./answer-hosts.ts');
                await answerHosts(opened, { ...around, output }, control.signal);
              },
              () => isTaken(around.stdin),
            );
          return opened;
        });
        return app;
      },
      practiceApp: async () => createApp(await openPractice()),
    };
    const exitCode = line.run ? await line.run(context) : await runBare(context, around, { verb, deafen });
    await output.flushed(control.signal);
    return exitCode;
  } catch (thrown) {
    output.endProgress();
    const { reason } = control.signal;
    const fault = [thrown, reason].find((each) => each instanceof Fault) ?? (await mistakeFault(thrown, verb, around));
    printFault(fault, output, how);
    return exitCodeOf(fault);
  } finally {
    for (const opened of apps) await opened.then((open) => open.close()).catch(() => {});
    await practice?.then((open) => open.close()).catch(() => {});
    deafen();
  }
}

/** The console starts without loading the parser. */
const bareLine: ParsedLine = { run: undefined, verb: '', options: usualOptions };

async function parse(argv: readonly string[], { version }: Surroundings, output: Output) {
  // Without loading the parser, which takes longer than all the rest.
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) return { text: version };
  const [{ parseCommandLine }, { flows }] = await Promise.all([import('./command-line.ts'), import('../app/flow-registry.ts')]);
  return parseCommandLine(argv, { flows, version, columns: output.proseColumns });
}

function canShowConsole({ stdin, stdout, env }: Surroundings, options: GlobalOptions): boolean {
  return stdin.isTTY === true && stdout.isTTY === true && env.TERM !== 'dumb' && !options.json;
}

async function runBare(
  context: VerbContext,
  around: Surroundings,
  { verb, deafen }: { verb: string; deafen: () => void },
): Promise<number> {
  const { output, options } = context;
  const terminal = around.stdin.isTTY === true && around.stdout.isTTY === true;
  if (canShowConsole(around, options)) {
    // The console handles signals itself, because it has a screen to restore.
    deafen();
    try {
      return await around.openConsole(context);
    } finally {
      // Closing is not interrupted, except by another signal.
      around.onSignal(() => {});
    }
  }
  if (verb === 'practice') return (await import('./commands/practice.ts')).describePractice(context);
  if (terminal && !options.json) output.note('This terminal (TERM=dumb) cannot show the console, so the status is printed instead.');
  return (await import('./commands/status.ts')).runStatusVerb(context);
}

/** Any error that is neither a fault nor an interruption is a bug of ours, and writes a report. */
async function mistakeFault(thrown: unknown, verb: string, { paths, version }: Pick<Surroundings, 'paths' | 'version'>): Promise<Fault> {
  const [{ writeCrashReport }, { withoutLikelySecrets }] = await Promise.all([
    import('./crash-report.ts'),
    import('../text/likely-secrets.ts'),
  ]);
  const report = await writeCrashReport(paths.state, { verb, version, thrown, at: new Date() });
  const attached = `${report}. Likely secrets in it are hidden; check it before you send it.`;
  const remedy = `Please report this error with ${report === undefined ? 'the steps to reproduce it.' : attached}`;
  return new Fault('failed.unexpected', `Internal error: ${withoutLikelySecrets(messageOf(thrown))}`, remedy);
}

/** Reports an error thrown by a timer or a stream, which no caller awaits: the verb cannot continue. Returns the exit code. */
export async function reportMistake(
  thrown: unknown,
  argv: readonly string[],
  around: Pick<Surroundings, 'stdout' | 'stderr' | 'env' | 'paths' | 'version'>,
): Promise<number> {
  const verb = argv.find((word) => /^[a-z]/.test(word)) ?? '';
  printFault(await mistakeFault(thrown, verb, around), new Output(around), { json: argv.includes('--json'), verbose: false });
  return 1;
}

/** Prints a fault on stderr: one JSON object, or a sentence and the remedy below it. Never a stack. */
function printFault(fault: Fault, output: Output, { json, verbose }: { json: boolean; verbose: boolean }) {
  if (json) return output.note(jsonText(fault));
  const { where } = fault;
  const reported = where?.line === undefined ? (where?.file ?? where?.field) : undefined;
  const named = reported !== undefined && fault.message.includes(reported);
  const position = named ? '' : positionText(where);
  const file = where?.file;
  // The position before the message already has the full path of the file.
  const message = position !== '' && file !== undefined ? fault.message.replaceAll(file, file.replace(/.*\//, '')) : fault.message;
  const indent = ' '.repeat('quarterdeck: '.length);
  const wrapped = (text: string) => wrap(text, output.proseColumns - indent.length);
  const [first = '', ...more] = wrapped(output.short(cleanLine(position === '' ? message : `${position}: ${message}`)));
  output.note(`${output.paintError('error', 'quarterdeck:')} ${first}`);
  for (const line of [...more, ...wrapped(output.short(cleanLine(fault.remedy)))]) output.note(`${indent}${line}`);
  if (!verbose) return;
  output.note(`${indent}Explain: quarterdeck explain ${fault.code}`);
  for (let cause = fault.cause, depth = 0; cause !== undefined && depth < 5; depth++) {
    const because = messageOf(cause);
    if (because !== fault.message)
      for (const line of wrapped(`because: ${cleanLine(because)}`)) output.note(output.paintError('faint', `${indent}${line}`));
    cause = cause instanceof Error ? cause.cause : undefined;
  }
}
