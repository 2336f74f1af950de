import { splitAssignment } from '../../text/words.ts';

/** The effect of a compose command on containers and data, as far as its words show it. */
export interface ComposeEffect {
  /** Undefined if the words contain no subcommand, or contain it after an unknown option. */
  subcommand: string | undefined;
  right: 'reveal' | 'operate' | 'destroy';
  /** Changes nothing: no confirmation on a production host is needed. */
  readsOnly: boolean;
  /** Deletes named or anonymous volumes with their content. */
  deletesVolumes: boolean;
  /** May affect more than the component's own compose file. */
  elsewhere: boolean;
}

/** Options before the subcommand, of compose 1.29, compose 2 and podman-compose. */
const globalFlags: ReadonlySet<string> = new Set(
  '--all-resources --compatibility --dry-run --verbose --no-ansi --no-cleanup --tls --tlsverify --skip-hostname-check -v --version'.split(
    ' ',
  ),
);
const globalValues: ReadonlySet<string> = new Set('--profile --ansi --progress --parallel --log-level'.split(' '));
const elsewhereValues: ReadonlySet<string> = new Set(
  '-f --file -p --project-name --project-directory --workdir --env-file -H --host -c --context'.split(' '),
);

const help: ReadonlySet<string> = new Set(['--help', '-h']);
const readingOnly: ReadonlySet<string> = new Set([...'ps logs images ls top port events stats version help volumes'.split(' '), ...help]);
/** Subcommands that print the file with its variables replaced, including secrets. */
const revealing: ReadonlySet<string> = new Set(['config', 'convert']);
/** Unless one of their `removingOptions` is set. A subcommand in none of these lists counts as removing: its effect is unknown. */
const changing: ReadonlySet<string> = new Set(
  'up create start stop restart pause unpause build pull push run exec cp attach export commit watch wait'.split(' '),
);

/** `--scale web=0` removes containers, and the words do not show how many exist now. */
const removingOptions = ['--remove-orphans', '--renew-anon-volumes', '--scale', '--down-project'];

/**
 * Rights depend on the effect of a command, so the words are parsed as compose parses them; a word that cannot be parsed counts as
 * removing. The words after the service of `exec` and `run` belong to the program.
 */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one pass over the words, as in compose
export function composeEffect(words: readonly string[]): ComposeEffect {
  let at = 0;
  let elsewhere = false;
  let unknown = false;
  for (; words[at]?.startsWith('-') && !help.has(words[at] ?? ''); at += 1) {
    const [name = '', value] = splitAssignment(words[at] ?? '');
    if (elsewhereValues.has(name)) elsewhere = true;
    else if (!globalFlags.has(name) && !globalValues.has(name)) unknown = true;
    if (!globalFlags.has(name) && value === undefined) at += 1;
  }
  // As a plugin of docker, compose prints its version only if nothing follows: `-v down` is `down`.
  const isVersion = words.length === 1 && (words[0] === '-v' || words[0] === '--version');
  const subcommand = unknown ? undefined : isVersion ? 'version' : words[at];
  const options = subcommand === undefined ? [] : ownOptions(subcommand, words.slice(at + 1));
  const common = { subcommand, elsewhere, deletesVolumes: deletesVolumes(subcommand, options) };
  if (subcommand === undefined) return { ...common, right: 'destroy', readsOnly: false };
  if (readingOnly.has(subcommand)) return { ...common, right: 'operate', readsOnly: true };
  if (revealing.has(subcommand)) {
    const writes = options.some((word) => shortOf(word, 'o') || longOf(word, '--output'));
    return { ...common, right: 'reveal', readsOnly: !writes };
  }
  const removes =
    !changing.has(subcommand) || common.deletesVolumes || options.some((word) => removingOptions.some((option) => longOf(word, option)));
  return { ...common, right: removes ? 'destroy' : 'operate', readsOnly: false };
}

function ownOptions(subcommand: string, rest: readonly string[]): readonly string[] {
  const end = rest.indexOf('--');
  const before = end === -1 ? rest : rest.slice(0, end);
  // All their other options either change nothing that existed, or belong to the program.
  return subcommand === 'exec' || subcommand === 'run' ? before.filter((word) => longOf(word, '--remove-orphans')) : before;
}

function deletesVolumes(subcommand: string | undefined, options: readonly string[]): boolean {
  if (subcommand === 'down' || subcommand === 'rm') return options.some((word) => shortOf(word, 'v') || longOf(word, '--volumes'));
  if (subcommand === 'up' && options.some((word) => shortOf(word, 'V') || longOf(word, '--renew-anon-volumes'))) return true;
  // Answers "Recreate (data will be lost)?" for volumes whose declaration in the file has changed.
  if (subcommand === 'up' || subcommand === 'create') return options.some((word) => shortOf(word, 'y') || longOf(word, '--yes'));
  return false;
}

/** `-dV` contains both letters. */
const shortOf = (word: string, letter: string): boolean => /^-[A-Za-z]+/.exec(word)?.[0].includes(letter) === true;

/** compose 1.29 and podman-compose accept abbreviated long options: `--vol`. */
function longOf(word: string, option: string): boolean {
  const [name = ''] = splitAssignment(word);
  return name.length > 2 && option.startsWith(name);
}
