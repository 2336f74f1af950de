import type { Command, Option } from 'commander';

/** What can stand somewhere on the command line. The shell knows files itself. */
export type WordKind = 'component' | 'entry' | 'place' | 'host' | 'sshName' | 'file' | 'folder';

export interface Candidate {
  word: string;
  meaning?: string;
}

/** What completes the last word: some that are known already, and kinds that have to be looked up. */
export interface Completion {
  candidates: readonly Candidate[];
  kinds: readonly WordKind[];
  /** In front of each, in the same word: `--host=`. */
  before: string;
  /** The place that is meant by `--host`. */
  place: string | undefined;
}

/** What usage texts call it. */
const placeholders: Readonly<Record<string, WordKind>> = {
  COMPONENT: 'component',
  FILE: 'file',
  SOURCE: 'file',
  TARGET: 'file',
  PATH: 'file',
  FOLDER: 'folder',
};

/** Verbs whose words mean something else than their usage says in one word. */
const exceptions: Readonly<Record<string, readonly (readonly WordKind[])[]>> = {
  'hosts add': [['sshName'], ['sshName']],
  deploy: [['entry']],
  restore: [['entry']],
  duty: [['component']],
  edit: [['component']],
  'hosts check': [['host']],
  'hosts remove': [['host']],
  'hosts trust': [['host']],
  // Paths in a server, not on this machine.
  ...Object.fromEntries(['vault list', 'vault read', 'vault write'].map((verb) => [verb, [['component']]])),
  ...Object.fromEntries(['audit', 'completion', 'incident', 'practice', 'run'].map((verb) => [verb, []])),
};

/** Further words of verbs that are no flows. */
const fixed: Readonly<Record<string, readonly string[]>> = {
  completion: ['bash', 'zsh', 'fish'],
  catalog: ['list', 'show', 'check', 'schema'],
  audit: ['verify'],
  practice: ['serve', 'incident'],
};

/** Where the words before the last one lead. */
interface Standing {
  command: Command;
  /** Its name in full: `hosts add`. */
  name: string;
  taken: readonly string[];
  place: string | undefined;
  isHelp: boolean;
  /** Behind `--`: words of a program that runs elsewhere. */
  isProgram: boolean;
  /** An option that waits for its value. */
  awaiting: Option | undefined;
}

/**
 * What can stand where the last word is.
 * @param words behind the name of the program, the last one as far as it is written: `''` for a new one
 */
export function completionOf(program: Command, words: readonly string[]): Completion {
  const { command, name, taken, place, isHelp, isProgram, awaiting } = standingAfter(program, words.slice(0, -1));
  const last = words.at(-1) ?? '';
  const nothing: Completion = { candidates: [], kinds: [], before: '', place };
  if (isProgram) return nothing;
  if (awaiting) return { ...nothing, kinds: kindsOf(awaiting) };
  if (last.startsWith('-')) return { ...nothing, ...optionAt(last, optionsOf(command, program)) };
  const subcommands = taken.length === 0 ? visible(command) : [];
  const verbs = subcommands.map((one) => ({ word: one.name(), meaning: one.summary() || one.description() }));
  if (isHelp) return { ...nothing, candidates: verbs };
  if (command === program) return { ...nothing, candidates: [...verbs, { word: 'help', meaning: 'print the help of a verb' }] };
  const further = taken.length === 0 ? (fixed[name] ?? []).map((word) => ({ word })) : [];
  return { ...nothing, candidates: [...verbs, ...further], kinds: kindsAt(name, command, taken) };
}

function standingAfter(program: Command, words: readonly string[]): Standing {
  const standing: Standing = {
    command: program,
    name: '',
    taken: [],
    place: undefined,
    isHelp: false,
    isProgram: false,
    awaiting: undefined,
  };
  for (const word of words) {
    const { command, name, taken, awaiting } = standing;
    const next = taken.length === 0 ? visible(command).find((one) => one.name() === word) : undefined;
    if (awaiting) {
      if (awaiting.long === '--host') standing.place = word;
      standing.awaiting = undefined;
    } else if (word === '--') standing.isProgram = true;
    else if (word.startsWith('-')) {
      const [written, value] = splitOnce(word);
      const option = optionsOf(command, program).find(({ long, short }) => written === long || written === short);
      if (option?.long === '--host' && value !== undefined) standing.place = value;
      if (option && takesValue(option) && value === undefined) standing.awaiting = option;
    } else if (word === 'help' && command === program && taken.length === 0) standing.isHelp = true;
    else if (next) {
      standing.command = next;
      standing.name = `${name} ${word}`.trim();
    } else standing.taken = [...taken, word];
  }
  return standing;
}

/** The name of an option, or behind `=` its value. */
function optionAt(last: string, options: readonly Option[]): Partial<Completion> {
  const [written, value] = splitOnce(last);
  if (value === undefined) {
    return { candidates: options.map(({ long, short, description }) => ({ word: long ?? short ?? '', meaning: description })) };
  }
  const option = options.find(({ long }) => long === written);
  return option && takesValue(option) ? { kinds: kindsOf(option), before: `${written}=` } : {};
}

/** Verbs that the help shows. */
function visible(command: Command): Command[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((one) => one.name() !== 'help');
}

function optionsOf(command: Command, program: Command): Option[] {
  const own = command === program ? [] : command.createHelp().visibleOptions(command);
  const common = program.createHelp().visibleOptions(program);
  return [...own, ...common.filter(({ long }) => !own.some((option) => option.long === long))];
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}

function splitOnce(word: string): [string, string | undefined] {
  const at = word.indexOf('=');
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

function kindsOf(option: Option): WordKind[] {
  if (option.long === '--host' || option.long === '--confirm') return ['place'];
  if (option.long === '--component') return ['component'];
  const [, value = ''] = /[<[]([^>\]]+)[>\]]/.exec(option.flags) ?? [];
  const kind = placeholders[value.toUpperCase()];
  return kind === undefined ? [] : [kind];
}

function kindsAt(name: string, command: Command, taken: readonly string[]): readonly WordKind[] {
  if (name === 'catalog') return taken.length !== 1 ? [] : taken[0] === 'show' ? ['entry'] : taken[0] === 'check' ? ['folder'] : [];
  const exception = exceptions[name];
  if (exception) return exception[taken.length] ?? [];
  const shown = command.usage().replace('[options]', '').trim();
  if (shown.startsWith('VERB')) return [];
  const places = shown.split(/\s+/).filter((word) => /[A-Z]/.test(word));
  const repeats = places.at(-1)?.includes('...') === true;
  const here = places[taken.length] ?? (repeats ? places.at(-1) : undefined) ?? '';
  const [, word = ''] = /^\[?([A-Z]+)/.exec(here) ?? [];
  const kind = placeholders[word];
  if (kind === undefined) return [];
  // A path in a container begins with whose it is.
  return word === 'SOURCE' || word === 'TARGET' ? ['file', 'component'] : [kind];
}
