import { Fault } from '../../faults/fault.ts';
import type { FlowContext, FlowInput, FlowOutcome, Procedure } from '../../flows/flow.ts';
import { optionOf, showSecret } from '../../flows/flow-options.ts';
import { type Columns, showList } from '../../flows/list-table.ts';
import { revealedSeconds } from '../../flows/secrets/flows.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import { type Engine, type PathEntry, VaultPaths } from './client/vault-paths.ts';
import { type OpenVault, openVaultOf, tokenFor } from './vault-open.ts';

export const vaultList: Procedure = async (session, input, context) => {
  const { endpoint, target } = await openVaultOf(session, input, context);
  const folder = pathOf(input);
  const { token } = await tokenFor(session, context, target, { may: folder === undefined ? 'to see its engines' : 'list there' });
  const paths = new VaultPaths(endpoint, token);
  if (folder === undefined) return listEngines(session, paths);
  const names = await paths.list(await paths.engineOf(folder, session.signal), folder, session.signal);
  return listed(session, folder, names);
};

async function listEngines(session: Session, paths: VaultPaths): Promise<FlowOutcome> {
  const engines = await paths.engines(session.signal);
  const columns: Columns<Engine> = {
    ENGINE: ({ mount }) => cleanLine(mount),
    VERSION: ({ version }) => String(version),
    'WHAT FOR': ({ description }) => description,
  };
  showList(session, engines, columns);
  return { message: engines.length === 0 ? 'The token sees no key-value engine.' : 'Those are its key-value engines.', data: { engines } };
}

function listed(session: Session, folder: string, names: readonly string[]): FlowOutcome {
  const shown = cleanLine(folder.replace(/\/$/, ''));
  showList(session, names, { PATH: (name) => `${shown}/${cleanLine(name)}` });
  const message = names.length === 0 ? `Nothing is below ${shown}.` : `${countText(names.length, 'name is', 'names are')} below ${shown}.`;
  return { message, data: { path: folder, keys: names } };
}

export type OpenPath = Awaited<ReturnType<typeof openPath>>;

export async function openPath(session: Session, input: FlowInput, context: FlowContext, may: string) {
  const vault = await openVaultOf(session, input, context);
  const { token } = await tokenFor(session, context, vault.target, {
    may: pathOf(input) === undefined ? may.replace(/ there$/, ' on the path that you choose next') : may,
  });
  const paths = new VaultPaths(vault.endpoint, token);
  const path = pathOf(input) ?? (await choosePath(session, paths));
  const engine = await paths.engineOf(path, session.signal);
  return { vault, paths, engine, path, shown: cleanLine(path) };
}

export const vaultRead: Procedure = async (session, input, context) => {
  const version = versionOf(input);
  const { vault, paths, engine, path, shown } = await openPath(session, input, context, 'read there');
  const entry = path.endsWith('/') ? undefined : await paths.read(engine, path, session.signal, version);
  if (!entry) {
    const names = await paths.list(engine, path, session.signal);
    if (names.length > 0) return listed(session, path, names);
    throw new Fault(
      'usage.path',
      `There is nothing at ${shown}${version === undefined ? '' : ` in version ${version}`}.`,
      `Look what there is: quarterdeck vault list ${vault.component.id} ${cleanLine(engine.mount)}`,
    );
  }
  if (entry.gone) return goneOutcome(shown, entry);
  const keys = Object.keys(entry.values);
  // A pipe gets only the value.
  if (input.options['plain'] !== true)
    showList(session, keys, { KEY: cleanLine, VALUE: () => '(hidden)' }, { title: titleOf(shown, entry) });
  const field = await chooseField(session, input, shown, keys);
  if (field !== undefined) await reveal(session, input, vault, engine, path, entry, field);
  const revealed = session.dryRun ? 'Dry run: nothing was revealed.' : `Revealed ${cleanLine(field ?? '')} of ${shown}.`;
  return {
    message: field === undefined ? `${titleOf(shown, entry)} has ${countText(keys.length, 'key')}.` : revealed,
    data: {
      path,
      engine: engine.version,
      keys,
      ...(entry.version !== undefined && { version: entry.version, createdAt: entry.createdAt }),
    },
  };
};

async function choosePath(session: Session, paths: VaultPaths): Promise<string> {
  const engines = await paths.engines(session.signal);
  if (engines.length === 0) {
    throw new Fault('usage.path', 'The token sees no key-value engine.', 'Name a path, or take another token.');
  }
  let at = '';
  let engine: Engine | undefined;
  for (let step = 1; ; step++) {
    const names: readonly string[] = engine ? await paths.list(engine, at, session.signal) : engines.map(({ mount }) => mount);
    if (names.length === 0) throw new Fault('usage.path', `Nothing is below ${cleanLine(at)}.`, 'Write something there first.');
    const chosen = await session.ask.choice({
      id: step === 1 ? 'path' : `path-${step}`,
      label: at === '' ? 'In which engine?' : `What below ${cleanLine(at)}?`,
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
    throw new Fault('usage.field', `${path} has no key "${cleanLine(written)}".`, `It has: ${keys.map(cleanLine).join(', ')}.`);
  }
  if (!session.attended || keys.length === 0 || session.readOnly || session.dryRun) return undefined;
  const chosen = await session.ask.choice({
    id: 'field',
    label: 'Reveal which one?',
    choices: [{ value: '', label: 'leave them hidden' }, ...keys.map((key) => ({ value: key, label: cleanLine(key) }))],
    initial: '',
  });
  return chosen === '' ? undefined : chosen;
}

async function reveal(
  session: Session,
  input: FlowInput,
  { target }: OpenVault,
  { version: engineVersion }: Engine,
  path: string,
  { values, version }: PathEntry,
  field: string,
): Promise<void> {
  const value = values[field];
  const shown = cleanLine(path);
  await session.act({
    id: 'reveal',
    right: 'reveal',
    request: `reveal ${cleanLine(field)} of ${shown}${engineVersion === 2 ? ` (version ${version})` : ''}`,
    target,
    run: async () => {
      showSecret(session, input, {
        label: `${shown} ${cleanLine(field)}`,
        value: typeof value === 'string' ? value : JSON.stringify(value),
        secondsLeft: revealedSeconds,
      });
    },
  });
}

function goneOutcome(shown: string, { gone, version }: PathEntry): FlowOutcome {
  const what = gone === 'destroyed' ? 'was destroyed, and is gone for good' : 'was deleted; it can be brought back (vault undelete)';
  return { message: `Version ${version} of ${shown} ${what}. An older one: --version N`, data: { version, gone } };
}

function titleOf(shown: string, { version }: PathEntry): string {
  return version === undefined ? shown : `${shown}, version ${version}`;
}

export function pathOf({ words }: FlowInput): string | undefined {
  const path = words[0]?.trim().replace(/^\/+/, '');
  return path === undefined || path === '' ? undefined : path;
}

function versionOf(input: FlowInput): number | undefined {
  const written = optionOf(input, 'version');
  if (written === undefined) return undefined;
  if (/^[1-9]\d{0,8}$/.test(written)) return Number(written);
  throw new Fault('usage.version', `"${cleanLine(written)}" is no version.`, 'Versions are numbers, from 1 on.');
}
