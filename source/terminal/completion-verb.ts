import { join } from 'node:path';
import type { Command } from 'commander';
import { hostNameProblem } from '../config/host-names.ts';
import { installationFolder } from '../config/installation.ts';
import { loadSettings, type Settings } from '../config/settings.ts';
import { Fault } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import { isShell, type Shell, shellScript, shells } from './completion-scripts.ts';
import { type Candidate, completionOf, type WordKind } from './completion-words.ts';
import type { VerbContext } from './verb.ts';

/** `quarterdeck completion SHELL`: the script for that shell. */
export async function runCompletionVerb({ output }: VerbContext, shell: string | undefined): Promise<number> {
  if (shell === undefined || !isShell(shell)) {
    throw new Fault({
      code: 'usage.shell',
      message: shell === undefined ? 'Which shell?' : `There is no completion for "${cleanLine(shell)}".`,
      remedy: `Write one of: ${shells.map((one) => `quarterdeck completion ${one}`).join(', ')}.`,
    });
  }
  output.line(shellScript(shell satisfies Shell, join(installationFolder(), 'bin', 'quarterdeck')).trimEnd());
  return 0;
}

/** Only these go into a command line that is about to be run: nothing that a shell would make something of. */
const plainWord = /^[A-Za-z0-9_@%+=:,./-]+$/;

/**
 * What that script asks at each Tab: no engine, no ssh, nothing that takes long. A line for each word, behind a tab what it means; `:file` and `:folder` let the
 * shell complete those. What is wrong with the configuration is told elsewhere: here it only completes less.
 */
export async function runCompleteVerb(context: VerbContext, program: Command, words: readonly string[]): Promise<number> {
  const { candidates, kinds, before, place } = completionOf(program, words);
  const found = [...candidates];
  const settings = settingsFor(context);
  for (const kind of kinds) {
    if (kind !== 'file' && kind !== 'folder') found.push(...(await wordsOf(kind, { ...context, place, settings })));
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
  place: string | undefined;
  settings: () => Promise<Settings | undefined>;
}

async function wordsOf(kind: Exclude<WordKind, 'file' | 'folder'>, around: Around): Promise<readonly Candidate[]> {
  switch (kind) {
    case 'place':
      return placeWords(around);
    case 'host':
      return Object.entries((await around.settings())?.hosts ?? {}).map(([word, { ssh }]) => ({ word, meaning: ssh }));
    case 'sshName':
      return sshWords(around);
    case 'entry':
      return entryWords(around);
    case 'component':
      return componentWords(around);
  }
}

/** What `--host` can name. */
async function placeWords({ paths, settings }: Around): Promise<Candidate[]> {
  const hosts = Object.entries((await settings())?.hosts ?? {});
  const { enginePlaces } = await import('./known-engines.ts');
  const words = await Promise.all(
    hosts.map(async ([name, { ssh }]) => (await enginePlaces(paths, name)).map((word) => ({ word, meaning: ssh }))),
  );
  return [{ word: 'local', meaning: 'this machine' }, { word: 'all', meaning: 'every host' }, ...words.flat()];
}

/** Names that ssh knows, and that a host can be called by here. */
async function sshWords({ env, settings }: Around): Promise<Candidate[]> {
  const { sshNames } = await import('../hosts/ssh/ssh-names.ts');
  const listed = (await settings())?.hosts ?? {};
  const names = await sshNames(env['HOME'] ?? '');
  return names.filter((name) => hostNameProblem(name) === undefined && !listed[name]).map((word) => ({ word }));
}

async function entryWords({ settings }: Around): Promise<Candidate[]> {
  const { openCatalog } = await import('../catalog/open-catalog.ts');
  const ownFolder = (await settings())?.catalogFolder;
  const { entries } = await openCatalog({
    compiledFile: join(installationFolder(), 'dist', 'catalog.json'),
    ...(ownFolder !== undefined && { ownFolder }),
  });
  return entries.map(({ id, product }) => ({ word: id, meaning: product.name }));
}

/** Those that were seen when an engine was last asked; where that was never, those that there could be. */
async function componentWords(around: Around): Promise<Candidate[]> {
  const { seenComponents } = await import('./seen-components.ts');
  const seen = await seenComponents(around.paths);
  const place = around.place ?? 'local';
  const ids = place === 'all' ? Object.values(seen).flat() : seen[place];
  return ids && ids.length > 0 ? ids.map((word) => ({ word })) : entryWords(around);
}

/** Read when first needed, once. Undefined while something is wrong with them. */
function settingsFor({ paths, env }: VerbContext): () => Promise<Settings | undefined> {
  let reading: Promise<Settings | undefined> | undefined;
  return () => {
    reading ??= loadSettings(paths, env['HOME'] ?? '').catch((thrown: unknown) => {
      if (thrown instanceof Fault) return undefined;
      throw thrown;
    });
    return reading;
  };
}
