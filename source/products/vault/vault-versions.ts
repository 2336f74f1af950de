import { Fault } from '../../faults/fault.ts';
import { dryRunOf } from '../../flows/dry-run.ts';
import type { FlowContext, FlowInput, FlowOutcome, Procedure } from '../../flows/flow.ts';
import { optionsOf } from '../../flows/flow-options.ts';
import { showList } from '../../flows/list-table.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import { type PathVersion, pathIn, type VersionCall } from './client/vault-paths.ts';
import { nothingAt, type OpenPath, openPath, pathOf } from './vault-values.ts';

export const vaultVersions: Procedure = async (session, input, context) => {
  const found = await openPath(session, input, context, 'read on the metadata of the path');
  const { path, shown } = found;
  const versions = await versionsOf(found);
  const columns = { VERSION: ({ version }: PathVersion) => String(version), WRITTEN: writtenText, STATE: stateText };
  showList(session, versions, columns, { title: shown });
  const there = versions.filter(({ state }) => state === 'there').length;
  return { message: `${shown} has ${countText(versions.length, 'version')}, ${there} readable.`, data: { path, versions } };
};

const changes = {
  delete: {
    would: 'delete the newest version of',
    may: 'delete on the path',
    meant: async (_found: OpenPath, [newest]: readonly PathVersion[]) => [newest?.version ?? 0],
    states: ['deleted', 'destroyed'],
    became: 'Deleted',
    notFromDestroyed: 'deleted',
    more: ({ component, shown }: OpenPath, wanted: readonly number[]) =>
      ` To restore: quarterdeck vault undelete ${component.id} ${shown} --version ${wanted.join(',')}`,
  },
  undelete: {
    would: 'restore the last deleted version of',
    may: 'update on the undelete path',
    meant: async (_found: OpenPath, versions: readonly PathVersion[]) => lastDeleted(versions),
    states: ['there'],
    became: 'Restored',
    notFromDestroyed: 'restored',
    more: (_found: OpenPath, wanted: readonly number[], newest: number) =>
      wanted.includes(newest) ? '' : ` The current version is ${newest}.`,
  },
  destroy: {
    would: 'destroy versions of',
    may: 'update on the destroy path',
    meant: choose,
    states: ['destroyed'],
    became: 'Destroyed',
    notFromDestroyed: undefined,
    more: () => '',
  },
} as const;

export const vaultDelete: Procedure = (...args) => change('delete', ...args);
export const vaultUndelete: Procedure = (...args) => change('undelete', ...args);
export const vaultDestroy: Procedure = (...args) => change('destroy', ...args);

async function change(call: VersionCall, session: Session, input: FlowInput, context: FlowContext): Promise<FlowOutcome> {
  const { would, may, meant, states, became, notFromDestroyed, more } = changes[call];
  const isWhole = call === 'destroy' && input.options['all'] === true;
  if (session.dryRun) {
    const named = cleanLine(pathOf(input) ?? 'a path');
    const listed = optionsOf(input, 'version')?.map(cleanLine);
    const what = isWhole ? 'destroy all of' : listed ? `${call} version ${listed.join(', ')} of` : would;
    return dryRunOf(session, `prompt for a token and ${what} ${named}`, `${named} was not changed.`);
  }
  const found = await openPath(session, input, context, isWhole ? 'delete on the metadata of the path' : may);
  const { paths, engine, path, shown } = found;
  if (isWhole || (engine.version === 1 && call !== 'undelete')) return removeWhole(found);
  const versions = await versionsOf(found);
  const wanted = await settled(session, async () => named(input, versions) ?? (await meant(found, versions)));
  if (notFromDestroyed !== undefined) throwIfDestroyed(found, versions, wanted, notFromDestroyed);
  if (wanted.length === 0) return { message: `${shown} has no deleted versions.`, data: { path, versions: [] } };
  await session.act({
    id: call,
    right: call === 'destroy' ? 'destroy' : 'operate',
    ...(call === 'destroy' && {
      title: `Destroy ${versionText(wanted).toLowerCase()} of ${shown}`,
      consequences: ['Their values are permanently lost, except in earlier snapshots.'],
    }),
    request: `POST /v1/${cleanLine(pathIn(engine, call, path))} {"versions": [${wanted.join(', ')}]}`,
    done: async () => {
      const now = await paths.versions(engine, path, session.signal);
      return wanted.every((number) => now.some(({ version, state }) => version === number && states.some((one) => one === state)));
    },
    run: (grant) => paths.changeVersions(grant, engine, call, path, wanted),
  });
  const changed = `${became} ${versionText(wanted).toLowerCase()} of ${shown}.`;
  return { message: `${changed}${more(found, wanted, versions[0]?.version ?? 0)}`, data: { path, versions: wanted } };
}

async function versionsOf(found: OpenPath): Promise<readonly PathVersion[]> {
  const { session, paths, engine, path } = found;
  const versions = await paths.versions(engine, path, session.signal);
  if (versions.length === 0) throw nothingAt(found);
  return versions;
}

async function removeWhole(found: OpenPath): Promise<FlowOutcome> {
  const { session, paths, engine, path, shown } = found;
  const read = () => paths.read(engine, path, session.signal);
  const isVersioned = engine.version === 2;
  const isThere = async () =>
    isVersioned ? (await paths.versions(engine, path, session.signal)).length > 0 : (await read()) !== undefined;
  const outcome = { message: `Permanently deleted ${shown}.`, data: { path } };
  const keys = isVersioned ? [] : Object.keys((await read())?.values ?? {});
  const consequence = isVersioned
    ? 'All versions and the metadata of the path are permanently lost.'
    : `This engine keeps no versions. The current values are lost: ${keys.map(cleanLine).join(', ')}.`;
  // An interrupted run may have removed it.
  if (!(await isThere())) {
    if (session.noted(removingStep).length > 0) return outcome;
    throw nothingAt(found);
  }
  await session.note(removingStep, path);
  await session.act({
    id: 'remove',
    right: 'destroy',
    title: `Remove ${shown}`,
    request: `DELETE /v1/${cleanLine(pathIn(engine, 'metadata', path))}`,
    consequences: [consequence],
    done: async () => !(await isThere()),
    run: (grant) => paths.remove(grant, engine, path),
  });
  return outcome;
}

/** Returns the versions that an interrupted run recorded, so that a resumed run ignores later writes. */
async function settled(session: Session, meant: () => Promise<readonly number[]>): Promise<readonly number[]> {
  const [noted] = session.noted(versionsStep);
  if (noted !== undefined) return noted.split(',').map(Number);
  const wanted = await meant();
  if (wanted.length > 0) await session.note(versionsStep, wanted.join());
  return wanted;
}

const versionsStep = 'versions-meant';
const removingStep = 'removing';

function named(input: FlowInput, versions: readonly PathVersion[]): number[] | undefined {
  const given = optionsOf(input, 'version') ?? [];
  if (given.length === 0) return undefined;
  const wanted = [...new Set(given.flatMap((text) => text.split(',')).map(Number))];
  const unknown = wanted.find((number) => !versions.some(({ version }) => version === number));
  if (unknown === undefined) return wanted;
  const remedy = `Existing versions: ${versions.map(({ version }) => version).join(', ')}.`;
  throw new Fault('usage.version', `No such version: ${cleanLine(given.join(', '))}.`, remedy);
}

async function choose({ session, shown }: OpenPath, versions: readonly PathVersion[]): Promise<readonly number[]> {
  const choices = versions
    .filter(({ state }) => state !== 'destroyed')
    .map((one) => ({ value: String(one.version), label: `Version ${one.version}`, detail: `${writtenText(one)}, ${stateText(one)}` }));
  if (choices.length === 0)
    throw new Fault('refused.versions', `All versions of ${shown} are already destroyed.`, 'To remove the path itself, pass --all.');
  const chosen = await session.ask.several({ id: 'versions', label: `Versions of ${shown} to destroy`, choices, fresh: true });
  if (chosen.length === 0) throw new Fault('interrupted.cancelled', 'Nothing was destroyed.', 'Select a version.');
  return chosen.map(Number);
}

function lastDeleted(versions: readonly PathVersion[]): number[] {
  const deleted = versions.filter(({ state }) => state === 'deleted');
  const [last] = [...deleted].sort((one, other) => Date.parse(other.deletedAt) - Date.parse(one.deletedAt) || other.version - one.version);
  return last ? [last.version] : [];
}

function throwIfDestroyed({ shown }: OpenPath, versions: readonly PathVersion[], wanted: readonly number[], what: string): void {
  const gone = versions.filter(({ version, state }) => wanted.includes(version) && state === 'destroyed').map(({ version }) => version);
  if (gone.length === 0) return;
  const message = `${versionText(gone)} of ${shown} ${gone.length === 1 ? 'was' : 'were'} destroyed, and cannot be ${what}.`;
  throw new Fault('refused.versions', message, 'Earlier snapshots may still contain the values.');
}

const timeText = (time: string) => time.slice(0, 16).replace('T', ' ');
const writtenText = ({ createdAt }: PathVersion) => timeText(createdAt);
const stateText = ({ state, deletedAt }: PathVersion) =>
  state === 'deleted' ? `deleted ${timeText(deletedAt)}` : state === 'there' ? 'readable' : state;
const versionText = (versions: readonly number[]) => `${versions.length === 1 ? 'Version' : 'Versions'} ${versions.join(', ')}`;
