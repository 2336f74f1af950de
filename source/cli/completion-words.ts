import type { Command, Option } from 'commander';
import { splitAssignment } from '../text/words.ts';
import { topics } from './help-topics.ts';

/** Kinds of words on the command line. The shell completes files itself. */
export type WordKind = 'component' | 'entry' | 'engine' | 'host' | 'sshName' | 'file' | 'folder';

export interface Candidate {
  word: string;
  meaning?: string;
}

export interface Completion {
  candidates: readonly Candidate[];
  kinds: readonly WordKind[];
  /** Prefix of each candidate in the same word: `--host=`. */
  before: string;
  engineName: string | undefined;
}

const placeholders: Readonly<Record<string, WordKind>> = {
  COMPONENT: 'component',
  FILE: 'file',
  SOURCE: 'file',
  TARGET: 'file',
  PATH: 'file',
  FOLDER: 'folder',
};

/** Verbs whose words differ in kind from the placeholder in their usage. */
const exceptions: Readonly<Record<string, readonly (readonly WordKind[])[]>> = {
  'hosts add': [['sshName'], ['sshName']],
  deploy: [['entry']],
  restore: [['entry']],
  tasks: [['component']],
  edit: [['component']],
  'hosts check': [['host']],
  'hosts remove': [['host']],
  'hosts trust': [['host']],
  // Paths in a server, not on this machine.
  ...Object.fromEntries(['vault list', 'vault read', 'vault write'].map((verb) => [verb, [['component']]])),
  ...Object.fromEntries(['audit', 'completion', 'incident', 'practice', 'run'].map((verb) => [verb, []])),
};

/** Further words of verbs that are not flows. */
const fixed: Readonly<Record<string, readonly string[]>> = {
  completion: ['bash', 'zsh', 'fish'],
  catalog: ['list', 'show', 'check', 'schema'],
  audit: ['verify'],
  practice: ['serve', 'incident'],
};

interface TypedWords {
  command: Command;
  /** The full name: `hosts add`. */
  name: string;
  taken: readonly string[];
  engineName?: string;
  isHelp: boolean;
  /** After `--`: words of a program that runs in a container. */
  isProgram: boolean;
  /** An option without its value yet. */
  awaiting?: Option;
}

/** The last of `words` may be partial, `''` for a new one. */
export function completionOf(program: Command, words: readonly string[]): Completion {
  const { command, name, taken, engineName, isHelp, isProgram, awaiting } = readWords(program, words.slice(0, -1));
  const last = words.at(-1) ?? '';
  const nothing: Completion = { candidates: [], kinds: [], before: '', engineName };
  if (isProgram) return nothing;
  if (awaiting) return { ...nothing, kinds: kindsOf(awaiting) };
  if (last.startsWith('-')) return { ...nothing, ...optionAt(last, optionsOf(command, program)) };
  const subcommands = taken.length === 0 ? visible(command) : [];
  const verbs = subcommands.map((one) => ({ word: one.name(), meaning: one.summary() || one.description() }));
  const named = command === program ? topics.map((word) => ({ word })) : [];
  if (isHelp) return { ...nothing, candidates: [...verbs, ...named] };
  if (command === program) return { ...nothing, candidates: [...verbs, { word: 'help', meaning: 'print the help of a command or topic' }] };
  const further = taken.length === 0 ? (fixed[name] ?? []).map((word) => ({ word })) : [];
  return { ...nothing, candidates: [...verbs, ...further], kinds: kindsAt(name, command, taken) };
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: each word is read in the light of those before it
function readWords(program: Command, words: readonly string[]): TypedWords {
  const typed: TypedWords = { command: program, name: '', taken: [], isHelp: false, isProgram: false };
  for (const word of words) {
    const { command, name, taken, awaiting } = typed;
    const next = taken.length === 0 ? visible(command).find((one) => one.name() === word) : undefined;
    if (awaiting) {
      if (awaiting.long === '--host') typed.engineName = word;
      typed.awaiting = undefined;
    } else if (word === '--') typed.isProgram = true;
    else if (word.startsWith('-')) {
      const [written, value] = splitAssignment(word);
      const option = optionsOf(command, program).find(({ long, short }) => written === long || written === short);
      if (option?.long === '--host' && value !== undefined) typed.engineName = value;
      if (option && takesValue(option) && value === undefined) typed.awaiting = option;
    } else if (word === 'help' && command === program && taken.length === 0) typed.isHelp = true;
    else if (next) {
      typed.command = next;
      typed.name = `${name} ${word}`.trim();
    } else typed.taken = [...taken, word];
  }
  return typed;
}

/** Completes the name of an option or, after `=`, its value. */
function optionAt(last: string, options: readonly Option[]): Partial<Completion> {
  const [written, value] = splitAssignment(last);
  if (value === undefined) {
    return { candidates: options.map(({ long, short, description }) => ({ word: long ?? short ?? '', meaning: description })) };
  }
  const option = options.find(({ long }) => long === written);
  return option && takesValue(option) ? { kinds: kindsOf(option), before: `${written}=` } : {};
}

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

const takesValue = ({ required, optional }: Option): boolean => required || optional;

function kindsOf(option: Option): WordKind[] {
  if (option.long === '--host' || option.long === '--confirm') return ['engine'];
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
  if (shown.startsWith('COMMAND')) return [];
  const placeholdersShown = shown.split(/\s+/).filter((word) => /[A-Z]/.test(word));
  const repeats = placeholdersShown.at(-1)?.includes('...') === true;
  const here = placeholdersShown[taken.length] ?? (repeats ? placeholdersShown.at(-1) : undefined) ?? '';
  const [, word = ''] = /^\[?([A-Z]+)/.exec(here) ?? [];
  const kind = placeholders[word];
  if (kind === undefined) return [];
  // A path in a container begins with the name of its component.
  return word === 'SOURCE' || word === 'TARGET' ? ['file', 'component'] : [kind];
}
