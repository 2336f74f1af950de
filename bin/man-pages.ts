import type { Command } from 'commander';
import { readExamples } from '../source/cli/examples.ts';
import { topicText } from '../source/cli/help-topics.ts';

/** In roff, a backslash begins an escape, a leading dot or apostrophe a request, and a bare hyphen may be typeset as a dash. */
function escaped(text: string): string {
  const plain = text.replaceAll('\\', '\\e').replaceAll('-', '\\-');
  return plain
    .replace(/^(?=[.'])/, '\\&')
    .replace(/[^\x00-\x7f]/gu, (letter) => `\\[u${letter.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`);
}

const headed = (heading: string, lines: readonly string[]) => (lines.length === 0 ? [] : [`.SH ${heading}`, ...lines]);

/** Paragraphs are filled, indented ones stay as they are. */
function section(heading: string, text: string): string[] {
  const paragraphs = text.split('\n\n').map((paragraph) => {
    const lines = paragraph.split('\n').map(escaped);
    return paragraph.startsWith('  ') ? ['.nf', ...lines, '.fi'] : lines;
  });
  return headed(
    heading,
    paragraphs.flatMap((lines, index) => (index === 0 ? lines : ['.PP', ...lines])),
  );
}

const item = (term: string, text: string) => ['.TP', `\\fB${escaped(term)}\\fR`, escaped(text)];

function optionItems(command: Command): string[] {
  const help = command.createHelp();
  const options = help.visibleOptions(command).filter(({ long }) => long !== '--help' || command.parent === null);
  return options.flatMap((option) => item(help.optionTerm(option), help.optionDescription(option)));
}

/** Returns the pages by file name: one of the program, and one of each command with those below it. */
export async function manPages(program: Command, version: string, day: string): Promise<Map<string, string>> {
  const examples = await readExamples();
  const help = program.createHelp();
  const commands = help.visibleCommands(program).filter((command) => command.name() !== 'help');
  const examplesOf = (names: readonly string[]) =>
    section('EXAMPLES', names.flatMap((name) => (examples[name] ?? []).map((each) => `  quarterdeck ${each}`)).join('\n'));
  const page = (name: string, summary: string, command: Command, more: readonly string[]): [string, string] => {
    const title = `.TH ${escaped(name.toUpperCase())} 1 ${day} "Quarterdeck ${version}"`;
    const about = [...section('NAME', `${name} - ${summary}`), ...section('SYNOPSIS', help.commandUsage(command))];
    const description = section('DESCRIPTION', command.description() || summary);
    return [`${name}.1`, [title, ...about, ...description, ...headed('OPTIONS', optionItems(command)), ...more, ''].join('\n')];
  };
  const pages = commands.map((command) => {
    const name = command.name();
    const below = help.visibleCommands(command);
    const parts = below.flatMap((each) => [
      ...[`.SS ${escaped(`${name} ${help.subcommandTerm(each)}`)}`, escaped(each.description())],
      ...optionItems(each),
    ]);
    const shown = examplesOf([name, ...below.map((each) => `${name} ${each.name()}`)]);
    const more = [...headed('COMMANDS', parts), ...shown, ...section('SEE ALSO', 'quarterdeck(1)')];
    return page(`quarterdeck-${name}`, help.subcommandDescription(command), command, more);
  });
  const topic = async (name: string) => (await topicText(name, Number.POSITIVE_INFINITY)).replace(/^.*\n\n/, '');
  const main = page('quarterdeck', 'console for a self-hosted stack of containers', program, [
    ...headed(
      'COMMANDS',
      commands.flatMap((command) => item(`quarterdeck-${command.name()}(1)`, help.subcommandDescription(command))),
    ),
    ...examplesOf(['']),
    ...section('EXIT STATUS', await topic('exit-codes')),
    ...section('ENVIRONMENT', await topic('environment')),
    ...section('FILES', await topic('configuration')),
  ]);
  return new Map([main, ...pages]);
}
