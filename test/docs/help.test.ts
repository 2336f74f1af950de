import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { manPages } from '../../bin/man-pages.ts';
import { flows } from '../../source/app/flow-registry.ts';
import { openCatalog } from '../../source/catalog/open-catalog.ts';
import { parseCommandLine } from '../../source/cli/command-line.ts';
import { readExamples } from '../../source/cli/examples.ts';
import { topics } from '../../source/cli/help-topics.ts';
import { exitCodeOf } from '../../source/faults/fault.ts';
import { packagePath, withManPages } from './generated-blocks.ts';

const root = resolve(import.meta.dirname, '../..');
const parse = (...argv: string[]) => parseCommandLine(argv, { flows, version: '0.0.0', columns: 100 });

async function programOf(): Promise<Command> {
  const parsed = await parse('complete');
  if (!('program' in parsed) || !parsed.program) throw new Error('no program');
  return parsed.program;
}

async function helpOf(...argv: string[]): Promise<string> {
  const parsed = await parse(...argv);
  return 'text' in parsed ? parsed.text : expect.fail(`no help: ${argv.join(' ')}`);
}

/** Every command that runs by itself, by its words. */
function runnable(program: Command): string[] {
  const visible = (command: Command) =>
    command
      .createHelp()
      .visibleCommands(command)
      .filter((one) => one.name() !== 'help');
  return visible(program).flatMap((command) => {
    const below = visible(command).map((one) => `${command.name()} ${one.name()}`);
    return below.length === 0 || command.usage() !== 'COMMAND [options]' ? [command.name(), ...below] : below;
  });
}

describe('examples', () => {
  test('every command has one, and there are none of others', async () => {
    const examples = await readExamples();
    expect(Object.keys(examples).sort()).toEqual(['', ...runnable(await programOf())].sort());
    expect(Object.entries(examples).filter(([, lines]) => lines.length === 0)).toEqual([]);
  });

  test('each is accepted by the parser, as the command that it is an example of', async () => {
    const wrong: string[] = [];
    for (const [name, lines] of Object.entries(await readExamples())) {
      for (const line of lines) {
        const parsed = await parse(...line.split(' ')).catch((thrown: Error) => ({ text: thrown.message }));
        if ('text' in parsed) wrong.push(`${line}: ${parsed.text}`);
        else if (name !== '' && parsed.verb !== name) wrong.push(`${line}: this is ${parsed.verb}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test('names with a dash are components of the catalog', async () => {
    const { entries } = await openCatalog({ compiledFile: join(root, 'dist/catalog.json') });
    const ids = new Set(entries.map(({ id }) => id));
    const others = new Set(['web-read', 'build-cache', 'restart-loop', 'first-account', 'web-1', 'second-factor', 'exit-codes']);
    const verbs = new Set(runnable(await programOf()).flatMap((name) => name.split(' ')));
    for (const { operations } of entries) for (const { id } of operations) others.add(id);
    const words = Object.values(await readExamples())
      .flat()
      .flatMap((line) => line.split(' ').filter((word) => /^[a-z][a-z0-9]*(?:-[a-z0-9]+)+$/.test(word)));
    expect(words.filter((word) => !ids.has(word) && !others.has(word) && !verbs.has(word))).toEqual([]);
  });

  test('help shows them: of a command, and of a group the first one of each of its commands', async () => {
    expect(await helpOf('help', 'stop')).toContain('\nExamples:\n  quarterdeck stop rss-reader\n');
    expect(await helpOf('secrets', 'list', '--help')).toContain('\nExamples:\n  quarterdeck secrets list\n');
    expect(await helpOf('hub', '--help')).toMatch(/Examples:\n {2}quarterdeck hub update\n {2}quarterdeck hub upgrade\n$/);
  });
});

describe('topics', () => {
  test('there is a document for each, and one of no other', () => {
    const documents = readdirSync(join(root, 'docs/help')).filter((name) => name.endsWith('.md'));
    expect(documents.sort()).toEqual(topics.map((topic) => `${topic}.md`).sort());
  });

  test.each(topics)('%s is printed without Markdown, and the help lists it', async (topic) => {
    const text = await helpOf('help', topic);
    const [title] = readFileSync(join(root, 'docs/help', `${topic}.md`), 'utf8').split('\n');
    expect(text).toContain(`${title?.replace('# ', '')}\n`);
    expect(text).not.toMatch(/^```|^#|<!--/m);
    expect(await helpOf('help')).toContain(topic);
  });

  test('one that is also a command follows the help of the command', async () => {
    expect(await helpOf('help', 'hosts')).toMatch(/^Usage: quarterdeck hosts .*Examples:.*\nHosts\n\n/s);
    expect(await helpOf('hosts', '--help')).not.toContain('\nHosts\n');
  });

  test('the nearest is suggested', async () => {
    await expect(parse('help', 'environmnt')).rejects.toMatchObject({ code: 'usage.verb', remedy: 'Did you mean "environment"?' });
    await expect(parse('environmnt')).rejects.toMatchObject({ remedy: expect.not.stringContaining('environment"') });
  });

  test('exit codes are those of the faults', async () => {
    const text = await helpOf('help', 'exit-codes');
    for (const kind of ['usage', 'unreachable', 'refused', 'interrupted'] as const)
      expect(text).toContain(`${kind} ${exitCodeOf({ kind })}`);
  });
});

describe('man pages', async () => {
  const pages = await manPages(await programOf(), '1.2.3', '2026-01-01');
  const folder = mkdtempSync(join(tmpdir(), 'quarterdeck-man-'));
  for (const [name, text] of pages) writeFileSync(join(folder, name), text);
  const has = (program: string) => spawnSync(program, ['-v']).error === undefined;

  test('there is one of the program, of each command and of each subcommand, and package.json lists those of the build', async () => {
    const built = readdirSync(join(root, 'dist/man')).sort();
    expect([...pages.keys()].sort()).toEqual(built);
    const commands = runnable(await programOf());
    expect(built).toEqual(expect.arrayContaining(commands.map((name) => `quarterdeck-${name.replaceAll(' ', '-')}.1`)));
    // No two commands share a name: a command of its own could be called like a subcommand.
    const groups = new Set(commands.flatMap((name) => (name.includes(' ') ? name.split(' ').slice(0, 1) : [])));
    expect(built).toHaveLength(1 + new Set([...commands, ...groups]).size);
    const text = readFileSync(packagePath, 'utf8');
    expect(text).toBe(withManPages(text));
  });

  test('text is not read as requests of roff, and letters outside of ASCII are escaped', () => {
    for (const text of pages.values()) {
      expect(text).toMatch(/^[\n\x20-\x7e]+$/);
      expect(text.match(/^[.'](?!TH |SH |TP$|PP$|nf$|fi$).*/gm)).toBeNull();
    }
  });

  test('the page of a group lists its subcommands, and theirs have usage, options, examples and the way back', () => {
    const group = pages.get('quarterdeck-vault.1') ?? '';
    expect(group).toContain('\n.TP\n\\fBquarterdeck\\-vault\\-read(1)\\fR\n');
    expect(group).not.toContain('.SS ');
    const page = pages.get('quarterdeck-vault-read.1') ?? '';
    expect(page).toMatch(/^\.TH QUARTERDECK\\-VAULT\\-READ 1 /);
    expect(page).toContain('.SH SYNOPSIS\nquarterdeck vault read [COMPONENT] [PATH] [options]\n');
    expect(page).toContain('\\fB\\-\\-field <key>\\fR\n');
    expect(page).toContain('.SH EXAMPLES\n.nf\n  quarterdeck vault read ');
    expect(page).toContain('.SH SEE ALSO\nquarterdeck(1), quarterdeck\\-vault(1)\n');
    // A command that has subcommands keeps its own options.
    expect(pages.get('quarterdeck-backup.1')).toMatch(/\.SH OPTIONS\n[\s\S]*keep\\-all[\s\S]*\.SH COMMANDS\n[\s\S]*backup\\-verify\(1\)/);
  });

  test.skipIf(!has('groff'))('groff accepts them without a warning', () => {
    const files = [...pages.keys()].map((name) => join(folder, name));
    const { stderr, stdout } = spawnSync('groff', ['-man', '-Tutf8', '-ww', ...files], { encoding: 'utf8', maxBuffer: 2 ** 26 });
    expect(stderr).toBe('');
    expect(stdout).toContain('quarterdeck');
  });

  test.skipIf(spawnSync('mandoc', ['-T', 'lint', '/dev/null']).error !== undefined)('mandoc accepts them without a warning', () => {
    const files = [...pages.keys()].map((name) => join(folder, name));
    expect(execFileSync('mandoc', ['-T', 'lint', '-W', 'warning', ...files], { encoding: 'utf8' })).toBe('');
    rmSync(folder, { recursive: true });
  });
});
