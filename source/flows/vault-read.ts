import { Fault } from '../faults/fault.ts';
import { type Engine, type PathEntry, VaultPaths } from '../products/vault-paths.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { revealedSeconds } from './about-secrets.ts';
import { vaultListAbout, vaultReadAbout } from './about-vault.ts';
import type { Flow, FlowInput, FlowOutcome } from './flow.ts';
import { type OpenVault, openVaultOf, tokenFor } from './vault-open.ts';

const masked = '(hidden)';

export const vaultList: Flow = {
  ...vaultListAbout,
  async run(session, input, world) {
    const { place, target } = await openVaultOf(session, input, world);
    const { token } = await tokenFor(session, world, target, { may: pathOf(input) === undefined ? 'to see its engines' : 'list there' });
    const paths = new VaultPaths(place, token);
    const folder = pathOf(input);
    if (folder === undefined) return listEngines(session, paths);
    const names = await paths.list(await paths.engineOf(folder, session.signal), folder, session.signal);
    return listed(session, folder, names);
  },
};

async function listEngines(session: Session, paths: VaultPaths): Promise<FlowOutcome> {
  const engines = await paths.engines(session.signal);
  session.show({
    kind: 'table',
    columns: ['ENGINE', 'VERSION', 'WHAT FOR'],
    rows: engines.map(({ mount, version, description }) => [cleanLine(mount), String(version), description]),
  });
  return { message: engines.length === 0 ? 'The token sees no key-value engine.' : 'Those are its key-value engines.', data: { engines } };
}

function listed(session: Session, folder: string, names: readonly string[]): FlowOutcome {
  const shown = cleanLine(folder.replace(/\/$/, ''));
  if (names.length === 0) return { message: `Nothing is below ${shown}.`, data: { path: folder, keys: [] } };
  session.show({ kind: 'table', columns: ['PATH'], rows: names.map((name) => [`${shown}/${cleanLine(name)}`]) });
  return {
    message: `${names.length === 1 ? 'One name is' : `${names.length} names are`} below ${shown}.`,
    data: { path: folder, keys: names },
  };
}

export const vaultRead: Flow = {
  ...vaultReadAbout,
  async run(session, input, world) {
    const vault = await openVaultOf(session, input, world);
    const version = versionOf(input);
    const { token } = await tokenFor(session, world, vault.target, {
      may: pathOf(input) === undefined ? 'read on the path that you choose next' : 'read there',
    });
    const paths = new VaultPaths(vault.place, token);
    const path = pathOf(input) ?? (await choosePath(session, paths));
    const shown = cleanLine(path);
    const engine = await paths.engineOf(path, session.signal);
    const entry = path.endsWith('/') ? undefined : await paths.read(engine, path, session.signal, version);
    if (!entry) {
      const names = await paths.list(engine, path, session.signal);
      if (names.length > 0) return listed(session, path, names);
      throw new Fault({
        code: 'usage.path',
        message: `There is nothing at ${shown}${version === undefined ? '' : ` in version ${version}`}.`,
        remedy: `Look what there is: quarterdeck vault list ${vault.component.id} ${cleanLine(engine.mount)}`,
      });
    }
    if (entry.gone) return goneOutcome(shown, entry);
    const keys = Object.keys(entry.values);
    const table = { title: titleOf(shown, entry), columns: ['KEY', 'VALUE'], rows: keys.map((key) => [cleanLine(key), masked]) };
    // Into a pipe goes the value alone.
    if (input.options['plain'] !== true) session.show({ kind: 'table', ...table });
    const field = await chooseField(session, input, shown, keys);
    if (field !== undefined) await reveal(session, input, vault, engine, path, entry, field);
    return {
      message:
        field === undefined
          ? `${titleOf(shown, entry)} has ${keys.length === 1 ? 'one key' : `${keys.length} keys`}.`
          : `Revealed ${cleanLine(field)} of ${shown}.`,
      data: {
        path,
        engine: engine.version,
        keys,
        ...(entry.version !== undefined && { version: entry.version, createdAt: entry.createdAt }),
      },
    };
  },
};

/** Down through the folders, from the engines on. */
export async function choosePath(session: Session, paths: VaultPaths): Promise<string> {
  const engines = await paths.engines(session.signal);
  if (engines.length === 0) {
    throw new Fault({ code: 'usage.path', message: 'The token sees no key-value engine.', remedy: 'Name a path, or take another token.' });
  }
  let at = '';
  let engine: Engine | undefined;
  for (let step = 1; ; step++) {
    const names: readonly string[] = engine ? await paths.list(engine, at, session.signal) : engines.map(({ mount }) => mount);
    if (names.length === 0)
      throw new Fault({ code: 'usage.path', message: `Nothing is below ${cleanLine(at)}.`, remedy: 'Write something there first.' });
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
  const written = options['field'];
  if (typeof written === 'string') {
    if (keys.includes(written)) return written;
    throw new Fault({
      code: 'usage.field',
      message: `${path} has no key "${cleanLine(written)}".`,
      remedy: `It has: ${keys.map(cleanLine).join(', ')}.`,
    });
  }
  if (!session.attended || keys.length === 0 || session.readOnly || session.rehearsing) return undefined;
  const none = 'leave them hidden';
  const chosen = await session.ask.choice({
    id: 'field',
    label: 'Reveal which one?',
    choices: [{ value: '', label: none }, ...keys.map((key) => ({ value: key, label: cleanLine(key) }))],
    initial: '',
  });
  return chosen === '' ? undefined : chosen;
}

async function reveal(
  session: Session,
  { options }: FlowInput,
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
      session.show({
        kind: 'secret',
        label: `${shown} ${cleanLine(field)}`,
        value: typeof value === 'string' ? value : JSON.stringify(value),
        secondsLeft: revealedSeconds,
        ...(options['plain'] === true && { plain: true }),
        ...(options['copy'] === true && { copyOnly: true }),
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

/** As it was written, without a slash in front. */
export function pathOf({ words }: FlowInput): string | undefined {
  const path = words[0]?.trim().replace(/^\/+/, '');
  return path === undefined || path === '' ? undefined : path;
}

function versionOf({ options }: FlowInput): number | undefined {
  const written = options['version'];
  if (typeof written !== 'string') return undefined;
  if (/^[1-9]\d{0,8}$/.test(written)) return Number(written);
  throw new Fault({ code: 'usage.version', message: `"${cleanLine(written)}" is no version.`, remedy: 'Versions are numbers, from 1 on.' });
}
