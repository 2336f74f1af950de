import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { openCatalog } from '../catalog/open-catalog.ts';
import { installationFolder } from '../config/installation.ts';
import { listOwnFolder, makeOwnFolder, readOwnFile, removeOwnFolder, writeOwnFile } from '../config/own-files.ts';
import type { OwnPaths } from '../config/paths.ts';
import { Fault, isAbort } from '../faults/fault.ts';
import { askEngine } from '../hosts/practice-host.ts';
import { practicePrograms } from '../hosts/practice-programs.ts';
import type { PracticeFacts } from '../practice/practice.ts';
import { parseJson } from '../text/json-value.ts';

/** A practice stack that can be used: one that somebody serves, or one of our own. */
export interface PracticeAccess {
  facts: PracticeFacts;
  /** Where its sockets are, and all files that it may touch. */
  folder: string;
  /** Audit, journal and whatever else would be the installation's own: in practice they begin empty and end with it. */
  paths: OwnPaths;
  /** Does another process run it? */
  served: boolean;
  /**
   * Lays down what the practice stack counts as deployed: files, records and secrets. Asked for by whoever needs the stack's folder or its secrets, so that
   * looking around does not wait for it. Missing where whoever serves it has done so.
   */
  prepare?(): Promise<void>;
  close(): Promise<void>;
}

/** Sockets have room for 104 characters on macOS and 108 on Linux; the longest name in the folder takes 17. */
const longestFolder = 84;
const sparePrefix = 'quarterdeck-';
const factsName = 'facts.json';

/** A served practice stack, or one of one's own that lives until it is closed. */
export async function accessPractice(paths: OwnPaths, signal: AbortSignal): Promise<PracticeAccess> {
  return (await findServed(paths, signal)) ?? (await openOwn(paths));
}

/** The practice stack that `practice serve` runs for this user, undefined where there is none. What dead processes left behind goes. */
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

/** Where the sockets go: into the home, or where that has too long a name, into a folder for what is temporary, under a name that nobody guesses. */
function roomFor(home: string): string {
  const spare = `${sparePrefix}${randomBytes(6).toString('hex')}`;
  const folder = [join(home, 's'), join(tmpdir(), spare), join('/tmp', spare)].find((one) => one.length <= longestFolder);
  if (folder !== undefined) return folder;
  throw new Fault({
    code: 'failed.practiceRoom',
    message: `The names of all folders are too long for sockets: ${home}`,
    remedy: 'Set QUARTERDECK_HOME or TMPDIR to a folder with a short name.',
  });
}

/** One that `roomFor` made outside of a home; whatever else notes may say is not ours to remove. */
function isSpare(folder: string): boolean {
  return new RegExp(`^${sparePrefix}[0-9a-f]{12}$`).test(basename(folder));
}

function folderOf({ engine }: PracticeFacts): string {
  return dirname(engine.replace(/^unix:\/\//, ''));
}

async function readFacts(home: string): Promise<PracticeFacts | undefined> {
  try {
    const text = await readOwnFile(join(home, factsName));
    const facts = text === undefined ? undefined : (parseJson(text) as PracticeFacts);
    return facts?.schema === 1 && facts.engine.startsWith('unix://') ? facts : undefined;
  } catch {
    // Somebody else's, or damaged: nothing that could be used.
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function answers(facts: PracticeFacts, signal: AbortSignal): Promise<boolean> {
  try {
    return (await askEngine(join(folderOf(facts), 'engine.sock'), 'GET', '/_ping', signal)) === 'OK';
  } catch (thrown) {
    if (isAbort(thrown) && signal.aborted) throw thrown;
    return false;
  }
}

/** Configuration stays the operator's: colours and keys. */
function pathsIn(paths: OwnPaths, home: string): OwnPaths {
  return { ...paths, state: join(home, 'state'), data: join(home, 'data'), run: join(home, 'run') };
}

/** The practice machine's `docker-compose`. */
function composeScript(installation: string): string {
  const quoted = `'${join(installation, 'bin', 'quarterdeck').replaceAll("'", "'\\''")}'`;
  return `#!/bin/sh\nexec ${quoted} practice compose -- "$@"\n`;
}

/** Every name leads to the practice machine. */
const resolverScript = '#!/bin/sh\nfor name; do :; done\necho "192.168.1.10    STREAM $name"\n';

/** Opens a practice stack in this process. It tells nobody where it is, until it is published. */
export async function openOwn(paths: OwnPaths): Promise<PracticeAccess & { publish(): Promise<void> }> {
  const [{ openPractice }, catalog] = await Promise.all([
    import('../practice/open-practice.ts'),
    openCatalog({ compiledFile: join(installationFolder(), 'dist', 'catalog.json') }),
  ]);
  const home = join(paths.run, `practice-${process.pid}`);
  await removeOwnFolder(home);
  await makeOwnFolder(home);
  const folder = roomFor(home);
  const practice = await openPractice({ folder, catalog });
  await makeOwnFolder(join(folder, 'home'));
  const programs = practicePrograms(folder);
  await writeOwnFile(join(programs, 'docker-compose'), composeScript(installationFolder()), { mode: 0o700 });
  await writeOwnFile(join(programs, 'getent'), resolverScript, { mode: 0o700 });
  let preparing: Promise<void> | undefined;
  const prepare = () => {
    preparing ??= import('./practice-deployments.ts').then(({ layPracticeDeployments }) =>
      layPracticeDeployments({ practice, catalog, folder, paths: pathsIn(paths, home) }),
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
