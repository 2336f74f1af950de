import { flows } from '../../source/app/flow-registry.ts';
import { parseCommandLine } from '../../source/cli/command-line.ts';
import type { Flow } from '../../source/flows/flow.ts';
import { block, code, page, sentence, table } from './markdown.ts';

/** As wide as a page of the site. */
const columns = 74;

const texts = new Map<string, Promise<string>>();

/** Returns what `quarterdeck help WORDS` prints. */
export function helpText(...words: readonly string[]): Promise<string> {
  const name = words.join(' ');
  const known = texts.get(name) ?? parseHelp(words);
  texts.set(name, known);
  return known;
}

async function parseHelp(words: readonly string[]): Promise<string> {
  const help = await parseCommandLine(words.length > 0 ? ['help', ...words] : ['--help'], { flows, version: '0', columns });
  if (!('text' in help)) throw new Error(`"quarterdeck help ${words.join(' ')}" prints nothing.`);
  return help.text.trimEnd();
}

export interface Command {
  name: string;
  /** As the help of the program prints it. */
  summary: string;
  heading: string;
  flows: readonly Flow[];
}

/** Returns the commands in the order of the help. */
export async function readCommands(): Promise<Command[]> {
  const found: Command[] = [];
  let heading = '';
  for (const line of (await helpText()).split('\n')) {
    const title = /^(\S.*):$/.exec(line)?.[1];
    if (title !== undefined) heading = title;
    const [, name, summary = ''] = /^ {2}([a-z][a-z-]*)(?: .*?)?(?: {2,}(\S.*))?$/.exec(line) ?? [];
    const last = found.at(-1);
    if (name !== undefined && name !== 'help' && !/^(?:Options|Topics|Examples)/.test(heading))
      found.push({ name, summary, heading, flows: flows.filter(({ verb }) => verb.split(' ')[0] === name) });
    // A summary that is wrapped, or that starts below a long name.
    else if (last && /^ {20,}\S/.test(line)) last.summary = `${last.summary} ${line.trim()}`.trim();
  }
  return found;
}

export async function commandPage({ name, flows: own }: Command, flowLink: (flow: Flow) => string): Promise<string> {
  const subcommands = own.filter(({ verb }) => verb.includes(' '));
  const alone = own.find(({ verb }) => verb === name);
  return page(
    `quarterdeck ${name}`,
    block(await helpText(name)),
    alone ? `Procedure: ${flowLink(alone)}` : '',
    ...(await Promise.all(
      subcommands.map(async (flow) =>
        [`## ${flow.verb}`, block(await helpText(...flow.verb.split(' '))), `Procedure: ${flowLink(flow)}`].join('\n\n'),
      ),
    )),
  );
}

export async function commandIndex(commands: readonly Command[]): Promise<string> {
  const headings = [...new Set(commands.map(({ heading }) => heading))];
  return page(
    'Commands',
    `Each page has the help that ${code('quarterdeck help COMMAND')} prints.`,
    ...headings.flatMap((heading) => [
      `## ${heading}`,
      table(
        ['COMMAND', 'DESCRIPTION'],
        commands
          .filter((command) => command.heading === heading)
          .map(({ name, summary }) => [`[${code(name)}](./${name}.md)`, sentence(summary)]),
      ),
    ]),
    '## All options',
    block(await helpText()),
  );
}
