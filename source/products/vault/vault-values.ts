import { isDeepStrictEqual } from 'node:util';
import { Fault } from '../../faults/fault.ts';
import { dryRunOf } from '../../flows/dry-run.ts';
import type { FlowContext, FlowInput, FlowOutcome, Procedure } from '../../flows/flow.ts';
import { optionOf, showSecret } from '../../flows/flow-options.ts';
import { showList } from '../../flows/list-table.ts';
import { revealedSeconds } from '../../flows/secrets/flows.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import { wordsOf } from '../../text/words.ts';
import { type Engine, type PathEntry, pathIn, VaultPaths } from './client/vault-paths.ts';
import { onOpenVault, openVaultOf, tokenFor } from './vault-open.ts';

export const vaultList = onOpenVault(async (vault, input) => {
  const { session } = vault;
  const folder = pathOf(input);
  const { token } = await tokenFor(vault, { may: folder === undefined ? 'access to a key-value engine' : 'list on the path' });
  const paths = new VaultPaths(vault.endpoint, token);
  if (folder !== undefined)
    return listed(session, folder, await paths.list(await paths.engineOf(folder, session.signal), folder, session.signal));
  const engines = await paths.engines(session.signal);
  showList(session, engines, {
    ENGINE: ({ mount }) => cleanLine(mount),
    VERSION: ({ version }) => String(version),
    PURPOSE: ({ description }) => description,
  });
  return { message: `${countText(engines.length, 'accessible key-value engine')}.`, data: { engines } };
});

function listed(session: Session, folder: string, names: readonly string[]): FlowOutcome {
  const shown = cleanLine(folder.replace(/\/$/, ''));
  showList(session, names, { PATH: (name) => `${shown}/${cleanLine(name)}` });
  const message = names.length === 0 ? `No paths under ${shown}.` : `Found ${countText(names.length, 'path')} under ${shown}.`;
  return { message, data: { path: folder, keys: names } };
}

export type OpenPath = Awaited<ReturnType<typeof openPath>>;

export async function openPath(session: Session, input: FlowInput, context: FlowContext, may: string) {
  const vault = await openVaultOf(session, input, context);
  const named = pathOf(input);
  const { token } = await tokenFor(vault, { may: named === undefined ? `${may} (you choose the path next)` : may });
  const paths = new VaultPaths(vault.endpoint, token);
  const path = named ?? (await choosePath(session, paths));
  const engine = await paths.engineOf(path, session.signal);
  return { session, component: vault.component, paths, engine, path, shown: cleanLine(path) };
}

/** @param where an empty text, or ` in version 3` */
export function nothingAt({ component, shown, engine }: OpenPath, where = ''): Fault {
  const remedy = `To list the paths: quarterdeck vault list ${component.id} ${cleanLine(engine.mount)}`;
  return new Fault('usage.path', `Nothing found at ${shown}${where}.`, remedy);
}

export const vaultRead: Procedure = async (session, input, context) => {
  const version = versionOf(input);
  const found = await openPath(session, input, context, 'read on the path');
  const { paths, engine, path, shown } = found;
  const entry = path.endsWith('/') ? undefined : await paths.read(engine, path, session.signal, version);
  if (!entry) {
    const names = await paths.list(engine, path, session.signal);
    if (names.length > 0) return listed(session, path, names);
    throw nothingAt(found, version === undefined ? '' : ` in version ${version}`);
  }
  if (entry.gone) {
    const undelete = `quarterdeck vault undelete ${found.component.id} ${shown} --version ${entry.version}`;
    const what = entry.gone === 'destroyed' ? 'was permanently destroyed' : `was deleted; ${undelete} restores it`;
    const message = `Version ${entry.version} of ${shown} ${what}. To read another version, pass --version N.`;
    return { message, data: { version: entry.version, gone: entry.gone } };
  }
  const keys = Object.keys(entry.values);
  const title = entry.version === undefined ? shown : `${shown} (version ${entry.version})`;
  // A pipe gets only the value.
  if (input.options['plain'] !== true) showList(session, keys, { KEY: cleanLine, VALUE: () => '(hidden)' }, { title });
  const field = await chooseField(session, input, shown, keys);
  if (field !== undefined) await reveal(found, input, entry, field);
  const revealed = session.dryRun ? 'Dry run: nothing was revealed.' : `Revealed ${cleanLine(field ?? '')} of ${shown}.`;
  return {
    message: field === undefined ? `${title} has ${countText(keys.length, 'key')}.` : revealed,
    data: { path, engine: engine.version, keys, version: entry.version, createdAt: entry.createdAt },
  };
};

async function choosePath(session: Session, paths: VaultPaths): Promise<string> {
  const engines = await paths.engines(session.signal);
  if (engines.length === 0)
    throw new Fault('usage.path', 'The token has no access to a key-value engine.', 'Pass a path, or use another token.');
  let at = '';
  let engine: Engine | undefined;
  for (let step = 1; ; step++) {
    const names: readonly string[] = engine ? await paths.list(engine, at, session.signal) : engines.map(({ mount }) => mount);
    if (names.length === 0) throw new Fault('usage.path', `No paths under ${cleanLine(at)}.`, 'Write a value first.');
    const chosen = await session.ask.choice({
      id: step === 1 ? 'path' : `path-${step}`,
      label: at === '' ? 'Engine' : `Path under ${cleanLine(at)}`,
      choices: names.map((name) => ({ value: name, label: cleanLine(name) })),
    });
    engine ??= engines.find(({ mount }) => mount === chosen);
    at += chosen;
    if (!chosen.endsWith('/')) return at;
  }
}

async function chooseField(session: Session, { options }: FlowInput, path: string, keys: readonly string[]): Promise<string | undefined> {
  const written = optionOf({ options }, 'field');
  if (written !== undefined) {
    if (keys.includes(written)) return written;
    throw new Fault('usage.field', `${path} has no key "${cleanLine(written)}".`, `Keys: ${keys.map(cleanLine).join(', ')}.`);
  }
  if (!session.attended || keys.length === 0 || session.readOnly || session.dryRun) return undefined;
  const chosen = await session.ask.choice({
    id: 'field',
    label: 'Value to reveal',
    choices: [{ value: '', label: 'keep all hidden' }, ...keys.map((key) => ({ value: key, label: cleanLine(key) }))],
    initial: '',
  });
  return chosen === '' ? undefined : chosen;
}

async function reveal({ session, engine, shown }: OpenPath, input: FlowInput, { values, version }: PathEntry, field: string) {
  const stored = values[field];
  const value = typeof stored === 'string' ? stored : JSON.stringify(stored);
  await session.act({
    id: 'reveal',
    right: 'reveal',
    request: `reveal ${cleanLine(field)} of ${shown}${engine.version === 2 ? ` (version ${version})` : ''}`,
    run: async () => showSecret(session, input, { label: `${shown} ${cleanLine(field)}`, value, secondsLeft: revealedSeconds }),
  });
}

export function pathOf({ words }: FlowInput): string | undefined {
  const path = words[0]?.trim().replace(/^\/+/, '');
  return path === undefined || path === '' ? undefined : path;
}

function versionOf(input: FlowInput): number | undefined {
  const written = optionOf(input, 'version');
  if (written === undefined) return undefined;
  if (/^[1-9]\d{0,8}$/.test(written)) return Number(written);
  throw new Fault('usage.version', `--version must be a whole number from 1, not "${cleanLine(written)}".`, 'For example: --version 3');
}

export const vaultWrite = onOpenVault(async (vault, input) => {
  const { session } = vault;
  const path = pathOf(input) ?? (await askPath(session));
  const shown = cleanLine(path);
  const keys = await keysOf(session, input);
  if (session.dryRun) {
    const would = `prompt for a token and the values of ${keys.map(cleanLine).join(', ')}, and write them to ${shown}`;
    return dryRunOf(session, would, `${shown} was not changed.`);
  }
  const { token } = await tokenFor(vault, { may: 'read and write on the path' });
  const paths = new VaultPaths(vault.endpoint, token);
  const engine = await paths.engineOf(path, session.signal);
  const before = await paths.read(engine, path, session.signal);
  const typed = await askValues(session, keys);
  const kept = input.options['replace'] === true || before?.gone ? {} : (before?.values ?? {});
  const values = { ...kept, ...typed };
  const lost = lostIn(engine, before, values);
  const written = await session.act({
    id: 'write',
    right: lost.length > 0 ? 'destroy' : 'operate',
    ...(lost.length > 0 && {
      title: `Overwrite ${shown}`,
      consequences: [`This engine keeps no versions. The current values are lost: ${lost.map(cleanLine).join(', ')}.`],
    }),
    request: requestOf(engine, path, keys, Object.keys(kept), before),
    done: async () => sameValues(await paths.read(engine, path, session.signal), values),
    run: (grant) => paths.write(grant, engine, path, { values, version: before?.version ?? 0 }),
  });
  // Verified even if nothing was written: the path must have the values that were entered.
  const now = await paths.read(engine, path, session.signal);
  if (!sameValues(now, values)) {
    const remedy = `Check the path: quarterdeck vault read ${vault.component.id} ${shown}`;
    throw new Fault('failed.changed', `${shown} was written, but has been changed since.`, remedy);
  }
  const version = written ?? now?.version;
  return {
    message: version === undefined ? `Wrote ${shown}.` : `Wrote ${shown}, version ${version}.`,
    data: { path, keys: Object.keys(values), ...(version !== undefined && { version }) },
  };
});

async function askPath(session: Session): Promise<string> {
  const typed = await session.ask.text({
    id: 'path',
    label: 'Path',
    help: 'A path that starts with its engine, such as secret/apps/rss-reader.',
    initial: 'secret/',
    check: (text) => (/^\/*[^/\s]+\/.*[^/\s]$/.test(text.trim()) ? undefined : 'Enter ENGINE/PATH, such as secret/apps/rss-reader.'),
  });
  return typed.trim().replace(/^\/+/, '');
}

async function keysOf(session: Session, { words, options }: FlowInput): Promise<readonly string[]> {
  const given = words.slice(1);
  const withValue = given.find((word) => word.includes('='));
  if (withValue !== undefined) {
    const remedy =
      'Pass only the keys; you are prompted for the values. If the value was a secret, replace it, because the shell may have saved it.';
    throw new Fault('usage.words', 'Values are not accepted on the command line, where other programs can see them.', remedy);
  }
  if (given.length > 0) return [...new Set(given)];
  const typed = await session.ask.text({
    id: 'keys',
    label: 'Keys',
    help: `Names separated by spaces. You are then prompted for their values. Other keys of the path are ${options['replace'] === true ? 'deleted' : 'kept'}.`,
    check: (text) => (namesIn(text).length === 0 ? 'Enter at least one key, such as password.' : undefined),
  });
  return namesIn(typed);
}

const namesIn = (text: string) => [...new Set(wordsOf(text))];

async function askValues(session: Session, keys: readonly string[]): Promise<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const key of keys) {
    const shown = cleanLine(key);
    const check = (text: string) => (text === '' ? 'Enter a value, or cancel.' : undefined);
    const value = await session.ask.secret({ id: `value-${key}`, label: `Value of ${shown}`, check });
    const help = 'The input is masked. Enter the value again to detect typing errors.';
    const mismatch = (text: string) => (text === value ? undefined : 'The values do not match.');
    if (session.attended) await session.ask.secret({ id: `again-${key}`, label: `Repeat ${shown}`, help, check: mismatch });
    values[key] = value;
  }
  return values;
}

function lostIn({ version }: Engine, before: PathEntry | undefined, values: Readonly<Record<string, unknown>>): string[] {
  if (version === 2 || !before) return [];
  return Object.entries(before.values).flatMap(([key, value]) => (isDeepStrictEqual(values[key], value) ? [] : [key]));
}

function requestOf(engine: Engine, path: string, keys: readonly string[], kept: readonly string[], before: PathEntry | undefined): string {
  const others = kept.filter((key) => !keys.includes(key));
  const keeps = others.length > 0 ? `, keeps ${others.join(', ')}` : '';
  const condition = engine.version === 2 ? `, if it is still at version ${before?.version ?? 0}` : '';
  return cleanLine(`PUT /v1/${pathIn(engine, 'data', path)}: sets ${keys.join(', ')}${keeps}${condition}`);
}

function sameValues(entry: PathEntry | undefined, values: Readonly<Record<string, unknown>>): boolean {
  return entry !== undefined && !entry.gone && isDeepStrictEqual(entry.values, values);
}
