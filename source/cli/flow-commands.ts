import { type Command, CommanderError } from 'commander';
import { Fault } from '../faults/fault.ts';
import type { Flow, FlowInput } from '../flows/flow.ts';
import { cleanLine } from '../text/clean.ts';
import { nameRemedy } from '../text/nearest-name.ts';
import type { Verb } from './command.ts';
import { headingOf } from './command-headings.ts';

export function addFlow(program: Command, flow: Flow, choose: (name: string, verb: Verb) => void): void {
  const words = flow.usage === undefined ? '' : ` ${flow.usage}`;
  const [first = '', second] = flow.verb.split(' ');
  const parent = second === undefined ? program : groupOf(program, first);
  const command = parent
    .command(`${second ?? first} [words...]`)
    .summary(flow.title.slice(0, 1).toLowerCase() + flow.title.slice(1))
    .description(flow.summary)
    .usage(`${subjectUsage(flow)}${words} [options]`.trim())
    .action((given: string[]) => {
      const flags = { ...(second !== undefined && takenOver(parent, flow)), ...writtenOptions(command) };
      choose(flow.verb, async (context) => (await import('./commands/flow.ts')).runFlowVerb(context, flow, given, flags));
    });
  command.addHelpText('after', '\nOptions for every command (--host, --json, --dry-run, --yes, ...): quarterdeck help');
  for (const [name, { meaning, value, repeats }] of Object.entries(flow.flags ?? {})) {
    const written = value === undefined ? `--${name}` : `--${name} <${value.toLowerCase()}>`;
    if (repeats) command.option(written, meaning, (given: string, before: string[] = []) => [...before, given]);
    else command.option(written, meaning);
  }
}

function subjectUsage({ about, subject, all, speaks }: Flow): string {
  if (about === 'host' || subject) return '';
  if (speaks !== undefined) return '[COMPONENT]';
  return all ? 'COMPONENT|all' : 'COMPONENT';
}

/** Under the names that flows use: commander has `keepAll`, and stores `--no-backup` as `backup`, true by default. */
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

/** "backup" is a verb and a group: commander assigns options that it shares with "backup list" to it. Throws commander's errors. */
function takenOver(parent: Command, flow: Flow): FlowInput['options'] {
  const written = writtenOptions(parent);
  const unknown = Object.keys(written).find((name) => !flow.flags?.[name]);
  if (unknown !== undefined) throw new CommanderError(1, 'commander.unknownOption', `error: unknown option '--${unknown}'`);
  return written;
}

/** Runs a verb as if it had been typed. Throws commander's errors. */
export async function runByName(program: Command, flows: readonly Flow[], words: readonly string[]): Promise<void> {
  const [first = '', second = ''] = words;
  const flow = flows.find(({ id, verb }) => id === first || verb === first) ?? flows.find(({ verb }) => verb === `${first} ${second}`);
  if (!flow) {
    const remedy = nameRemedy(first, new Set(flows.flatMap(({ id, verb }) => [id, verb])), 'List the flows: quarterdeck flows');
    throw new Fault('usage.flow', `Unknown flow "${cleanLine(first)}".`, remedy);
  }
  const used = flow.verb === `${first} ${second}` ? 2 : 1;
  let command = program;
  for (const name of flow.verb.split(' ')) command = command.commands.find((one) => one.name() === name) ?? command;
  await command.parseAsync(words.slice(used), { from: 'user' });
}

/** Returns the command that several verbs share as their first word. Alone it prints its subcommands. */
function groupOf(program: Command, name: string): Command {
  const known = program.commands.find((command) => command.name() === name);
  if (known) return known;
  const group = program.command(name).usage('COMMAND [options]').helpCommand(false);
  group.summary(headingOf(name)?.summary ?? `${name}, with subcommands`).action(() => {
    const [unknown] = group.args;
    if (unknown !== undefined) throw unknownVerb(`${name} ${unknown}`, group, name);
    const message = `"${name}" requires a subcommand.`;
    throw new Fault('usage.verb', message, `Use quarterdeck ${name} ${group.commands.map((command) => command.name()).join('|')}.`);
  });
  return group.allowExcessArguments(true).argument('[verb]');
}

/** `more`: further names that the word could mean. */
export function unknownVerb(written: string, program: Command, group?: string, more: readonly string[] = []): Fault {
  const names = program.commands.map((command) => command.name());
  const known = group === undefined ? ['help', ...names, ...more] : names.map((name) => `${group} ${name}`);
  const remedy = nameRemedy(written, known, 'Use "quarterdeck help".');
  return new Fault('usage.verb', `Unknown command${more.length > 0 ? ' or topic' : ''} "${cleanLine(written)}".`, remedy);
}
