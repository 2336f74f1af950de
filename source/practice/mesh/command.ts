import { commands, type Made } from './commands.ts';
import { type Flag, FlagFault, readFlags, UnreadFlags } from './flags.ts';
import { MeshFault } from './mesh-fault.ts';
import type { MeshState } from './mesh-state.ts';
import type { VersionInfo } from './rest.ts';
import { Told } from './told.ts';
import { printed, type Style } from './wire.ts';

interface Outcome {
  exitCode: number;
  stdout: string;
  stderr: string;
}

const common: Flag[] = [
  { name: 'output', short: 'o', kind: 'text' },
  { name: 'config', short: 'c', kind: 'text' },
  { name: 'force', kind: 'bool' },
  { name: 'help', short: 'h', kind: 'bool' },
];
const groupNames: Record<string, string> = {
  user: 'users',
  node: 'nodes',
  preauthkey: 'preauthkeys',
  authkey: 'preauthkeys',
  pre: 'preauthkeys',
  apikey: 'apikeys',
  api: 'apikeys',
};

/** Runs `headscale ...` as in the container: next to the server, over its socket, without a key. */
export function runCommand(state: MeshState, version: VersionInfo, argv: readonly string[], stdin: string): Outcome {
  const words = argv.slice(1);
  const format = outputOf(words);
  try {
    const made = dispatch(state, version, words, stdin);
    const style: Style = format === 'yaml' ? 'yaml' : state.minor >= 30 ? 'rest' : 'go';
    const text = format !== '' && made.value ? printed(made.value(style), format) : made.text;
    return { exitCode: 0, stdout: text.endsWith('\n\n') ? text : `${text}\n`, stderr: made.stderr ?? '' };
  } catch (error) {
    if (!(error instanceof FlagFault) && !(error instanceof MeshFault)) throw error;
    const text = error instanceof MeshFault ? error.overGrpc : error.message;
    const asked = error instanceof UnreadFlags ? outputOf(error.read) : format;
    return { exitCode: 1, stdout: '', stderr: asked === '' ? `Error: ${text}\n` : `${printed({ error: text }, asked)}\n` };
  }
}

function outputOf(words: readonly string[]): string {
  const at = words.findIndex((word) => word === '-o' || word === '--output');
  const value = at >= 0 ? words[at + 1] : /^(?:-o=?|--output=)(.+)$/.exec(words.find((word) => /^(?:-o.|--output=)/.test(word)) ?? '')?.[1];
  return ['json', 'json-line', 'yaml'].includes(value ?? '') ? (value ?? '') : '';
}

function dispatch(state: MeshState, version: VersionInfo, words: readonly string[], stdin: string): Made {
  // Flags may stand before the command.
  const plain = words.filter((word, at) => !word.startsWith('-') && !['-o', '-c', '--output', '--config'].includes(words[at - 1] ?? ''));
  const [first = '', verb = ''] = plain;
  const group = groupNames[first] ?? first;
  const inReach = commands.filter((each) => state.minor >= (each.from ?? 0) && state.minor <= (each.until ?? 99));
  const single = inReach.find((each) => each.names[0] === group && each.names.length === 1);
  const command =
    single ?? inReach.find((each) => each.names[0]?.split(' ')[0] === group && each.names.some((name) => name.split(' ').at(-1) === verb));
  if (!command) {
    const known = inReach.some((each) => each.names[0]?.startsWith(`${group} `));
    if (!known) throw new UnreadFlags(`unknown command "${first}" for "headscale"`, []);
    return { text: `Manage the ${group} of Headscale\n\nUsage:\n  headscale ${group} [command]` };
  }
  const flags = command.flags.filter(({ from = 0, until = 99 }) => state.minor >= from && state.minor <= until);
  const given = readFlags(words, [...common, ...flags]);
  given.words.splice(0, single ? 1 : 2);
  const asked: string[] = [];
  const made = command.run({
    state,
    told: new Told(state),
    given,
    version,
    confirmed(question) {
      if (given.bool('force')) return true;
      asked.push(`${question} [y/n] `);
      return /^y(?:es)?$|^sure$/i.test(stdin.trim());
    },
    readFile(path) {
      if (path === '/dev/stdin') return stdin;
      throw new FlagFault(`reading policy file: open ${path}: no such file or directory`);
    },
    call(doing, run) {
      try {
        return run();
      } catch (error) {
        if (!(error instanceof MeshFault)) throw error;
        const text = state.minor >= 30 ? error.message : error.overGrpc;
        throw new FlagFault(doing === '' ? text : `${doing}: ${text}`);
      }
    },
  });
  return { ...made, stderr: asked.join('') + (made.stderr ?? '') };
}
