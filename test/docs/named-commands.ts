import { flows } from '../../source/app/flow-registry.ts';
import { parseCommandLine } from '../../source/cli/command-line.ts';
import { Fault } from '../../source/faults/fault.ts';
import { placeholder, type SourceText } from './source-texts.ts';

/** The program with words behind it; a command may be broken over lines. */
const program = /(?<![\w./-])(?:quarterdeck|qd)(?:\s+|\\\n\s*)(?=[a-z-])/g;
/** The end of a command inside of a sentence. Prose behind it that begins without one of these is read as further words: what counts is that verb and options are known. */
const end = /[.,;:!?)](?:\s|$)|[()|<>#…}"`]|\s(?:or|and|then|---)\s|\.\.\.|\\n|\n\s*\n|\n\s*(?=(?:\$ )?(?:quarterdeck|qd)\s)/;

export interface Named {
  where: string;
  command: string;
}

/** Every `quarterdeck ...` in a text, without the program and without the sentence around it. */
export function commandsIn({ where, text }: SourceText): Named[] {
  return [...text.matchAll(program)].flatMap(({ index, 0: { length } }) => named(where, text.slice(index + length)));
}

const verbs = new Set([
  ...flows.flatMap(({ verb }) => [verb, verb.split(' ')[0] ?? '']),
  ...'status ports logs catalog audit practice run explain completion help'.split(' '),
]);

/**
 * Commands that are named without the program: quoted, or in a document's code, they begin with a verb, and further words follow. What means several at once (`list|check`) is each of
 * them.
 */
export function verbsIn({ where, text }: SourceText): Named[] {
  const spans = [...text.matchAll(/(?<![\w`])([`"])([a-z][a-z-]* [^`"]+?)\1(?![\w`])/g)].map(([, , span = '']) => span);
  if (/^[a-z-]+ (?:[a-z-]+ )?(?!SOME)[A-Z]/.test(text)) spans.push(text);
  return spans.flatMap((span) => {
    const words = span.split(/\s+/);
    const at = words.findIndex((word) => /^[a-z-]+(?:\|[a-z-]+)+$/.test(word));
    const each = at < 0 ? [span] : (words[at] ?? '').split('|').map((word) => words.with(at, word).join(' '));
    return each.filter((one) => verbs.has(one.split(/\s/)[0] ?? '')).flatMap((one) => named(where, one.replace(/ \.\.\.$/, ' --help')));
  });
}

function named(where: string, text: string): Named[] {
  const [command = ''] = text.split(end);
  const words = command
    .replaceAll(/[\][\\]/g, '')
    .replaceAll(/(?<=\s|^)'|'(?=\s|$)/g, '')
    .trim();
  return words === '' || notCommands.test(words) ? [] : [{ where, command: words.replaceAll(/\s+/g, ' ') }];
}

/** What stands behind the name of the program and is no command of it: what the shells' completion registers, and words in capitals that stand for any. */
const notCommands =
  /^(?:qd\b|fi$|found$|-f -a$|for (?:bash|zsh|fish)$|(?:--practice|help) COMMAND\b|(?:--host )?[A-Z]+$|run (?:in|SOME)\b)/;

/** What some commands read themselves as their first word, and what a sentence goes on with behind them. */
const firstWords: Readonly<Record<string, RegExp>> = {
  catalog: /^(?:list|show|new|check|schema)$/,
  audit: /^(?:verify)$/,
  practice: /^(?:serve|incident|compose|opens)$/,
  completion: /^(?:bash|zsh|fish)$/,
};

/** Why the program refuses the command; undefined where it accepts it. */
export async function verdictOf(command: string): Promise<string | undefined> {
  const words = command.split(' ');
  try {
    const parsed = await parseCommandLine(
      words.map((word) => (words[0] === 'help' && [placeholder, 'COMMAND', 'TOPIC'].includes(word) ? 'status' : word)),
      {
        flows,
        version: '0',
        columns: 80,
      },
    );
    if (!('verb' in parsed)) return undefined;
    if (parsed.verb === '' && !parsed.options.readOnly) return 'it names no verb';
    const first = words[words.indexOf(parsed.verb) + 1] ?? '';
    return /^[a-z]+$/.test(first) && firstWords[parsed.verb]?.test(first) === false ? `it knows no "${first}"` : undefined;
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    // An option that is named alone: `logs --since`.
    return words.at(-1)?.startsWith('--') && thrown.message.endsWith('argument missing.') ? undefined : thrown.message;
  }
}

export async function refusedOf(named: readonly Named[]): Promise<string[]> {
  const verdicts = new Map<string, string | undefined>();
  const refused: string[] = [];
  for (const { where, command } of named) {
    if (command.startsWith(placeholder)) continue;
    if (!verdicts.has(command)) verdicts.set(command, await verdictOf(command));
    const verdict = verdicts.get(command);
    if (verdict !== undefined) refused.push(`${where}: quarterdeck ${command}: ${verdict}`);
  }
  return refused;
}

const optionsOfAll = 'host json practice read-only no-color verbose dry-run yes answers confirm help version'.split(' ');
/** Another program with its words, up to the end of the clause; and one of ours, which is parsed. */
const commandsOfOthers =
  /(?<![\w./-])(?:quarterdeck|qd|docker|podman|docker-compose|compose|kubectl|kubeadm|etcdctl|etcdutl|k3s|rke2|talosctl|velero|cscli|restic|headscale|tailscale|bao|vault|ssh|sudo|systemctl|openssl|tar|git|curl|pluto|kubent|apt-get|nebula-cert|journalctl|loginctl|authelia|helm|npm|aws|gcloud|az|gpg|step|iptables|etcd-snapshot)\b[^;]*?(?=[;:]\s|\.\s|"|$)/g;

const isScript = (text: string) => text.includes('\n') && text.includes('$');

/** Options in a sentence that are none of these, nor of every verb. Scripts are no sentences. */
export function unknownOptions(text: string, known: ReadonlySet<string>): string[] {
  if (/[\n$]|&&|\.\.\.$|^--\S+(?: --\S+)+/.test(text) || !/^(?:--|[A-Z"]|SOME)/.test(text) || !/\s/.test(text)) return [];
  return [
    ...text
      .replaceAll(/"[a-z][^"]*"/g, ' ')
      .replaceAll(commandsOfOthers, ' ')
      .matchAll(/(?<![\w-])--([a-z][a-z-]*[a-z])\b/g),
  ].flatMap(([, name = '']) => (known.has(name) || optionsOfAll.includes(name) || text.includes(`${name} restart-policy`) ? [] : [name]));
}

/** Keys as sentences name them: a chord, what is pressed, or a letter before what it does. */
const keyNames =
  /\b((?:Ctrl|Alt)-[A-Za-z]\w*|F\d{1,2})\b|\b[Pp]ress(?:es|ed)? (?:the key )?["'`]?([^\s"'`.,;:]|[A-Z]\w+)["'`]?(?=[\s.,;:]|$)|(?:^|[.:;,] |, which )["'`]?([A-Za-z?/:*<>!|#%])["'`]? (?:marks|asks|opens|shows|starts|stops|lifts|copies|closes|hides|deletes|cancels|begins|yes|no\b|answers|on its row|in the console|goes|draws|quits|finds)/gm;

export function keysIn(text: string): string[] {
  return [...text.matchAll(keyNames)].flatMap(([, ...groups]) => groups.filter((key) => key !== undefined && !key.includes(placeholder)));
}

/** What is typed behind the key of the palette. Colons in times, addresses and YAML are none. */
export function paletteWordsIn(text: string): string[] {
  if (isScript(text)) return [];
  return [...text.matchAll(/(?<=^|[\s(])(?:`:([a-z][a-z -]*)`|":([a-z][a-z -]*)"|:([a-z]{2,}(?:-[a-z]+)*)(?=[\s.,;)]|$))/g)].flatMap(
    ([, ...groups]) => groups.filter((words) => words !== undefined && words !== 'ro'),
  );
}
