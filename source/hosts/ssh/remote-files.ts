import { posix } from 'node:path';
import { Fault } from '../../faults/fault.ts';
import type { Grant } from '../../grants/grant.ts';
import { cleanLine } from '../../text/clean.ts';
import type { ExecOptions, ExecOutcome, FileFacts, Host, HostFiles } from '../host.ts';
import { fileProblems } from '../local-files.ts';
import type { SessionAnswer } from './shell-session.ts';
import { shellWord } from './shell-words.ts';
import type { SshConnection } from './ssh-connection.ts';

const wholeFileLimitBytes = 16 * 1024 * 1024;
const askLimitMs = 15_000;
const copyLimitMs = 10 * 60_000;
/** Not more is read in the shell that also runs our own commands: for one round trip instead of three. */
const shortFileBytes = 64 * 1024;

export interface RemoteShell extends Pick<Host, 'exec' | 'run'> {
  host: string;
  ask: SshConnection['control'];
}

/** Files of a remote host, through POSIX programs, `stat`, `mktemp` and `readlink` (in busybox too). Failures as in `localFiles`. */
export function remoteFiles(shell: RemoteShell): HostFiles {
  const { host } = shell;
  const fileFault = (path: string, reason: string, remedy: string) =>
    new Fault('failed.file', `${path} on ${host} cannot be read: ${reason}.`, remedy, { where: { file: posix.normalize(path) } });
  const missingOr = (path: string, { stderr }: Pick<SessionAnswer, 'stderr'>): undefined => {
    const said = textOf(stderr);
    const denied = /Permission denied/i.test(said);
    if (/No such file or directory|No such process|Not a directory|can't cd to|cannot open/i.test(said) && !denied) return undefined;
    const forbidden = denied || /not permitted/i.test(said);
    throw fileFault(path, reasonIn({ stderr }), forbidden ? 'Log in as a user who can read this path.' : 'Check the path.');
  };
  const contentIn = (path: string, outcome: Pick<ExecOutcome, 'exitCode' | 'stdout' | 'stderr'>, most: number): Uint8Array | undefined => {
    if (outcome.exitCode === 0) {
      if (outcome.stdout.length <= most) return outcome.stdout;
      throw fileFault(path, 'it is larger than 16 MiB', 'Check that this is the right file.');
    }
    if (outcome.exitCode === exits.folder) throw fileFault(path, 'it is a folder', 'Pass a file.');
    if (outcome.exitCode === exits.notPlain) throw fileFault(path, 'it is not a regular file', 'Use the path of a regular file.');
    return missingOr(path, outcome);
  };
  const change = (grant: Grant, script: string, words: readonly string[], options?: Pick<ExecOptions, 'stdin'> & { limitMs: number }) =>
    shell.run(grant, ['sh', '-c', script, 'sh', ...words], { limitMs: askLimitMs, ...options, signal: grant.signal });
  return {
    async read(path, { signal, limitBytes }) {
      if (limitBytes !== undefined && limitBytes <= shortFileBytes) {
        const script = `( set -- ${shellWord(path)} ${limitBytes}\n${readScript}\n)`;
        const answer = await shell.ask(script, { signal, limitMs: askLimitMs });
        return contentIn(path, { ...answer, exitCode: Number(answer.ending) }, limitBytes);
      }
      const most = limitBytes ?? wholeFileLimitBytes;
      // One extra byte shows whether the file is longer.
      const outcome = await shell.exec(['sh', '-c', readScript, 'sh', path, String(limitBytes === undefined ? most + 1 : most)], {
        signal,
        limitMs: copyLimitMs,
        limitBytes: most + 1,
      });
      return contentIn(path, outcome, most);
    },
    async facts(path, signal) {
      const answer = await shell.ask(`LC_ALL=C qd_stat ${shellWord(path)}`, { signal, limitMs: askLimitMs });
      if (answer.ending === '0') return factsIn(textOf(answer.stdout));
      return missingOr(path, answer);
    },
    async list(path, signal) {
      const answer = await shell.ask(listScript(shellWord(path)), { signal, limitMs: askLimitMs, limitBytes: wholeFileLimitBytes });
      if (answer.ending === '0') return textOf(answer.stdout).split('\0').slice(0, -1).sort();
      if (answer.ending === String(exits.notFolder)) throw fileFault(path, 'it is not a folder', 'Pass a folder.');
      return missingOr(path, answer);
    },
    async write(grant, path, content, { mode }) {
      const words = [path, mode.toString(8), String(content.length)];
      const outcome = await change(grant, writeScript, words, { limitMs: copyLimitMs, stdin: content });
      if (outcome.exitCode === 0) return;
      const missing = outcome.exitCode === exits.noFolder;
      const message = `${path} on ${host} cannot be written: ${missing ? 'its folder does not exist' : reasonIn(outcome, 'the connection was lost before it was complete')}.`;
      const remedy = missing ? 'Create the folder first.' : remedyFor(outcome, posix.dirname(path));
      throw new Fault('failed.file', message, remedy, { where: { file: path } });
    },
    async makeFolder(grant, path, { mode }) {
      const script = 'if [ -d "$1" ]; then exit 0; fi; umask "$3" && LC_ALL=C mkdir -p -- "$1" && chmod "$2" -- "$1"';
      const mask = (0o777 & ~mode).toString(8);
      const outcome = await change(grant, script, [path, mode.toString(8), mask]);
      if (outcome.exitCode === 0) return;
      const taken = /File exists/i.test(textOf(outcome.stderr));
      const message = `The folder ${path} cannot be created on ${host}: ${taken ? 'a file with that name exists' : reasonIn(outcome)}.`;
      const remedy = taken ? 'Move or delete the file, or use another folder.' : remedyFor(outcome, posix.dirname(path));
      throw new Fault('failed.file', message, remedy, { where: { file: path } });
    },
    async remove(grant, path) {
      // Removes a link, not its target.
      const script = 'if [ -d "$1" ] && ! [ -L "$1" ]; then LC_ALL=C rmdir -- "$1"; else LC_ALL=C rm -f -- "$1"; fi';
      const outcome = await change(grant, script, [path]);
      if (outcome.exitCode === 0 || /Not a directory|No such file/i.test(textOf(outcome.stderr))) return;
      const full = /not empty/i.test(textOf(outcome.stderr));
      const message = `${path} on ${host} cannot be removed: ${full ? 'the folder is not empty' : reasonIn(outcome)}.`;
      const remedy = full ? 'Remove the content of the folder first.' : 'Check the owner of the parent folder.';
      throw new Fault('failed.file', message, remedy, { where: { file: path } });
    },
  };
}

const exits = { folder: 81, notPlain: 82, notFolder: 83, noFolder: 84 };

const readScript = `LC_ALL=C; export LC_ALL
if [ -d "$1" ]; then exit ${exits.folder}; fi
if ! [ -e "$1" ]; then ls -dL -- "$1" >/dev/null; exit 1; fi
if ! [ -f "$1" ]; then exit ${exits.notPlain}; fi
exec head -c "$2" -- "$1"`;

/** Names end with a NUL: they may contain any other character. In a subshell: the long-lived shell must not change its folder. */
const listScript = (path: string) => `(
LC_ALL=C; export LC_ALL
if [ -e ${path} ] && ! [ -d ${path} ]; then exit ${exits.notFolder}; fi
cd -- ${path} && ls -d . >/dev/null || exit 1
for qd_f in * .[!.]* ..?*; do if [ -e "$qd_f" ] || [ -L "$qd_f" ]; then printf '%s\\000' "$qd_f"; fi; done
)`;

/** Renamed over the target once it is complete. A link is followed, and an existing file keeps its owner. */
const writeScript = `LC_ALL=C; export LC_ALL; umask 077
p=$1
n=0
while [ -L "$p" ]; do
  n=$((n + 1)); if [ "$n" -gt 40 ]; then echo 'Too many levels of symbolic links' >&2; exit 1; fi
  to=$(readlink -- "$p") || exit 1
  case $to in /*) p=$to ;; *) p=$(dirname -- "$p")/$to ;; esac
done
d=$(dirname -- "$p")
if ! [ -d "$d" ]; then exit ${exits.noFolder}; fi
if [ -d "$p" ]; then echo 'Is a directory' >&2; exit 1; fi
t=$(mktemp "$d/.quarterdeck-XXXXXX") || exit 1
trap 'rm -f -- "$t"' EXIT
trap 'exit 1' HUP INT TERM
cat >"$t" || exit 1
if [ "$(wc -c <"$t")" -ne "$3" ]; then exit 1; fi
if [ -e "$p" ]; then o=$(stat -c %u:%g -- "$p" 2>/dev/null) && chown "$o" "$t" 2>/dev/null; fi
chmod "$2" "$t" || exit 1
sync "$t" 2>/dev/null || sync
mv -f -- "$t" "$p"`;

/** GNU and busybox print mode (hex), size, seconds, device, inode. */
function factsIn(line: string): FileFacts {
  const [mode = '', size, modified, device, inode] = line.trim().split(' ');
  const type = Number.parseInt(mode, 16) & 0o170000;
  const kind = type === 0o100000 ? 'file' : type === 0o040000 ? 'folder' : type === 0o140000 ? 'socket' : 'other';
  return { kind, sizeBytes: Number(size), modifiedMs: Number(modified) * 1000, device: Number(device), inode: Number(inode) };
}

/** Returns the reason in the words of `reasonOf`, where the remote side's are known. */
function reasonIn({ stderr }: { stderr: Uint8Array }, otherwise = 'the remote system reported no reason'): string {
  const said = textOf(stderr);
  if (/quota exceeded/i.test(said)) return 'the disk quota is exceeded';
  const known = fileProblems.find(([, message]) => said.toLowerCase().includes(message.toLowerCase()));
  return known?.[2] ?? (cleanLine(said.trim().split('\n').at(-1) ?? '') || otherwise);
}

function remedyFor({ stderr }: { stderr: Uint8Array }, folder: string): string {
  const said = textOf(stderr);
  if (/No space left|quota exceeded/i.test(said)) return `Free up space on the host (df -h ${folder}), or use another folder.`;
  if (/Read-only/i.test(said)) return `Mount the filesystem of ${folder} as writable, or use another folder.`;
  return `Check the owner of ${folder} and the free space on its filesystem.`;
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');
