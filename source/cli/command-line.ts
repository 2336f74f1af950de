import { Command, CommanderError } from 'commander';
import { Fault } from '../faults/fault.ts';
import type { Flow } from '../flows/flow.ts';
import { cleanLine } from '../text/clean.ts';
import { asSentence } from '../text/sentence.ts';
import { type GlobalOptions, usualOptions, type Verb } from './command.ts';
import { headingOf, inHelpOrder } from './command-headings.ts';
import type { LogsFlags } from './commands/logs.ts';
import { addExamples } from './examples.ts';
import { addFlow, runByName, unknownVerb } from './flow-commands.ts';
import { topics, topicText } from './help-topics.ts';

export interface ParsedLine {
  options: GlobalOptions;
  verb: string;
  /** Undefined for the bare command: the console, or the status. */
  run: Verb | undefined;
  program?: Command;
}

const logsNotes = `
Lines of several containers are merged by time, and each names whose it is. --tail counts before --grep looks.
Escape sequences are removed but for colours on a terminal. With --json each line is one object.
Ends with 0 when the logs end or the reader does (| head), and with 130 when it is interrupted while it follows.
Options for every command (--host, --json, --no-color, ...): quarterdeck help`;

/** Global options go before or after the verb; the code of a verb is loaded when it runs. Throws `usage.*`. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a list of commands
export async function parseCommandLine(
  argv: readonly string[],
  { flows, version, columns }: { flows: readonly Flow[]; version: string; columns: number },
): Promise<ParsedLine | { text: string }> {
  let run: Verb | undefined;
  let verb = '';
  let printed = '';
  let inPractice: boolean | undefined;
  const program = new Command('quarterdeck');
  const choose = (name: string, chosen: Verb) => {
    verb = name;
    run = chosen;
  };

  if (!ownsVersion(argv, flows)) program.version(version, '-V, --version', 'print the version');
  program
    .description(
      'A console for a self-hosted stack of containers. Without a command, opens the console, or prints the status outside a terminal.',
    )
    .usage('[options] [command] [arguments]')
    .helpOption('-h, --help', 'print this help')
    .addHelpCommand(
      new Command('help')
        .usage('[COMMAND|TOPIC]')
        .helpOption(false)
        .helpGroup(headingOf('help')?.heading ?? '')
        .description('print the help of a command or topic'),
    )
    .option('--host <name>', 'use this host or engine; "all" for all of them')
    .option('--json', 'print JSON')
    .option('--practice', 'use the practice stack instead of this machine')
    .option('--read-only', 'refuse every change')
    .option('--no-color', 'disable colours')
    .option('-v, --verbose', 'show the details of errors')
    .option('--dry-run', 'show what would be done without doing it')
    .option('-y, --yes', 'answer confirmation prompts with yes')
    .option(
      '--answers <file>',
      'read answers to prompts from a JSON file that maps steps to answers; "-" reads standard input, which may contain secrets',
    )
    .option('--confirm <name>', 'confirm a change on a production host by its name')
    .argument('[verb]')
    .allowExcessArguments(true)
    .action(() => {
      const [unknown] = program.args;
      if (unknown !== undefined) throw unknownVerb(unknown, program);
    });

  program
    .command('status [component]')
    .usage('[COMPONENT]')
    .description('show the state of all components, or the details of one')
    .action((name?: string) => choose('status', async (context) => (await import('./commands/status.ts')).runStatusVerb(context, name)));
  program
    .command('ports')
    .description('list open ports, their owners and who can reach them')
    .action(() => choose('ports', async (context) => (await import('./commands/ports.ts')).runPortsVerb(context)));
  program
    .command('logs [components...]')
    .usage('COMPONENT... [options]')
    .description('show the logs of components')
    .option('-f, --follow', 'follow new lines, across restarts')
    .option('-n, --tail <lines>', 'show this many lines from the end of each log (default "all")')
    .option('--since <time>', 'show only lines since this time: 10m, 14:02 or "2026-11-20 14:02"; append Z for UTC')
    .option('--until <time>', 'show only lines until this time')
    .option(
      '-g, --grep <filter>',
      'show only lines that contain this text or match /regular expression/; a leading ! inverts the filter; a capital letter makes it case-sensitive',
    )
    .option('--service <name>', 'show only this service; can be repeated', (name: string, before: string[] = []) => [...before, name])
    .option('--stdout', 'show only lines from stdout')
    .option('--stderr', 'show only lines from stderr')
    .option('-t, --timestamps', 'show the time of each line, in UTC')
    .option('--raw', 'keep escape sequences; not allowed if the output is a terminal')
    .option('--all', 'show the logs of all components')
    .addHelpText('after', logsNotes)
    .action((names: string[], flags: LogsFlags) =>
      choose('logs', async (context) => (await import('./commands/logs.ts')).runLogsVerb(context, names, flags)),
    );
  program
    .command('catalog [words...]')
    .usage('COMMAND')
    .summary('list and show known components; create and check your own entries')
    .description(
      'Known components: "list [WORDS]" lists or searches them, "show ID" shows one. Your own entries: "new" creates one, "check FOLDER" reports problems, "schema" prints the JSON schema for your editor.',
    )
    .option('--path', 'with "schema": print the path of the schema instead')
    .action((words: string[], flags: { path?: boolean }) =>
      choose('catalog', async (context) => (await import('./commands/catalog.ts')).runCatalogVerb(context, words, flags)),
    );

  for (const flow of flowsFor(argv, flows)) addFlow(program, flow, choose);

  program
    .command('audit [action]')
    .usage('[verify]')
    .description('list changes, who made them and when; verify the log')
    .option('--all', 'show all entries instead of the last 50')
    .action((action: string | undefined, { all }: { all?: boolean }) =>
      choose('audit', async (context) => (await import('./commands/audit.ts')).runAuditVerb(context, action, all === true)),
    );
  program
    .command('practice [action] [words...]')
    .usage('[serve | incident [NAME]]')
    .summary('try the console on a simulated stack')
    .description(
      'Opens the console on a practice stack: a simulated engine with components from the catalog, in memory only. "serve" runs the stack without the console until you stop it, and prints its address; "incident" simulates a failure in a served stack.',
    )
    .action((action: string | undefined, words: string[]) => {
      verb = 'practice';
      // `practice compose` backs the practice machine's own compose, which uses the engine that it is told to use.
      inPractice = action !== 'serve' && action !== 'compose';
      if (action !== undefined)
        choose('practice', async (context) => (await import('./commands/practice.ts')).runPracticeVerb(context, action, words));
    });
  const again = program
    .command('run [words...]')
    .usage('[FLOW ... | --resume RUN]')
    .summary('run a flow by its name, or list interrupted runs')
    .description(
      'Runs a flow by its name (backup-all) or its command (backup all), with its arguments. Without arguments, lists interrupted runs that can be resumed. A resumed run keeps all answers except secrets and does not repeat completed steps.',
    )
    .option('--resume <run>', 'resume an interrupted run')
    .allowUnknownOption()
    .action(async (words: string[]) => {
      const { resume } = again.opts<{ resume?: string }>();
      if (words.length > 0 && resume === undefined) await runByName(program, flows, words);
      else choose('run', async (context) => (await import('./commands/run.ts')).runRunVerb(context, flows, resume));
    });
  program
    .command('completion [shell]')
    .usage('bash|zsh|fish')
    .description('print a completion script for your shell')
    .action((shell?: string) =>
      choose('completion', async (context) => (await import('./commands/completion.ts')).runCompletionVerb(context, shell)),
    );
  program
    .command('explain [code]')
    .usage('[CODE]')
    .description('explain an error code: meaning, typical causes, fix, exit code')
    .action((code?: string) => choose('explain', async (context) => (await import('./commands/explain.ts')).runExplainVerb(context, code)));
  // Called by the completion script.
  program
    .command('complete [words...]', { hidden: true })
    .allowUnknownOption(true)
    .action((words: string[]) =>
      choose('complete', async (context) => (await import('./commands/completion.ts')).runCompleteVerb(context, program, words)),
    );
  program
    .command('flows')
    .description('list all flows')
    .action(() => choose('flows', async (context) => (await import('./commands/flows.ts')).runFlowsVerb(context, flows)));

  program.addHelpText(
    'after',
    `\nTopics for quarterdeck help:\n  ${topics.join(', ')}\n\nOptions can be placed before or after the command.\nExit codes: 0 done, 1 failed, 2 usage error, 3 unreachable, 4 refused, 5 unknown result, 130 interrupted.`,
  );
  for (const command of program.commands) command.helpGroup(headingOf(command.name())?.heading ?? 'More:');
  for (const command of [program, ...program.commands, ...program.commands.flatMap((group) => group.commands)]) {
    command
      .configureHelp({
        visibleArguments: () => [],
        subcommandTerm: (sub) => {
          const own = sub.usage().replace('[options]', '').trim();
          // A verb that other verbs begin with: `backup COMPONENT`, `backup list`.
          const shared = own !== 'COMMAND' && sub.commands.length > 0;
          return `${sub.name()} ${[own, shared ? 'COMMAND' : ''].filter(Boolean).join('|')}`.trim();
        },
        subcommandDescription: (sub) => sub.summary() || sub.description(),
      })
      .exitOverride()
      .showSuggestionAfterError(true)
      .configureOutput({
        writeOut: (text) => {
          printed += text;
        },
        writeErr: () => {},
        getOutHelpWidth: () => columns,
      });
  }

  if (isHelp(argv)) await addExamples(program);
  const topic = await topicIn(wordsIn(argv), columns);
  if (topic && !program.commands.some((command) => command.name() === topic.name)) return topic;
  try {
    await program.parseAsync(asked(argv, program), { from: 'user' });
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    if (thrown.exitCode === 0) return { text: topic ? `${printed}\n${topic.text}` : printed };
    throw usageFault(thrown, argv, program);
  }
  const { color, ...given } = program.opts<Partial<GlobalOptions> & { color: boolean }>();
  return { run, verb, program, options: { ...usualOptions, ...given, colour: color, practice: inPractice ?? given.practice === true } };
}

/** Turns `help secrets reveal` into `secrets reveal --help`: commander's own help accepts one word. */
function asked(argv: readonly string[], program: Command): readonly string[] {
  const [help, first, second] = wordsIn(argv);
  const group = help === 'help' && second !== undefined ? program.commands.find((command) => command.name() === first) : undefined;
  if (!group || group.commands.length === 0) return argv;
  if (!group.commands.some((command) => command.name() === second)) throw unknownVerb(`${first} ${second}`, group, first);
  return [group.name(), second ?? '', '--help'];
}

/** Options before a verb whose next word is their value, not the verb. */
const takesWord: ReadonlySet<string> = new Set(['--host', '--answers', '--confirm']);

function wordsIn(argv: readonly string[]): string[] {
  return argv.filter((word, index) => !word.startsWith('-') && !takesWord.has(argv[index - 1] ?? ''));
}

/** Returns whether `--version` is an option of the command itself: commander would print the program's version. */
function ownsVersion(argv: readonly string[], flows: readonly Flow[]): boolean {
  const words = wordsIn(argv).filter((word, index) => index > 0 || word !== 'run');
  return flows.some(({ verb, flags }) => flags?.version !== undefined && `${words.join(' ')} `.startsWith(`${verb} `));
}

function isHelp(argv: readonly string[]): boolean {
  return wordsIn(argv)[0] === 'help' || argv.some((word) => word === '-h' || word === '--help');
}

async function topicIn([help, name = '', more]: readonly string[], columns: number): Promise<{ name: string; text: string } | undefined> {
  if (help !== 'help' || more !== undefined || !topics.includes(name)) return undefined;
  return { name, text: await topicText(name, columns) };
}

/** Verbs that are parsed without any flow. */
const without: ReadonlySet<string> = new Set(['status', 'ports', 'logs', 'audit', 'practice', 'explain', 'completion', 'flows']);

/** Returns the flows that the command line can mean: with all 130, commander takes longer to set up than many verbs take to run. */
function flowsFor(argv: readonly string[], flows: readonly Flow[]): readonly Flow[] {
  const [first, second] = wordsIn(argv);
  // The last word is still being typed.
  const typed = first === 'complete' ? wordsIn(argv).slice(1, -1) : [];
  if (typed.length > 0) return flowsFor(typed, flows);
  const verb = first === 'help' ? (second ?? first) : first;
  if (verb === undefined) return isHelp(argv) ? inHelpOrder(flows) : [];
  if (without.has(verb)) return [];
  const meant = flows.filter((flow) => flow.verb.split(' ')[0] === verb);
  // Help and misspelled verbs require all flows.
  return meant.length > 0 ? meant : flows;
}

/** Returns commander's message as a fault, with its suggestion as the remedy. */
function usageFault(error: CommanderError, argv: readonly string[], program: Command): Fault {
  const [verb, named] = wordsIn(argv);
  if (verb === 'help' && named !== undefined) return unknownVerb(named, program, undefined, topics);
  const [first = '', ...rest] = error.message.replace(/^error: /, '').split('\n');
  const suggestion = rest
    .join(' ')
    .trim()
    .replace(/^\((.*)\)$/, '$1');
  const inside = verb === 'exec' ? 'Put "--" before the program: quarterdeck exec COMPONENT -- PROGRAM --its-option' : '';
  const usage = `Show the usage: quarterdeck help${verb ? ` ${cleanLine(verb)}` : ''}`;
  return new Fault('usage.commandLine', asSentence(cleanLine(first)), inside || suggestion || usage);
}
