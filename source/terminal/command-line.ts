import { Command, CommanderError, Option } from 'commander';
import { Fault } from '../faults/fault.ts';
import type { Flow, FlowInput } from '../flows/flow.ts';
import { cleanLine } from '../text/clean.ts';
import { nameRemedy } from '../text/nearest-name.ts';
import type { GlobalOptions } from './global-options.ts';
import type { LogsFlags } from './logs-verb.ts';
import type { Verb } from './verb.ts';

/** What the command line asked for. `verb` names it for reports, without its arguments. */
export interface ParsedLine {
  options: GlobalOptions;
  verb: string;
  /** Undefined for the bare command: the console, or the status. */
  run: Verb | undefined;
}

/** Help or version was asked for, and is what there is to print. */
export interface PrintedLine {
  text: string;
}

interface Commands {
  flows: readonly Flow[];
  version: string;
  columns: number;
}

const logsNotes = `
Lines of several containers are merged by time, and each names whose it is. --tail counts before --grep looks.
Escape sequences are removed but for colours on a terminal. With --json each line is one object.
Ends with 0 when the logs end or the reader does (| head), and with 130 when it is interrupted while it follows.
Options for every verb (--host, --json, --no-color, ...): quarterdeck help`;

/**
 * Reads the command line. Global options stand before or after the verb; a verb's code is loaded when it runs. Throws `usage.*`.
 */
export async function parseCommandLine(argv: readonly string[], { flows, version, columns }: Commands): Promise<ParsedLine | PrintedLine> {
  let run: Verb | undefined;
  let verb = '';
  let printed = '';
  let inPractice: boolean | undefined;
  const program = new Command('quarterdeck');
  const choose = (name: string, chosen: Verb) => {
    verb = name;
    run = chosen;
  };

  program
    .description('A console for a self-hosted stack of containers. Without a verb: the console, or without a terminal the status.')
    .usage('[options] [verb] [arguments]')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [verb]', 'print the help of a verb')
    .option('--host <name>', 'the host or engine that is meant; "all" for every one')
    .option('--json', 'print JSON')
    .option('--practice', 'on the practice stack, not on this machine')
    .option('--read-only', 'change nothing, whatever is asked')
    .option('--no-color', 'print without colours')
    .option('-v, --verbose', 'say more about what goes wrong')
    .option('--rehearse', 'show what would be done, and do nothing')
    .addOption(new Option('--dry-run', 'the same as --rehearse'))
    .option('-y, --yes', 'confirm what would be asked')
    .option('--confirm <name>', 'the name that a production host wants typed')
    .argument('[verb]')
    .allowExcessArguments(true)
    .action(() => {
      const [unknown] = program.args;
      if (unknown === undefined) return;
      throw unknownVerb(unknown, program);
    });

  program
    .command('status [component]')
    .usage('[COMPONENT]')
    .description('the state of everything, or all about one component')
    .action((name?: string) => choose('status', async (context) => (await import('./status-verb.ts')).runStatusVerb(context, name)));
  program
    .command('ports')
    .description('who listens where, and who can reach it')
    .action(() => choose('ports', async (context) => (await import('./ports-verb.ts')).runPortsVerb(context)));
  program
    .command('logs [components...]')
    .usage('COMPONENT... [options]')
    .description('what components write, into a terminal or a pipe')
    .option('-f, --follow', 'go on with what comes, over restarts too')
    .option('-n, --tail <lines>', 'begin so many lines from the end of each container; "all" is the default')
    .option('--since <time>', 'from then on: 10m, 14:02, "2026-11-20 14:02", with Z for UTC')
    .option('--until <time>', 'no further than this')
    .option('-g, --grep <filter>', 'only lines with this text, or /regular expression/; behind ! those without; a capital makes it exact')
    .option('--service <name>', 'only this service; may be given again', (name: string, before: string[] = []) => [...before, name])
    .option('--stdout', 'only what was written to stdout')
    .option('--stderr', 'only what was written to stderr')
    .option('-t, --timestamps', 'the time before each line, in UTC')
    .option('--raw', 'lines as the program wrote them, escape sequences included; not into a terminal')
    .option('--all', 'every component')
    .addHelpText('after', logsNotes)
    .action((names: string[], flags: LogsFlags) =>
      choose('logs', async (context) => (await import('./logs-verb.ts')).runLogsVerb(context, names, flags)),
    );
  program
    .command('catalog [words...]')
    .usage('[list | show ID | check FOLDER]')
    .description('the components that are known')
    .action((words: string[]) => choose('catalog', async (context) => (await import('./catalog-verb.ts')).runCatalogVerb(context, words)));

  for (const flow of flows) addFlow(program, flow, choose);

  program
    .command('audit [action]')
    .usage('[verify]')
    .description('what was changed, by whom and when; is the log whole?')
    .option('--all', 'everything, not only the last 50')
    .action((action: string | undefined, { all }: { all?: boolean }) =>
      choose('audit', async (context) => (await import('./audit-verb.ts')).runAuditVerb(context, action, all === true)),
    );
  program
    .command('practice [action] [words...]')
    .usage('[serve | incident [NAME]]')
    .summary('look around where nothing can break')
    .description(
      'The console on a practice stack: an engine with a dozen components that live in memory. "serve" runs it alone until it is stopped and prints where it is; "incident" lets something go wrong in the served one.',
    )
    .action((action: string | undefined, words: string[]) => {
      verb = 'practice';
      // What the practice machine's own compose is made of speaks to the engine that it is told.
      inPractice = action !== 'serve' && action !== 'compose';
      if (action !== undefined)
        choose('practice', async (context) => (await import('./practice-verb.ts')).runPracticeVerb(context, action, words));
    });
  program
    .command('flows')
    .description('everything that can be done')
    .action(() => choose('flows', async (context) => (await import('./flows-verb.ts')).runFlowsVerb(context, flows)));

  program.addHelpText(
    'after',
    '\nOptions stand before or after the verb. \nExit codes: 0 done, 1 failed, 2 wrong usage, 3 not reachable, 4 refused, 130 interrupted.',
  );
  for (const command of [program, ...program.commands, ...program.commands.flatMap((group) => group.commands)]) {
    command
      .configureHelp({
        visibleArguments: () => [],
        subcommandTerm: (sub) => {
          const own = sub.usage().replace('[options]', '').trim();
          // A verb of its own that others begin with too: `backup COMPONENT`, `backup list`.
          const shared = own !== 'VERB' && sub.commands.length > 0;
          return `${sub.name()} ${[own, shared ? 'VERB' : ''].filter(Boolean).join('|')}`.trim();
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

  try {
    await program.parseAsync(asked(argv, program), { from: 'user' });
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    if (thrown.exitCode === 0) return { text: printed };
    throw argv[0] === 'help' && argv[1] !== undefined ? unknownVerb(argv[1], program) : usageFault(thrown, argv);
  }
  const options = program.opts<{
    host?: string;
    json?: boolean;
    practice?: boolean;
    readOnly?: boolean;
    color: boolean;
    verbose?: boolean;
    rehearse?: boolean;
    dryRun?: boolean;
    yes?: boolean;
    confirm?: string;
  }>();
  return {
    run,
    verb,
    options: {
      ...(options.host !== undefined && { host: options.host }),
      ...(options.confirm !== undefined && { confirm: options.confirm }),
      json: options.json === true,
      practice: inPractice ?? options.practice === true,
      readOnly: options.readOnly === true,
      colour: options.color,
      verbose: options.verbose === true,
      rehearse: options.rehearse === true || options.dryRun === true,
      yes: options.yes === true,
    },
  };
}

/** `help secrets reveal` is what `secrets reveal --help` is: commander's own help knows one word. */
function asked(argv: readonly string[], program: Command): readonly string[] {
  const [help, first, second] = argv.filter((word) => !word.startsWith('-'));
  const group = help === 'help' && second !== undefined ? program.commands.find((command) => command.name() === first) : undefined;
  if (!group || group.commands.length === 0) return argv;
  if (!group.commands.some((command) => command.name() === second)) throw unknownVerb(`${first} ${second}`, group, first);
  return [group.name(), second ?? '', '--help'];
}

function unknownVerb(written: string, program: Command, group?: string): Fault {
  return new Fault({
    code: 'usage.verb',
    message: `There is no verb "${cleanLine(written)}".`,
    remedy: nameRemedy(
      written,
      group === undefined
        ? ['help', ...program.commands.map((command) => command.name())]
        : program.commands.map((command) => `${group} ${command.name()}`),
      'Use "quarterdeck help".',
    ),
  });
}

function addFlow(program: Command, flow: Flow, choose: (name: string, verb: Verb) => void): void {
  const words = flow.usage === undefined ? '' : ` ${flow.usage}`;
  const [first = '', second] = flow.verb.split(' ');
  const parent = second === undefined ? program : groupOf(program, first);
  const command = parent
    .command(`${second ?? first} [words...]`)
    .summary(firstLower(flow.title))
    .description(flow.summary)
    .usage(`${flow.about !== 'host' && !flow.subject ? `COMPONENT${flow.all ? '|all' : ''}` : ''}${words} [options]`.trim())
    .action((given: string[]) => {
      const flags = { ...(second !== undefined && takenOver(parent, flow)), ...writtenOptions(command) };
      choose(flow.verb, async (context) => (await import('./flow-verb.ts')).runFlowVerb(context, flow, given, flags));
    });
  command.addHelpText('after', '\nOptions for every verb (--host, --json, --rehearse, --yes, ...): quarterdeck help');
  for (const [name, { meaning, value, repeats }] of Object.entries(flow.flags ?? {})) {
    const written = value === undefined ? `--${name}` : `--${name} <${value.toLowerCase()}>`;
    if (repeats) command.option(written, meaning, (given: string, before: string[] = []) => [...before, given]);
    else command.option(written, meaning);
  }
}

/** By the names that flows give them: commander's own are spelled otherwise (`keepAll`), and `--no-backup` is there called `backup`, and true until it is said. */
function writtenOptions(command: Command): Record<string, FlowInput['options'][string]> {
  const values = command.opts<Record<string, FlowInput['options'][string] | undefined>>();
  return Object.fromEntries(
    command.options.flatMap((option) => {
      const value = values[option.attributeName()];
      if (option.negate) return value === false ? [[option.name(), true]] : [];
      return value === undefined ? [] : [[option.name(), value]];
    }),
  );
}

/** "backup" runs and is a group as well, and commander gives it the options of "backup list" that both have. Throws what commander throws. */
function takenOver(parent: Command, flow: Flow): FlowInput['options'] {
  const written = writtenOptions(parent);
  const unknown = Object.keys(written).find((name) => !flow.flags?.[name]);
  if (unknown !== undefined) throw new CommanderError(1, 'commander.unknownOption', `error: unknown option '--${unknown}'`);
  return written;
}

/** The command that several verbs share as their first word. Alone it prints what there is of it. */
function groupOf(program: Command, name: string): Command {
  const known = program.commands.find((command) => command.name() === name);
  if (known) return known;
  const group = program.command(name).usage('VERB [options]').helpCommand(false);
  group.summary(`${name}, in several ways`).action(() => {
    const [unknown] = group.args;
    if (unknown !== undefined) throw unknownVerb(`${name} ${unknown}`, group, name);
    throw new Fault({
      code: 'usage.verb',
      message: `"${name}" needs to be told what.`,
      remedy: `Use one of: ${group.commands.map((command) => `${name} ${command.name()}`).join(', ')}.`,
    });
  });
  return group.allowExcessArguments(true).argument('[verb]');
}

function firstLower(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}

/** Commander's message, with its suggestion as the remedy. */
function usageFault(error: CommanderError, argv: readonly string[]): Fault {
  const [first = '', ...rest] = error.message.replace(/^error: /, '').split('\n');
  const suggestion = rest
    .join(' ')
    .trim()
    .replace(/^\((.*)\)$/, '$1');
  const verb = argv.find((word) => /^[a-z]/.test(word));
  const inside = verb === 'exec' ? 'Put "--" before the program: quarterdeck exec COMPONENT -- PROGRAM --its-option' : '';
  const sentence = cleanLine(first);
  return new Fault({
    code: 'usage.commandLine',
    message: `${sentence.slice(0, 1).toUpperCase()}${sentence.slice(1)}${/[.?!]$/.test(sentence) ? '' : '.'}`,
    remedy: inside || suggestion || `"quarterdeck help${verb ? ` ${cleanLine(verb)}` : ''}" tells how it is written.`,
  });
}
