import type { Command } from 'commander';
import { readExamples } from './examples.ts';
import { topicText } from './help-topics.ts';

/** In roff, a backslash begins an escape, a leading dot or apostrophe a request, and a bare hyphen may be typeset as a dash. */
function escaped(text: string): string {
  const plain = text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/, '\\&');
  return plain.replace(/[^\x00-\x7f]/gu, (letter) => `\\[u${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`);
}

/** Paragraphs are filled; indented lines stay as they are. */
function section(heading: string, lines: readonly string[]): string[] {
  const body = lines.flatMap((line, index) => {
    const [code, before] = [line, lines[index - 1] ?? ''].map((each) => each.startsWith('  '));
    const start = code && !before ? ['.nf'] : [];
    const end = before && !code ? ['.fi'] : [];
    if (line !== '') return [...end, ...start, escaped(line)];
    return index === 0 || lines[index - 1] === '' || index === lines.length - 1 ? end : [...end, '.PP'];
  });
  if (lines.at(-1)?.startsWith('  ')) body.push('.fi');
  return body.length === 0 ? [] : [`.SH ${heading}`, ...body];
}

const items = (pairs: readonly (readonly [term: string, text: string])[]): string[] =>
  pairs.flatMap(([term, text]) => ['.TP', `\\fB${escaped(term)}\\fR`, escaped(text)]);

function optionItems(command: Command): string[] {
  const help = command.createHelp();
  const options = help.visibleOptions(command).filter(({ long }) => long !== '--help' || command.parent === null);
  return items(options.map((option) => [help.optionTerm(option), help.optionDescription(option)]));
}

/** Returns the pages by file name: one of the program, and one of each command with those below it. */
export async function manPages(program: Command, version: string, day: string): Promise<Map<string, string>> {
  const examples = await readExamples();
  const help = program.createHelp();
  const commands = help.visibleCommands(program).filter((command) => command.name() !== 'help');
  const examplesOf = (names: readonly string[]) => names.flatMap((name) => (examples[name] ?? []).map((each) => `  quarterdeck ${each}`));
  const headed = (heading: string, lines: readonly string[]) => (lines.length === 0 ? [] : [`.SH ${heading}`, ...lines]);
  const page = (name: string, summary: string, command: Command, more: readonly string[]) => [
    `${name}.1`,
    [
      `.TH ${escaped(name.toUpperCase())} 1 ${day} "Quarterdeck ${version}"`,
      ...section('NAME', [`${name} - ${summary}`]),
      ...section('SYNOPSIS', [help.commandUsage(command)]),
      ...section('DESCRIPTION', [command.description() || summary]),
      ...headed('OPTIONS', optionItems(command)),
      ...more,
      '',
    ].join('\n'),
  ];
  const pages = commands.map((command) => {
    const name = command.name();
    const subcommands = help.visibleCommands(command);
    const parts = subcommands.flatMap((each) => [
      `.SS ${escaped(`${name} ${help.subcommandTerm(each)}`)}`,
      escaped(each.description()),
      ...optionItems(each),
    ]);
    return page(`quarterdeck-${name}`, help.subcommandDescription(command), command, [
      ...headed('COMMANDS', parts),
      ...section('EXAMPLES', examplesOf([name, ...subcommands.map((each) => `${name} ${each.name()}`)])),
      ...section('SEE ALSO', ['quarterdeck(1)']),
    ]);
  });
  const topic = async (name: string) => (await topicText(name, Number.POSITIVE_INFINITY)).split('\n').slice(2);
  const main = page('quarterdeck', 'console for a self-hosted stack of containers', program, [
    ...headed('COMMANDS', items(commands.map((command) => [`quarterdeck-${command.name()}(1)`, help.subcommandDescription(command)]))),
    ...section('EXAMPLES', examplesOf([''])),
    ...section('EXIT STATUS', await topic('exit-codes')),
    ...section('ENVIRONMENT', await topic('environment')),
    ...section('FILES', await topic('configuration')),
  ]);
  return new Map([main, ...pages] as [string, string][]);
}
