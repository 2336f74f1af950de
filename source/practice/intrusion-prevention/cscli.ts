import { alertCommands } from './cscli-alerts.ts';
import { decisionCommands } from './cscli-decisions.ts';
import { registryCommands } from './cscli-registry.ts';
import { type FlagTable, parseFlags } from './flags.ts';
import { dayFirst, rfc3339 } from './go-words.ts';
import type { HubItem } from './hub-items.ts';
import type { RequestCounts } from './metrics.ts';
import type { Dialect } from './queries.ts';
import type { Store } from './store.ts';

export interface CliSurroundings {
  store: Store;
  hub: HubItem[];
  dialect: Dialect;
  /** What the package calls itself: `v1.7.8-c1a2b3d4-docker`. */
  versionText: string;
  /** The login in the credentials file of this container. */
  login: string;
  counts(): RequestCounts;
  /** A call that a command makes at the local API, for its log and its counts. */
  called(method: string, path: string, status: number): void;
  log(level: string, message: string): void;
}

export interface CliRun extends CliSurroundings {
  output: 'human' | 'json' | 'raw';
  old: boolean;
  texts: ReadonlyMap<string, string>;
  switches: ReadonlySet<string>;
  rest: readonly string[];
  stdin: string;
  print(text: string): void;
  /** Text on stderr, as it is, whatever the output. */
  complain(text: string): void;
  /** A line about success or harmless trouble, on stderr; only in human output. */
  note(level: 'info' | 'warning', message: string): void;
  usage(): void;
}

/** What a command refuses with. `plain`: before the configuration was read, so with another stamp. */
export class CliRefusal extends Error {
  readonly plain: boolean;
  constructor(message: string, plain = false) {
    super(message);
    this.plain = plain;
  }
}

export interface CliCommand {
  flags?: FlagTable;
  /** How many arguments: at least, and at most. None by default. */
  takes?: readonly [number, number];
  /** Only from 1.6.6 on. */
  recent?: true;
  run(cli: CliRun): void;
}

export type CliCommands = Readonly<Record<string, Readonly<Record<string, CliCommand>>>>;

const globalFlags: FlagTable = {
  config: { short: 'c', kind: 'text' },
  output: { short: 'o', kind: 'text' },
  color: { kind: 'text' },
  debug: { kind: 'switch' },
  info: { kind: 'switch' },
  warning: { kind: 'switch' },
  error: { kind: 'switch' },
  trace: { kind: 'switch' },
  help: { short: 'h', kind: 'switch' },
};

const aliases: Readonly<Record<string, string>> = {
  decision: 'decisions',
  alert: 'alerts',
  bouncer: 'bouncers',
  machine: 'machines',
  allowlist: 'allowlists',
  remove: 'delete',
};
const topCommands: CliCommands = { ...decisionCommands, ...alertCommands, ...registryCommands };

/** Runs `cscli` with these arguments: data on stdout, all else on stderr, 0 or 1. */
export function runCscli(
  surroundings: CliSurroundings,
  argv: readonly string[],
  stdin = '',
): { exitCode: number; stdout: string; stderr: string } {
  let stdout = '';
  let stderr = '';
  const old = surroundings.dialect === '1.4.6';
  let output: CliRun['output'] = 'human';
  let path = 'cscli';
  const stamp = (level: string, message: string, plain = false): void => {
    const now = surroundings.store.now();
    if (output === 'json' && !plain) stderr += `${JSON.stringify({ level, msg: message, time: rfc3339(now) })}\n`;
    else if (old) stderr += `time="${plain ? rfc3339(now) : dayFirst(now)}" level=${level} msg=${JSON.stringify(message)}\n`;
    else stderr += `level=${level} msg=${JSON.stringify(message)}\n`;
  };
  try {
    const { words, others } = wordsOf(argv);
    const [top = '', given = ''] = words.map((word, at) => (at === 0 ? (aliases[word] ?? word) : word));
    if (top === '' || top === 'help') {
      stdout += usageOf(
        'cscli',
        Object.keys(topCommands).filter((name) => !old || name !== 'allowlists'),
      );
      return { exitCode: 0, stdout, stderr };
    }
    const group = topCommands[top];
    if (group === undefined || (old && Object.values(group).every((command) => command.recent))) {
      const known = Object.keys(topCommands).filter((name) => name !== '');
      if (!old) stdout += usageOf('cscli', known);
      throw new CliRefusal(`unknown command ${JSON.stringify(words[0])} for "cscli"`, true);
    }
    // Of an allowlist entries are removed, and the list is deleted: there they are two.
    const verb = group[given] === undefined ? (aliases[given] ?? given) : given;
    const command = group[verb] ?? group[''];
    path = `cscli ${top}`;
    if (command === undefined) {
      const unknown = verb !== '';
      if (unknown && !old) throw new CliRefusal(`unknown command ${JSON.stringify(verb)} for "cscli ${top}"`);
      stdout += usageOf(path, Object.keys(group));
      return { exitCode: 0, stdout, stderr };
    }
    const own = group[verb] === undefined ? [...words.slice(1), ...others] : others;
    if (group[verb] !== undefined && verb !== '') path += ` ${verb}`;
    const table = { ...globalFlags, ...command.flags };
    const parsed = parseFlags(table, own);
    if (typeof parsed === 'string') throw new CliRefusal(parsed, true);
    const wanted = parsed.texts.get('output') ?? 'human';
    if (wanted !== 'human' && wanted !== 'json' && wanted !== 'raw')
      throw new CliRefusal(`output format '${wanted}' invalid: must be one of human, json, raw`, true);
    output = wanted;
    const usage = () => {
      stdout += usageOf(path, [], command.flags);
    };
    if (parsed.switches.has('help')) {
      usage();
      return { exitCode: 0, stdout, stderr };
    }
    const [least, most] = command.takes ?? [0, 0];
    if (parsed.rest.length < least || parsed.rest.length > most) {
      const count = `received ${parsed.rest.length}`;
      if (most === 0) throw new CliRefusal(`unknown command ${JSON.stringify(parsed.rest[0])} for ${JSON.stringify(path)}`);
      throw new CliRefusal(least === most ? `accepts ${most} arg(s), ${count}` : `requires at least ${least} arg(s), only ${count}`);
    }
    command.run({
      ...surroundings,
      ...parsed,
      output,
      old,
      usage,
      stdin,
      complain: (text) => {
        stderr += text;
      },
      print: (text) => {
        stdout += text;
      },
      note: (level, message) => {
        if (output === 'human') stamp(level, message);
      },
    });
    return { exitCode: 0, stdout, stderr };
  } catch (error) {
    if (!(error instanceof CliRefusal)) throw error;
    if (old) stamp('fatal', error.message, error.plain);
    else stderr += `Error: ${path}: ${error.message}\n`;
    return { exitCode: 1, stdout, stderr };
  }
}

/** The command and its verb, before which only global flags may stand; and all the rest, in its order. */
function wordsOf(argv: readonly string[]): { words: string[]; others: string[] } {
  const words: string[] = [];
  const others: string[] = [];
  for (let index = 0; index < argv.length && words.length < 2; index++) {
    const word = argv[index] ?? '';
    const global = /^(?:-[och]|--(?:config|output|color|debug|info|warning|error|trace|help)(?:=.*)?)$/.test(word);
    if (!word.startsWith('-')) words.push(word);
    else others.push(word);
    if (word.startsWith('-') && !global) {
      others.push(...argv.slice(index + 1));
      return { words, others };
    }
    if (/^(?:-[oc]|--(?:config|output|color))$/.test(word)) others.push(...argv.slice(++index, index + 1));
    if (words.length === 2) others.push(...argv.slice(index + 1));
  }
  return { words, others };
}

function usageOf(path: string, commands: readonly string[], flags?: FlagTable): string {
  const verbs = commands.filter((name) => name !== '');
  const lines = Object.entries(flags ?? {}).map(
    ([name, { short, kind }]) => `${short === undefined ? '      ' : `  -${short}, `}--${name}${kind === 'text' ? ' string' : ''}`,
  );
  return [
    '',
    'Usage:',
    '',
    `  ${path} ${verbs.length > 0 ? '[command]' : '[flags]'}`,
    '',
    ...(verbs.length > 0 ? ['', 'Available Commands:', '', ...verbs.map((name) => `  ${name}`), ''] : []),
    ...(lines.length > 0 ? ['', 'Flags:', '', ...lines, ''] : []),
    '',
  ].join('\n');
}
