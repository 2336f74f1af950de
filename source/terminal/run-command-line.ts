import type { OwnPaths } from '../config/paths.ts';
import { exitCodeOf, Fault, messageOf } from '../faults/fault.ts';
import type { ParsedLine, PrintedLine } from './command-line.ts';
import type { Deck } from './deck.ts';
import type { GlobalOptions } from './global-options.ts';
import { Output } from './output.ts';
import type { PracticeAccess } from './practice-access.ts';
import { printFault } from './print-fault.ts';
import { whileWaiting } from './slow-waits.ts';
import { isTaken } from './terminal-turns.ts';
import type { OpenDeck, VerbContext } from './verb.ts';

/** The world around the process, so that a test can be one. */
export interface Surroundings {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
  env: Readonly<Record<string, string | undefined>>;
  paths: OwnPaths;
  version: string;
  openDeck: OpenDeck;
  /** Puts the console on the screen until the operator leaves it; answers the exit code. */
  openConsole: (context: VerbContext) => Promise<number>;
  /** Calls back on SIGINT, SIGTERM and SIGHUP; answers the way to stop. */
  onSignal: (heard: () => void) => () => void;
}

/** From the command line to the exit code. Nothing is thrown. */
export async function runCommandLine(argv: readonly string[], around: Surroundings): Promise<number> {
  const output = new Output(around);
  const control = new AbortController();
  const deafen = around.onSignal(() => {
    // The session adds what an act may have changed.
    control.abort(new Fault({ code: 'interrupted.signal', message: 'Interrupted.', remedy: 'Run the command again.' }));
  });
  // Read before they are known, so that a fault of the line itself is told the way it was asked for.
  const end = argv.indexOf('--');
  const own = end === -1 ? argv : argv.slice(0, end);
  let how = { json: own.includes('--json'), verbose: own.includes('--verbose') || own.includes('-v') };
  if (own.includes('--no-color')) output.withoutColour();
  let verb = '';
  let deck: Promise<Deck> | undefined;
  const decks: Promise<Deck>[] = [];
  let practice: Promise<PracticeAccess> | undefined;
  try {
    const line = argv.length === 0 ? bareLine : await parse(argv, around, output);
    if ('text' in line) {
      output.line(line.text.replace(/\n$/, ''));
      return 0;
    }
    const { options } = line;
    how = options;
    verb = line.verb;
    // The console shows every host at once; a verb works on this machine unless told otherwise.
    const showsAll = line.run === undefined && canShowConsole(around, options) && !options.practice;
    const host = options.host ?? (showsAll ? 'all' : undefined);
    const openDeck = (access: PracticeAccess | undefined, meant = host) => {
      const opening = around.openDeck({
        readOnly: options.readOnly,
        rehearsing: options.rehearse,
        verbose: options.verbose,
        ...(meant !== undefined && { host: meant }),
        ...(access && { practice: access }),
        signal: control.signal,
      });
      decks.push(opening);
      return opening;
    };
    const openPractice = () => {
      practice ??= import('./practice-access.ts').then(({ accessPractice }) => accessPractice(around.paths, control.signal));
      return practice;
    };
    // Serving makes one of its own; whoever is only told what practice is needs none.
    const told = verb === 'practice' && line.run === undefined && !canShowConsole(around, options);
    const access = options.practice && !told ? await openPractice() : undefined;
    output.home = access ? `${access.folder}/home` : options.host === undefined ? around.env['HOME'] : undefined;
    const context = contextOf({
      around,
      output,
      options,
      signal: control.signal,
      practice: access,
      deck: (meant) => {
        deck ??= openDeck(access, host ?? meant).then(async (opened) => {
          const { questions } = opened;
          // The console answers itself.
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
        return deck;
      },
      practiceDeck: async () => openDeck(await openPractice()),
    });
    const exitCode = line.run ? await line.run(context) : await runBare(context, around, { verb, deafen });
    await output.flushed(control.signal);
    return exitCode;
  } catch (thrown) {
    output.endProgress();
    return await tell(thrown, verb, { output, around, how, signal: control.signal });
  } finally {
    for (const opened of decks) await opened.then((open) => open.close()).catch(() => {});
    await practice?.then((open) => open.close()).catch(() => {});
    deafen();
  }
}

/** The way to the console loads no parser. */
const bareLine: ParsedLine = {
  run: undefined,
  verb: '',
  options: { json: false, practice: false, readOnly: false, colour: true, verbose: false, rehearse: false, yes: false },
};

async function parse(argv: readonly string[], { version }: Surroundings, output: Output): Promise<ParsedLine | PrintedLine> {
  const [{ parseCommandLine }, { flows }] = await Promise.all([import('./command-line.ts'), import('../flows/registry.ts')]);
  return parseCommandLine(argv, { flows, version, columns: output.proseColumns });
}

function contextOf({
  around,
  practice,
  ...more
}: Pick<VerbContext, 'output' | 'options' | 'signal' | 'practice' | 'deck' | 'practiceDeck'> & { around: Surroundings }): VerbContext {
  const { stdin, stdout, env, paths } = around;
  return { ...more, stdin, stdout, env, practice, basePaths: paths, paths: practice?.paths ?? paths };
}

function canShowConsole({ stdin, stdout, env }: Surroundings, options: GlobalOptions): boolean {
  return stdin.isTTY === true && stdout.isTTY === true && env.TERM !== 'dumb' && !options.json;
}

/** The console where it can be drawn. Elsewhere the status once, which is no failure: nothing was asked for that could fail. */
async function runBare(
  context: VerbContext,
  around: Surroundings,
  { verb, deafen }: { verb: string; deafen: () => void },
): Promise<number> {
  const { output, options } = context;
  const terminal = around.stdin.isTTY === true && around.stdout.isTTY === true;
  if (canShowConsole(around, options)) {
    // The console hears signals itself: it has a screen to restore.
    deafen();
    try {
      return await around.openConsole(context);
    } finally {
      // What it had open is closed in peace, unless somebody insists.
      around.onSignal(() => {});
    }
  }
  if (verb === 'practice') return (await import('./practice-verb.ts')).describePractice(context);
  if (terminal && !options.json) output.note('This terminal (TERM=dumb) cannot show the console; here is the status.');
  const { runStatusVerb } = await import('./status-verb.ts');
  try {
    return await runStatusVerb(context);
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.kind !== 'unreachable') throw thrown;
    printFault(thrown, output, options);
    return 0;
  }
}

interface Telling {
  output: Output;
  around: Surroundings;
  how: { json: boolean; verbose: boolean };
  signal: AbortSignal;
}

/** A fault in its own words; anything else is a bug of ours, and leaves a report. */
async function tell(thrown: unknown, verb: string, { output, around, how, signal }: Telling): Promise<number> {
  const fault = thrown instanceof Fault ? thrown : signal.aborted && signal.reason instanceof Fault ? signal.reason : undefined;
  if (fault) {
    printFault(fault, output, how);
    return exitCodeOf(fault);
  }
  printFault(await mistakeFault(thrown, verb, around), output, how);
  return 1;
}

/** Writes the report of a mistake of ours, and says in a sentence where it is. */
async function mistakeFault(thrown: unknown, verb: string, { paths, version }: Pick<Surroundings, 'paths' | 'version'>): Promise<Fault> {
  const [{ writeCrashReport }, { withoutLikelySecrets }] = await Promise.all([
    import('./crash-report.ts'),
    import('../text/likely-secrets.ts'),
  ]);
  const report = await writeCrashReport(paths.state, { verb, version, thrown, at: new Date() });
  return new Fault({
    code: 'failed.unexpected',
    message: `A mistake in Quarterdeck itself: ${withoutLikelySecrets(messageOf(thrown))}`,
    remedy:
      report === undefined ? 'Please report it, with what you did before.' : `Please report it with ${report}, which holds no secrets.`,
  });
}

/** For what was thrown where nobody waits for it, out of a timer or a stream: the verb cannot be gone on with. Answers the exit code. */
export async function tellMistake(
  thrown: unknown,
  argv: readonly string[],
  around: Pick<Surroundings, 'stdout' | 'stderr' | 'env' | 'paths' | 'version'>,
): Promise<number> {
  const verb = argv.find((word) => /^[a-z]/.test(word)) ?? '';
  printFault(await mistakeFault(thrown, verb, around), new Output(around), { json: argv.includes('--json'), verbose: false });
  return 1;
}
