import type { Engine } from '../../../engine/engine.ts';
import { Fault } from '../../../faults/fault.ts';
import { limited } from '../../../faults/waits.ts';
import type { Grant } from '../../../grants/grant.ts';
import type { ExecOutcome, Host } from '../../../hosts/host.ts';
import { cleanLine } from '../../../text/clean.ts';
import { objectOf, parsedJson } from '../../../text/json-value.ts';

export type CscliAnswer = Record<'stdout' | 'stderr', string> & { exitCode: number };

export interface CscliTarget {
  readonly shown: string;
  /** Runs a command that only reads. Throws `refused.readOnly` if no command may be run there. */
  read(words: readonly string[], signal: AbortSignal): Promise<CscliAnswer>;
  change(grant: Grant, words: readonly string[]): Promise<CscliAnswer>;
  file(path: string, signal: AbortSignal): Promise<Uint8Array | undefined>;
}

/** A list of 50,000 decisions is about 15 MB. */
const outputLimitBytes = 64 * 1024 * 1024;
const readLimitMs = 60_000;
const changeLimitMs = 300_000;

export function cscliInContainer(engine: Engine, containerId: string, shown: string, readOnly: boolean): CscliTarget {
  return {
    shown,
    async read(words, signal) {
      if (readOnly) {
        const command = words.slice(0, 2).map(cleanLine).join(' ');
        const message = `Read-only sessions cannot run programs in containers, and this action requires cscli ${command}.`;
        throw new Fault('refused.readOnly', message, 'Start without --read-only.');
      }
      return limited(signal, readLimitMs, async (both) =>
        answerOf(await engine.execReading(containerId, ['cscli', ...words], { signal: both, limitBytes: outputLimitBytes }), shown),
      );
    },
    change: async (grant, words) => answerOf(await engine.writer(grant).exec(containerId, ['cscli', ...words]), shown),
    file: (path, signal) => engine.readFile(containerId, path, { signal, limitBytes: 64 * 1024 }),
  };
}

/** Runs `cscli` on a host. Its credentials belong to root: other users go through sudo, which must not prompt for a password. */
export function cscliOnHost(host: Host, { shown, uid }: { shown: string; uid: number | undefined }): CscliTarget {
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
    const message = `cscli for ${shown} requires root, and sudo cannot run it without a password.`;
    throw new Fault('refused.sudo', message, 'Log in as root, or allow sudo to run cscli without a password (NOPASSWD: /usr/bin/cscli).');
  }
  if (cut) {
    const remedy = 'Omit --all or lower --limit, or query one address with cscli: cscli decisions list --ip ADDRESS';
    throw new Fault('failed.cscli', `cscli for ${shown} printed more than ${outputLimitBytes / 1024 / 1024} MB.`, remedy);
  }
  return { exitCode, stdout: text(stdout), stderr: words };
}

/** Returns a version such as `v1.7.8-docker`; undefined if it prints none. Old releases print it to stderr. */
export async function readVersion(cscli: CscliTarget, signal: AbortSignal): Promise<string | undefined> {
  const { stdout, stderr } = await cscli.read(['version'], signal);
  return /version:?\s+(v?\d[\w.-]*)/.exec(`${stdout}\n${stderr}`)?.[1];
}

/** Returns cscli's error message, cleaned. It goes to stderr in three forms (reference/crowdsec.md). */
export function refusalWords({ stderr, stdout }: CscliAnswer): string {
  const fatal = stderr.split('\n').flatMap((line) => fatalOf(line.trim()) ?? []);
  const said = fatal.at(-1) ?? stderr.trim().split('\n').at(-1) ?? stdout.trim().split('\n').at(-1) ?? '';
  return cleanLine(said).replace(/\.$/, '').slice(0, 400);
}

function fatalOf(line: string): string | undefined {
  if (line.startsWith('{')) {
    const { level, msg } = objectOf(parsedJson(line)) ?? {};
    return typeof msg === 'string' && (level === 'fatal' || level === 'error') ? msg : undefined;
  }
  const plain = /^Error: (?:cscli(?: [a-z-]+)*: )?(.*)$/.exec(line)?.[1];
  if (plain !== undefined) return plain;
  const logged = /level=(?:fatal|error) msg=(?:"((?:[^"\\]|\\.)*)"|(\S+))/.exec(line);
  return logged ? (logged[1]?.replace(/\\(["\\])/g, '$1') ?? logged[2]) : undefined;
}
