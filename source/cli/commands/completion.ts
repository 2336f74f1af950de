import { join } from 'node:path';
import type { Command } from 'commander';
import { hostNameProblem } from '../../config/host-names.ts';
import { installationFolder, readInstalled } from '../../config/installation.ts';
import { loadSettings, type Settings } from '../../config/settings.ts';
import { Fault } from '../../faults/fault.ts';
import { ignoreFault } from '../../faults/unless-fault.ts';
import { cleanLine } from '../../text/clean.ts';
import type { VerbContext } from '../command.ts';
import { type Candidate, completionOf, type WordKind } from '../completion-words.ts';

/** How each shell quotes a `'` inside of quotes. */
const quotes: Readonly<Record<string, string>> = { bash: "'\\''", zsh: "'\\''", fish: "\\'" };

/** The scripts contain no words and query the program at each Tab, so that they never become outdated. The typed words are never run. */
export async function runCompletionVerb({ output }: VerbContext, shell = ''): Promise<number> {
  const quote = quotes[shell];
  if (quote === undefined) {
    const message = shell === '' ? 'completion requires a shell.' : `Unsupported shell "${cleanLine(shell)}".`;
    const verbs = Object.keys(quotes).map((name) => `quarterdeck completion ${name}`);
    throw new Fault('usage.shell', message, `Use one of: ${verbs.join(', ')}.`);
  }
  const launcher = join(installationFolder(), 'bin', 'quarterdeck').replaceAll("'", quote);
  const script = await readInstalled(`bin/completion/quarterdeck.${shell}`);
  output.line(script.replace('@launcher@', () => `'${launcher}'`).trimEnd());
  return 0;
}

/** Only these words are completed into a command line: they contain nothing that a shell would interpret. */
const plainWord = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** Never slow: no engine, no ssh. `:file` and `:folder` let the shell complete those. A wrong configuration means fewer completions. */
export async function runCompleteVerb(context: VerbContext, program: Command, words: readonly string[]): Promise<number> {
  const { candidates, kinds, before, engineName } = completionOf(program, words);
  const found = [...candidates];
  const settings = settingsFor(context);
  for (const kind of kinds) {
    if (kind !== 'file' && kind !== 'folder') found.push(...(await lookups[kind]({ ...context, engineName, settings })));
  }
  const last = words.at(-1) ?? '';
  const seen = new Set<string>();
  const lines = found.flatMap(({ word, meaning }) => {
    const whole = `${before}${word}`;
    if (!plainWord.test(whole) || !whole.startsWith(last) || seen.has(whole)) return [];
    seen.add(whole);
    return [meaning ? `${whole}\t${cleanLine(meaning)}` : whole];
  });
  for (const kind of kinds) if (kind === 'file' || kind === 'folder') lines.push(`:${kind}`);
  if (lines.length > 0) context.output.line(lines.join('\n'));
  return 0;
}

interface Around extends Pick<VerbContext, 'paths' | 'env'> {
  engineName: string | undefined;
  settings: () => Promise<Settings | undefined>;
}

const lookups: Record<Exclude<WordKind, 'file' | 'folder'>, (around: Around) => Promise<readonly Candidate[]>> = {
  engine: engineWords,
  host: hostWords,
  sshName: sshWords,
  entry: entryWords,
  component: componentWords,
};

async function hostWords({ settings }: Around): Promise<Candidate[]> {
  return Object.entries((await settings())?.hosts ?? {}).map(([word, { ssh }]) => ({ word, meaning: ssh }));
}

async function engineWords({ paths, settings }: Around): Promise<Candidate[]> {
  const hosts = Object.entries((await settings())?.hosts ?? {});
  const { knownEngineNames, knownEnginesFile, readKnownEngines } = await import('../../app/known-engines.ts');
  const words = await Promise.all(
    hosts.map(async ([name, { ssh }]) => {
      const known = await readKnownEngines(knownEnginesFile(paths, name));
      return knownEngineNames(name, known).map((word) => ({ word, meaning: ssh }));
    }),
  );
  return [{ word: 'local', meaning: 'this machine' }, { word: 'all', meaning: 'all hosts' }, ...words.flat()];
}

/** Returns the names in the ssh configuration that are also valid host names here. */
async function sshWords({ env, settings }: Around): Promise<Candidate[]> {
  const { sshNames } = await import('../../hosts/ssh/ssh-names.ts');
  const listed = (await settings())?.hosts ?? {};
  const names = await sshNames(env['HOME'] ?? '');
  return names.filter((name) => hostNameProblem(name) === undefined && !listed[name]).map((word) => ({ word }));
}

async function entryWords({ settings, paths }: Around): Promise<Candidate[]> {
  const { openCatalogWith } = await import('../../app/open-catalog.ts');
  const { entries } = await openCatalogWith((await settings())?.catalogFolder, paths);
  return entries.map(({ id, product }) => ({ word: id, meaning: product.name }));
}

/** Returns the components seen in the last query of an engine or, without one, those in the catalog. */
async function componentWords(around: Around): Promise<Candidate[]> {
  const { seenComponents } = await import('../../app/seen-components.ts');
  const seen = await seenComponents(around.paths);
  const engineName = around.engineName ?? 'local';
  const ids = engineName === 'all' ? Object.values(seen).flat() : seen[engineName];
  return ids && ids.length > 0 ? ids.map((word) => ({ word })) : entryWords(around);
}

/** Reads the settings once, when first needed. Undefined while they are invalid. */
function settingsFor({ paths, env }: VerbContext): () => Promise<Settings | undefined> {
  let reading: Promise<Settings | undefined> | undefined;
  return () => {
    reading ??= loadSettings(paths, env['HOME'] ?? '').catch(ignoreFault);
    return reading;
  };
}
