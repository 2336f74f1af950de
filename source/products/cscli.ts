import type { Engine } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import { limited } from '../faults/waits.ts';
import type { Grant } from '../grants/grant.ts';
import type { ExecOutcome, Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import { parseJson } from '../text/json-value.ts';

export interface CscliAnswer {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** Where `cscli` is run, and what lies beside it. */
export interface CscliPlace {
  /** `intrusion-prevention`, `CrowdSec on nas`. */
  readonly shown: string;
  /** Only what reads. Throws `refused.readOnly` where nothing may be run there. */
  read(words: readonly string[], signal: AbortSignal): Promise<CscliAnswer>;
  change(grant: Grant, words: readonly string[]): Promise<CscliAnswer>;
  file(path: string, signal: AbortSignal): Promise<Uint8Array | undefined>;
}

/** A list of 50,000 decisions has some 15 MB. */
const outputLimitBytes = 64 * 1024 * 1024;
const readLimitMs = 60_000;
const changeLimitMs = 300_000;

export function cscliInContainer(
  engine: Engine,
  { containerId, shown, readOnly }: { containerId: string; shown: string; readOnly: boolean },
): CscliPlace {
  const argvOf = (words: readonly string[]) => ['cscli', ...words];
  return {
    shown,
    async read(words, signal) {
      if (readOnly) {
        throw new Fault({
          code: 'refused.readOnly',
          message: `Read-only: nothing is run inside of containers, and only cscli ${words.slice(0, 2).map(cleanLine).join(' ')} knows this.`,
          remedy: 'Start without --read-only.',
        });
      }
      return limited(signal, readLimitMs, async (both) =>
        answerOf(await engine.execReading(containerId, argvOf(words), { signal: both, limitBytes: outputLimitBytes }), shown),
      );
    },
    change: async (grant, words) => answerOf(await engine.writer(grant).exec(containerId, argvOf(words)), shown),
    file: (path, signal) => engine.readFile(containerId, path, { signal, limitBytes: 64 * 1024 }),
  };
}

/** Its credentials are root's: whoever is not goes through sudo, which must not ask for a password. */
export function cscliOnHost(host: Host, { shown, uid }: { shown: string; uid: number | undefined }): CscliPlace {
  const argvOf = (words: readonly string[]) => [...(uid === 0 || uid === undefined ? [] : ['sudo', '-n']), 'cscli', ...words];
  const limits = { limitBytes: outputLimitBytes, env: { LC_ALL: 'C' } };
  return {
    shown,
    read: async (words, signal) => answerOf(await host.exec(argvOf(words), { ...limits, signal, limitMs: readLimitMs }), shown),
    change: async (grant, words) =>
      answerOf(await host.run(grant, argvOf(words), { ...limits, signal: grant.signal, limitMs: changeLimitMs }), shown),
    file: (path, signal) => host.files.read(path, { signal, limitBytes: 64 * 1024 }).catch(() => undefined),
  };
}

function answerOf({ exitCode, stdout, stderr, cut }: ExecOutcome, shown: string): CscliAnswer {
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  const words = text(stderr);
  if (exitCode !== 0 && /^sudo: /m.test(words)) {
    throw new Fault({
      code: 'refused.sudo',
      message: `cscli of ${shown} belongs to root there, and sudo asks for a password.`,
      remedy: 'Log in as root, or let sudo run cscli without a password (NOPASSWD: /usr/bin/cscli).',
    });
  }
  if (cut) {
    throw new Fault({
      code: 'failed.cscli',
      message: `cscli of ${shown} printed more than ${outputLimitBytes / 1024 / 1024} MB.`,
      remedy: 'Ask for less: one address, or without the shared lists.',
    });
  }
  return { exitCode, stdout: text(stdout), stderr: words };
}

/** What cscli says went wrong: everything that is no data goes to stderr, in three forms (reference/crowdsec.md). Cleaned, without a dot. */
export function refusalWords({ stderr, stdout }: CscliAnswer): string {
  const found: string[] = [];
  for (const line of stderr.split('\n')) {
    const fatal = fatalOf(line.trim());
    if (fatal !== undefined) found.push(fatal);
  }
  const said = found.at(-1) ?? stderr.trim().split('\n').at(-1) ?? stdout.trim().split('\n').at(-1) ?? '';
  return cleanLine(said).replace(/\.$/, '').slice(0, 400);
}

function fatalOf(line: string): string | undefined {
  if (line.startsWith('{')) {
    try {
      const { level, msg } = parseJson(line) as { level?: unknown; msg?: unknown };
      return typeof msg === 'string' && (level === 'fatal' || level === 'error') ? msg : undefined;
    } catch {
      return undefined;
    }
  }
  const plain = /^Error: (?:cscli(?: [a-z-]+)*: )?(.*)$/.exec(line)?.[1];
  if (plain !== undefined) return plain;
  const logged = /level=(?:fatal|error) msg=(?:"((?:[^"\\]|\\.)*)"|(\S+))/.exec(line);
  return logged ? (logged[1]?.replace(/\\(["\\])/g, '$1') ?? logged[2]) : undefined;
}
