import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { readInstalled } from '../config/installation.ts';
import { createOwnFolder, listOwnFolder, readOwnJson, removeOwnFolder, writeOwnFile } from '../config/own-files.ts';
import type { OwnPaths } from '../config/paths.ts';
import { Fault, isAbort } from '../faults/fault.ts';
import { isAlive } from '../hosts/job-control.ts';
import { queryEngine } from '../hosts/practice-host.ts';
import type { PracticeFacts, PracticeOptions } from '../practice/practice.ts';
import { parseJson } from '../text/json-value.ts';
import { openCatalogWith } from './open-catalog.ts';

/** A practice stack that can be used: served by another process, or opened in this one. */
export interface PracticeAccess {
  facts: PracticeFacts;
  folder: string;
  /** Audit, journal and the other state of an installation. In practice they start empty and are deleted at the end. */
  paths: OwnPaths;
  served: boolean;
  /**
   * Writes the files, records and secrets that make the practice components deployed. Called only when the stack folder or its secrets are
   * needed, so that an operator who only looks around does not wait. Missing where the serving process has done this.
   */
  prepare?(): Promise<void>;
  close(): Promise<void>;
}

/** Socket paths are limited to 104 characters on macOS and 108 on Linux; the longest name in the folder takes 17. */
const longestFolder = 84;
const sparePrefix = 'quarterdeck-';
const factsName = 'facts.json';

export async function accessPractice(paths: OwnPaths, signal: AbortSignal): Promise<PracticeAccess> {
  return (await findServed(paths, signal)) ?? (await openOwn(paths));
}

/** Returns the practice stack that `practice serve` runs for this user, or undefined. Removes the files that dead processes left. */
export async function findServed(paths: OwnPaths, signal: AbortSignal): Promise<PracticeAccess | undefined> {
  let found: PracticeAccess | undefined;
  for (const { name, kind } of (await listOwnFolder(paths.run)) ?? []) {
    const pid = Number(/^practice-(\d+)$/.exec(name)?.[1]);
    if (kind !== 'folder' || !Number.isInteger(pid)) continue;
    const home = join(paths.run, name);
    const facts = await readFacts(home);
    if (!isAlive(pid)) {
      if (facts && isSpare(folderOf(facts))) await removeOwnFolder(folderOf(facts));
      await removeOwnFolder(home);
      continue;
    }
    if (!facts || found || !(await answers(facts, signal))) continue;
    found = { facts, folder: folderOf(facts), paths: pathsIn(paths, home), served: true, close: async () => undefined };
  }
  return found;
}

/** Returns the folder of the sockets: in the home, or, where its path is too long, a temporary folder with an unguessable name. */
function roomFor(home: string): string {
  const spare = `${sparePrefix}${randomBytes(6).toString('hex')}`;
  const folder = [join(home, 's'), join(tmpdir(), spare), join('/tmp', spare)].find((one) => one.length <= longestFolder);
  if (folder !== undefined) return folder;
  const message = `No folder for the practice sockets has a short enough path: ${home}`;
  throw new Fault('failed.practiceRoom', message, 'Set QUARTERDECK_HOME or TMPDIR to a folder with a short path.');
}

/** Accepts only folders that `roomFor` created outside of a home. Other paths in the notes are not ours to remove. */
const isSpare = (folder: string): boolean => new RegExp(`^${sparePrefix}[0-9a-f]{12}$`).test(basename(folder));

const folderOf = ({ engine }: PracticeFacts): string => dirname(engine.replace(/^unix:\/\//, ''));

/** Returns undefined if the notes belong to another user or are damaged, and cannot be used. */
async function readFacts(home: string): Promise<PracticeFacts | undefined> {
  const facts = (await readOwnJson(join(home, factsName))) as PracticeFacts | null | undefined;
  return facts?.schema === 1 && typeof facts.engine === 'string' && facts.engine.startsWith('unix://') ? facts : undefined;
}

async function answers(facts: PracticeFacts, signal: AbortSignal): Promise<boolean> {
  try {
    return (await queryEngine(join(folderOf(facts), 'engine.sock'), 'GET', '/_ping', signal)) === 'OK';
  } catch (thrown) {
    if (isAbort(thrown) && signal.aborted) throw thrown;
    return false;
  }
}

/** Uses the operator's own configuration: colours and keys. */
function pathsIn(paths: OwnPaths, home: string): OwnPaths {
  return { ...paths, state: join(home, 'state'), data: join(home, 'data'), run: join(home, 'run') };
}

/** Opens a practice stack in this process. Other processes find it only after `publish`. */
export async function openOwn(
  paths: OwnPaths,
  options: Pick<PracticeOptions, 'longestBootMs'> = {},
): Promise<PracticeAccess & { publish(): Promise<void> }> {
  const [{ openPractice }, catalog, text] = await Promise.all([
    import('../practice/open-practice.ts'),
    openCatalogWith(undefined, paths),
    readInstalled('dist/practice.json'),
  ]);
  const components = parseJson(text) as PracticeOptions['components'];
  const home = join(paths.run, `practice-${process.pid}`);
  await removeOwnFolder(home);
  await createOwnFolder(home);
  const folder = roomFor(home);
  const practice = await openPractice({ folder, catalog, components, ...options });
  let preparing: Promise<void> | undefined;
  const prepare = () => {
    preparing ??= import('./practice-deployments.ts').then(({ layPracticeDeployments }) =>
      layPracticeDeployments(practice, { catalog, folder, paths: pathsIn(paths, home) }),
    );
    return preparing;
  };
  return {
    facts: practice.facts,
    folder,
    paths: pathsIn(paths, home),
    served: false,
    prepare,
    publish: async () => {
      await prepare();
      await writeOwnFile(join(home, factsName), `${JSON.stringify(practice.facts)}\n`);
    },
    close: async () => {
      await preparing?.catch(() => undefined);
      await practice.close();
      await removeOwnFolder(home);
    },
  };
}
