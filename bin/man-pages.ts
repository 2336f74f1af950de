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

const pageName = (...names: readonly string[]) => ['quarterdeck', ...names].join('-');

/** Returns the pages by file name: one of the program, of each command and of each subcommand. */
export async function manPages(program: Command, version: string, day: string): Promise<Map<string, string>> {
  const examples = await readExamples();
  const help = program.createHelp();
  const below = (command: Command) => help.visibleCommands(command).filter((each) => each.name() !== 'help');
  /** As in the help: of a group, the first one of each of its commands. */
  const examplesOf = (name: string, parts: readonly Command[]) => {
    const shown = examples[name] ?? parts.flatMap((each) => examples[`${name} ${each.name()}`]?.slice(0, 1) ?? []);
    return section('EXAMPLES', shown.map((each) => `  quarterdeck ${each}`).join('\n'));
  };
  const list = (names: readonly string[], commands: readonly Command[]) =>
    headed(
      'COMMANDS',
      commands.flatMap((each) => item(`${pageName(...names, each.name())}(1)`, help.subcommandDescription(each))),
    );
  const page = (name: string, summary: string, command: Command, more: readonly string[]): [string, string] => {
    const title = `.TH ${escaped(name.toUpperCase())} 1 ${day} "Quarterdeck ${version}"`;
    const about = [...section('NAME', `${name} - ${summary}`), ...section('SYNOPSIS', help.commandUsage(command))];
    const description = section('DESCRIPTION', command.description() || summary);
    return [`${name}.1`, [title, ...about, ...description, ...headed('OPTIONS', optionItems(command)), ...more, ''].join('\n')];
  };
  const pagesOf = (command: Command, parents: readonly string[]): [string, string][] => {
    const names = [...parents, command.name()];
    const parts = below(command);
    const more = [...list(names, parts), ...examplesOf(names.join(' '), parts)];
    const seeAlso = ['quarterdeck(1)', ...parents.map((_, index) => `${pageName(...parents.slice(0, index + 1))}(1)`)].join(', ');
    const own = page(pageName(...names), help.subcommandDescription(command), command, [...more, ...section('SEE ALSO', seeAlso)]);
    return [own, ...parts.flatMap((each) => pagesOf(each, names))];
  };
  const commands = below(program);
  const topic = async (name: string) => (await topicText(name, Number.POSITIVE_INFINITY)).replace(/^.*\n\n/, '');
  const main = page(pageName(), 'console for a self-hosted stack of containers', program, [
    ...list([], commands),
    ...examplesOf('', []),
    ...section('EXIT STATUS', await topic('exit-codes')),
    ...section('ENVIRONMENT', await topic('environment')),
    ...section('FILES', await topic('configuration')),
  ]);
  return new Map([main, ...commands.flatMap((command) => pagesOf(command, []))]);
}
