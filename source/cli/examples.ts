import type { Command } from 'commander';

/** Returns the examples of each command, without the program's name, by the command's words. */
export async function readExamples(): Promise<Readonly<Record<string, readonly string[]>>> {
  return (await import('./examples.json')).default;
}

/** Adds the examples to the help of each command. A group shows the first one of each of its commands. */
export async function addExamples(program: Command): Promise<void> {
  const examples = await readExamples();
  const add = (command: Command, name: string): readonly string[] => {
    const firsts = command.commands.flatMap((each) => add(each, `${name} ${each.name()}`.trim()).slice(0, 1));
    const shown = examples[name] ?? firsts;
    if (shown.length > 0) command.addHelpText('after', `\nExamples:\n${shown.map((each) => `  quarterdeck ${each}`).join('\n')}`);
    return shown;
  };
  add(program, '');
}
