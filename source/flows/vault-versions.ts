import { Fault } from '../faults/fault.ts';
import { type Engine, type PathVersion, VaultPaths } from '../products/vault-paths.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { vaultDeleteAbout, vaultDestroyAbout, vaultUndeleteAbout, vaultVersionsAbout } from './about-vault.ts';
import type { Flow, FlowInput, FlowWorld } from './flow.ts';
import { type OpenVault, openVaultOf, tokenFor } from './vault-open.ts';
import { choosePath, pathOf } from './vault-read.ts';

/** A path of an open secrets manager, with what may be asked of it. */
interface Found {
  vault: OpenVault;
  paths: VaultPaths;
  engine: Engine;
  path: string;
  /** For sentences. */
  shown: string;
}

export const vaultVersions: Flow = {
  ...vaultVersionsAbout,
  async run(session, input, world) {
    const found = await find(session, input, world, 'read on its metadata');
    const { paths, engine, path, shown } = found;
    const versions = await paths.versions(engine, path, session.signal);
    if (versions.length === 0) throw nothingAt(found);
    session.show({ kind: 'table', title: shown, columns: ['VERSION', 'WRITTEN', 'STATE'], rows: versions.map(rowOf) });
    const there = versions.filter(({ state }) => state === 'there').length;
    return {
      message: `${shown} has ${versions.length === 1 ? 'one version' : `${versions.length} versions`}, ${there} of them to be read.`,
      data: { path, versions },
    };
  },
};

export const vaultDelete: Flow = {
  ...vaultDeleteAbout,
  async run(session, input, world) {
    if (session.rehearsing) return rehearsed(session, input, 'delete the newest version of');
    const found = await find(session, input, world, 'delete there');
    if (found.engine.version === 1) return removeWhole(session, found);
    const versions = await versionsOf(session, found);
    const wanted = await settled(session, named(input, versions) ?? [versions[0]?.version ?? 0]);
    throwIfDestroyed(found, versions, wanted, 'deleted');
    await session.act({
      id: 'delete',
      right: 'operate',
      request: `POST /v1/${cleanLine(found.engine.mount)}delete/${insideOf(found)} {"versions": [${wanted.join(', ')}]}`,
      target: found.vault.target,
      done: () => areAll(session, found, wanted, ['deleted', 'destroyed']),
      run: (grant) => found.paths.deleteVersions(grant, found.engine, found.path, wanted),
    });
    return {
      message: `${become(found, wanted, 'deleted')} To bring back: quarterdeck vault undelete ${found.vault.component.id} ${found.shown}`,
      data: { path: found.path, versions: wanted },
    };
  },
};

export const vaultUndelete: Flow = {
  ...vaultUndeleteAbout,
  async run(session, input, world) {
    if (session.rehearsing) return rehearsed(session, input, 'bring back the version that was deleted last of');
    const found = await find(session, input, world, 'update on its undelete');
    const versions = await versionsOf(session, found);
    const wanted = await settled(session, named(input, versions) ?? lastDeleted(versions));
    throwIfDestroyed(found, versions, wanted, 'brought back');
    if (wanted.length === 0) return { message: `Nothing of ${found.shown} is deleted.`, data: { path: found.path, versions: [] } };
    await session.act({
      id: 'undelete',
      right: 'operate',
      request: `POST /v1/${cleanLine(found.engine.mount)}undelete/${insideOf(found)} {"versions": [${wanted.join(', ')}]}`,
      target: found.vault.target,
      done: () => areAll(session, found, wanted, ['there']),
      run: (grant) => found.paths.undeleteVersions(grant, found.engine, found.path, wanted),
    });
    const newest = versions[0]?.version ?? 0;
    const note = wanted.includes(newest) ? '' : ` What is read without a version is version ${newest}.`;
    return { message: `${become(found, wanted, 'there again')}${note}`, data: { path: found.path, versions: wanted } };
  },
};

export const vaultDestroy: Flow = {
  ...vaultDestroyAbout,
  async run(session, input, world) {
    const isWhole = input.options['all'] === true;
    if (session.rehearsing) return rehearsed(session, input, isWhole ? 'destroy all of' : 'destroy versions of');
    const found = await find(session, input, world, isWhole ? 'delete on its metadata' : 'update on its destroy');
    if (isWhole || found.engine.version === 1) return removeWhole(session, found);
    const versions = await versionsOf(session, found);
    const wanted = await settled(session, named(input, versions) ?? notedIn(session) ?? (await choose(session, found, versions)));
    await session.act({
      id: 'destroy',
      right: 'destroy',
      title: `Destroy ${versionText(wanted).toLowerCase()} of ${found.shown}`,
      request: `POST /v1/${cleanLine(found.engine.mount)}destroy/${insideOf(found)} {"versions": [${wanted.join(', ')}]}`,
      target: found.vault.target,
      consequences: ['Their values are gone for good, here and for every program. A snapshot of before still has them.'],
      done: () => areAll(session, found, wanted, ['destroyed']),
      run: (grant) => found.paths.destroyVersions(grant, found.engine, found.path, wanted),
    });
    return { message: become(found, wanted, 'destroyed'), data: { path: found.path, versions: wanted } };
  },
};

async function find(session: Session, input: FlowInput, world: FlowWorld, may: string): Promise<Found> {
  const vault = await openVaultOf(session, input, world);
  const { token } = await tokenFor(session, world, vault.target, {
    may: pathOf(input) === undefined ? may.replace(/ there$/, ' on the path that you choose next') : may,
  });
  const paths = new VaultPaths(vault.place, token);
  const path = pathOf(input) ?? (await choosePath(session, paths));
  const engine = await paths.engineOf(path, session.signal);
  return { vault, paths, engine, path, shown: cleanLine(path) };
}

async function versionsOf(session: Session, found: Found): Promise<readonly PathVersion[]> {
  const { paths, engine, path } = found;
  const versions = await paths.versions(engine, path, session.signal);
  if (versions.length === 0) throw nothingAt(found);
  return versions;
}

/** Without versions, or with all of them: nothing of it comes back. */
async function removeWhole(session: Session, found: Found) {
  const { vault, paths, engine, path, shown } = found;
  const isThere = async () =>
    engine.version === 1
      ? (await paths.read(engine, path, session.signal)) !== undefined
      : (await paths.versions(engine, path, session.signal)).length > 0;
  const entry = engine.version === 1 ? await paths.read(engine, path, session.signal) : undefined;
  const lost =
    engine.version === 1
      ? Object.keys(entry?.values ?? {})
          .map(cleanLine)
          .join(', ')
      : 'every version of it, and all that is known of it';
  // A run that broke off may have removed it.
  if (!(await isThere())) {
    if (session.noted(removingStep).length > 0) return { message: `${shown} is gone for good.`, data: { path } };
    throw nothingAt(found);
  }
  await session.note(removingStep, path);
  await session.act({
    id: 'remove',
    right: 'destroy',
    title: `Remove ${shown}`,
    request: `DELETE /v1/${cleanLine(engine.mount)}${engine.version === 1 ? '' : 'metadata/'}${cleanLine(path.slice(engine.mount.length))}`,
    target: vault.target,
    consequences: [
      engine.version === 1 ? `This engine keeps no versions. What stands there now is lost: ${lost}.` : `Lost for good: ${lost}.`,
    ],
    done: async () => !(await isThere()),
    run: (grant) => paths.remove(grant, engine, path),
  });
  return { message: `${shown} is gone for good.`, data: { path } };
}

/** A run that is gone on with means what it meant before, whatever was written since. */
async function settled(session: Session, wanted: readonly number[]): Promise<readonly number[]> {
  const noted = notedIn(session);
  if (noted) return noted;
  if (wanted.length > 0) await session.note(versionsStep, wanted.join());
  return wanted;
}

function notedIn(session: Session): readonly number[] | undefined {
  return session.noted(versionsStep)[0]?.split(',').map(Number);
}

const versionsStep = 'versions-meant';
/** Under which a run notes what it is going to remove. */
const removingStep = 'removing';

/** Versions of the command line. Throws `usage.version` for one that there is none of. */
function named({ options }: FlowInput, versions: readonly PathVersion[]): number[] | undefined {
  const written = options['version'];
  const given = Array.isArray(written) ? (written as readonly string[]) : typeof written === 'string' ? [written] : [];
  if (given.length === 0) return undefined;
  const wanted = [...new Set(given.flatMap((text) => text.split(',')).map(Number))];
  const unknown = wanted.find((number) => !versions.some(({ version }) => version === number));
  if (unknown === undefined) return wanted;
  throw new Fault({
    code: 'usage.version',
    message: `There is no version ${cleanLine(given.join(', '))} of it.`,
    remedy: `It has: ${versions.map(({ version }) => version).join(', ')}.`,
  });
}

async function choose(session: Session, { shown }: Found, versions: readonly PathVersion[]): Promise<number[]> {
  const choices = versions
    .filter(({ state }) => state !== 'destroyed')
    .map((one) => ({ value: String(one.version), label: `Version ${one.version}`, detail: rowOf(one).slice(1).join(', ') }));
  if (choices.length === 0)
    throw new Fault({
      code: 'refused.versions',
      message: `Every version of ${shown} is destroyed already.`,
      remedy: 'Remove the path itself with --all.',
    });
  const chosen = await session.ask.several({ id: 'versions', label: `Destroy which versions of ${shown}?`, choices, fresh: true });
  if (chosen.length === 0) throw new Fault({ code: 'interrupted.cancelled', message: 'Nothing was destroyed.', remedy: 'Run it again.' });
  return chosen.map(Number);
}

/** The one that was deleted last; none where none is. */
function lastDeleted(versions: readonly PathVersion[]): number[] {
  const deleted = versions.filter(({ state }) => state === 'deleted');
  const [last] = [...deleted].sort((one, other) => Date.parse(other.deletedAt) - Date.parse(one.deletedAt) || other.version - one.version);
  return last ? [last.version] : [];
}

function throwIfDestroyed({ shown }: Found, versions: readonly PathVersion[], wanted: readonly number[], what: string): void {
  const gone = versions.filter(({ version, state }) => wanted.includes(version) && state === 'destroyed').map(({ version }) => version);
  if (gone.length === 0) return;
  throw new Fault({
    code: 'refused.versions',
    message: `${versionText(gone)} of ${shown} ${gone.length === 1 ? 'was' : 'were'} destroyed, and cannot be ${what}.`,
    remedy: 'A snapshot of before still has it.',
  });
}

async function areAll(
  session: Session,
  { paths, engine, path }: Found,
  wanted: readonly number[],
  states: readonly string[],
): Promise<boolean> {
  const now = await paths.versions(engine, path, session.signal);
  return wanted.every((number) => now.some(({ version, state }) => version === number && states.includes(state)));
}

function rowOf({ version, createdAt, state, deletedAt }: PathVersion): string[] {
  const when = (time: string) => time.slice(0, 16).replace('T', ' ');
  return [String(version), when(createdAt), state === 'deleted' ? `deleted ${when(deletedAt)}` : state];
}

const versionText = (versions: readonly number[]) => `${versions.length === 1 ? 'Version' : 'Versions'} ${versions.join(', ')}`;
const become = ({ shown }: Found, versions: readonly number[], what: string) =>
  `${versionText(versions)} of ${shown} ${versions.length === 1 ? 'is' : 'are'} ${what}.`;
const insideOf = ({ path, engine }: Found) => cleanLine(path.slice(engine.mount.length));

function nothingAt({ vault, shown, engine }: Found): Fault {
  return new Fault({
    code: 'usage.path',
    message: `There is nothing at ${shown}.`,
    remedy: `Look what there is: quarterdeck vault list ${vault.target.component} ${cleanLine(engine.mount)}`,
  });
}

function rehearsed(session: Session, input: FlowInput, what: string): { message: string } {
  const path = cleanLine(pathOf(input) ?? 'a path');
  session.show({ kind: 'text', text: `Would ask for a token and ${what} ${path}` });
  return { message: `Rehearsed: ${path} is as it was.` };
}
