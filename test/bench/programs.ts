import { spawnSync } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Key } from '../pty/keys.ts';
import type { Sight } from './timed-program.ts';

export interface BenchProgram {
  id: string;
  title: string;
  /** Undefined: it is not installed. */
  argv: readonly string[] | undefined;
  version: string;
  /** Keys from the first screen to the log of the first container by name; what is waited for between them, if anything. */
  toLog: readonly Key[];
  /** Two keys that change the screen to and fro while the log is followed on it, and the keys that lead to where they do. */
  keys: {
    what: string;
    lead: readonly Key[];
    to: Key;
    back: Key;
    /** Seen after `to`, gone after `back`. */
    sight: Sight;
  };
  /** Down and up in the list. */
  move: readonly [down: Key, up: Key];
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const launcherIn = (folder: string): string => join(folder, 'bin/quarterdeck');
export const launcher = launcherIn(root);
/** What the launcher tells node, above all how far memory may grow. */
export const launchOptions = /^exec "\$node" (.*) "\$root/m.exec(readFileSync(launcher, 'utf8'))?.[1]?.split(' ') ?? [];
const handWritten = fileURLToPath(new URL('hand-written.cjs', import.meta.url));

/** How many lines have arrived, as the title of the pane says it, and as the floor does. */
export const ownCounter = /Logs .*?(\d[\d,.\u202f ]*) lines?\b/;
export const handWrittenCounter = /^--- (\d+) lines/;

/** Where `test/bench/peers` puts them. */
const peersFolder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'quarterdeck-bench', 'bin');

function find(name: string): readonly string[] | undefined {
  for (const folder of [peersFolder, ...(process.env.PATH ?? '').split(delimiter)]) {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return [join(folder, name)];
    } catch {
      // Not here.
    }
  }
  return undefined;
}

function versionOf(argv: readonly string[] | undefined, flag: string): string {
  if (!argv) return '';
  const { stdout } = spawnSync(argv[0] ?? '', [...argv.slice(1), flag], { encoding: 'utf8', timeout: 10_000 });
  // One number or commit out of whatever else it says.
  return /\d+\.\d+(?:\.\d+)?[^\s,]*/.exec(stdout ?? '')?.[0] ?? /\b[0-9a-f]{7,40}\b/.exec(stdout ?? '')?.[0] ?? 'of unknown version';
}

function versionIn(folder: string): string {
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  const { stdout } = spawnSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: folder, encoding: 'utf8' });
  const commit = stdout?.trim();
  return commit ? `${version} (${commit})` : version;
}

const shows =
  (pattern: RegExp): Sight =>
  (lines) =>
    lines.some((line) => pattern.test(line));

const filtering = (lead: Key, pattern: RegExp): BenchProgram['keys'] => ({
  what: 'a letter typed into the filter of the list, and taken back',
  lead: [lead],
  to: 'b',
  back: 'backspace',
  sight: shows(pattern),
});

/** The node that the launcher takes, so that ours and the floor run on the same. */
export const node = process.execPath;

/**
 * @param peers Whether other programs are measured beside ours and the floor.
 * @param against A checkout of ours, built, that is measured in turns with this one.
 */
export function benchPrograms(peers: boolean, against?: string): BenchProgram[] {
  const [lazydocker, dry, oxker, ctop] = ['lazydocker', 'dry', 'oxker', 'ctop'].map((name) => (peers ? find(name) : undefined));
  const ours = (id: string, folder: string): BenchProgram => ({
    id,
    title: id,
    argv: [launcherIn(folder)],
    version: versionIn(folder),
    toLog: [],
    keys: filtering('/', / \/b\b/),
    move: ['j', 'k'],
  });
  const programs: BenchProgram[] = [
    ours('quarterdeck', root),
    ...(against === undefined ? [] : [ours('before', resolve(against))]),
    {
      id: 'hand-written',
      title: 'hand-written',
      argv: [node, handWritten],
      version: `node ${process.versions.node}`,
      toLog: [],
      keys: filtering('/', / \/b\b/),
      move: ['j', 'k'],
    },
    {
      id: 'lazydocker',
      title: 'lazydocker',
      argv: lazydocker,
      version: versionOf(lazydocker, '--version'),
      toLog: [],
      keys: filtering('/', /filter: b/),
      move: ['j', 'k'],
    },
    {
      id: 'dry',
      title: 'dry',
      argv: dry,
      version: versionOf(dry, '--version'),
      // Sorted by id, which is anything; no id, image or command holds these letters.
      toLog: ['%', 's', 'o', 'enter', 'l'],
      keys: { ...filtering('/', /^\/b/), what: 'a letter typed into the search of the log, and taken back' },
      move: ['j', 'k'],
    },
    {
      id: 'oxker',
      title: 'oxker',
      argv: oxker,
      version: versionOf(oxker, '--version'),
      // By name, and to the first.
      toLog: ['1', 'home'],
      keys: filtering('/', /filter term: b/),
      move: ['j', 'k'],
    },
    {
      id: 'ctop',
      title: 'ctop',
      argv: ctop,
      version: versionOf(ctop, '-v'),
      toLog: ['l'],
      keys: { what: 'timestamps on, and off', lead: [], to: 't', back: 't', sight: shows(/\d\d:\d\d\S*\s+\d{9} bench/) },
      move: ['j', 'k'],
    },
  ];
  return programs.filter(({ id }) => peers || ['quarterdeck', 'before', 'hand-written'].includes(id));
}
