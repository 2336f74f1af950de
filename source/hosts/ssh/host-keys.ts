import { Fault } from '../../faults/fault.ts';
import { limited } from '../../faults/waits.ts';
import type { Grant } from '../../grants/grant.ts';
import { cleanLine } from '../../text/clean.ts';
import type { SshDestination } from './destination.ts';
import { askProgram, connectLimitSeconds } from './ssh-command.ts';
import { sshFailure } from './ssh-failures.ts';

/** A host that shows another key than the one that is known. */
export interface ChangedKey {
  /** Under which it stands in the file: `nas`, `[192.168.1.20]:2222`. */
  name: string;
  /** The file of known keys that ssh names. */
  file: string;
  /** What is known: `ED25519 SHA256:...`, a line each. Empty where the file cannot be read. */
  known: readonly string[];
  /** What it shows now: `ED25519 SHA256:...`. */
  shown: string;
}

const lookLimitMs = (connectLimitSeconds + 5) * 1000;
const keygenLimitMs = 10_000;

interface Surroundings {
  program: string;
  env: Readonly<Record<string, string | undefined>>;
}

/**
 * Looks which key the host shows, without logging in. Undefined where the key is the known one, or none is known: then connecting asks.
 * @throws Fault when the host is not reached at all
 */
export async function changedKey(
  name: string,
  { target, port }: SshDestination,
  { program, env }: Surroundings,
  signal: AbortSignal,
): Promise<ChangedKey | undefined> {
  // ssh itself looks, so that jump hosts, aliases and files of known keys count as they do when it connects. No way to log in is left.
  const options = [
    'StrictHostKeyChecking=yes',
    'BatchMode=yes',
    'PreferredAuthentications=none',
    'ControlPath=none',
    'ClearAllForwardings=yes',
    'PermitLocalCommand=no',
    // ssh takes no command beside one that its configuration names.
    'RemoteCommand=none',
    'RequestTTY=no',
    'LogLevel=INFO',
    `ConnectTimeout=${connectLimitSeconds}`,
  ].flatMap((option) => ['-o', option]);
  const { exitCode, stderr } = await limited(signal, lookLimitMs, (limit) =>
    askProgram(
      program,
      ['-T', ...options, ...(port === undefined ? [] : ['-p', String(port)]), '--', target, 'exit'],
      { ...env, LC_ALL: 'C' },
      limit,
    ),
  );
  const [, type, shown] = /The fingerprint for the (\S+) key sent by the remote host is\s+(\S+?)\.\s/.exec(stderr) ?? [];
  const [, file] = /Offending (?:\S+ )?key in (.+):\d+\s*$/m.exec(stderr) ?? [];
  const [, known] = /Host key for (\S+) has changed/.exec(stderr) ?? [];
  if (shown !== undefined && file !== undefined && known !== undefined) {
    return { name: known, file, known: await fingerprints(known, file, env, signal), shown: cleanLine(`${type} ${shown}`) };
  }
  // Without a way to log in, being turned away there is as far as one comes.
  if (/Permission denied|host key is known for|Host key verification failed/.test(stderr) || exitCode === 0) return undefined;
  throw sshFailure(name, stderr, { exitCode: 255 }).fault;
}

async function fingerprints(name: string, file: string, env: Surroundings['env'], signal: AbortSignal): Promise<string[]> {
  const { stdout } = await limited(signal, keygenLimitMs, (limit) =>
    askProgram('ssh-keygen', ['-l', '-F', name, '-f', file], { ...env, LC_ALL: 'C' }, limit),
  );
  return stdout
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => {
      // `NAME ED25519 SHA256:...`; of a hashed name the hash.
      const words = cleanLine(line).trim().split(/\s+/);
      const at = words.findIndex((word) => /^(?:SHA\d+|MD5):/.test(word));
      return at > 0 ? `${words[at - 1]} ${words[at]}` : words.join(' ');
    });
}

/**
 * Takes the known keys of a host out of the file, as `ssh-keygen -R` does: what was there before is beside it as FILE.old.
 * @throws Fault `refused.knownHosts` when the file cannot be changed
 */
export async function forgetKey(grant: Grant, { name, file }: ChangedKey, env: Surroundings['env']): Promise<void> {
  const { exitCode, stdout, stderr } = await limited(grant.signal, keygenLimitMs, (limit) =>
    askProgram('ssh-keygen', ['-R', name, '-f', file], { ...env, LC_ALL: 'C' }, limit),
  );
  if (exitCode === 0) return;
  const said = cleanLine(`${stdout}\n${stderr}`.trim().split('\n').at(-1) ?? '');
  throw new Fault({
    code: 'refused.knownHosts',
    message: `The old key could not be taken out of ${cleanLine(file)}: ${said || `exit code ${exitCode}`}.`,
    remedy: `Let somebody who may write that file run: ssh-keygen -R '${cleanLine(name)}' -f ${cleanLine(file)}`,
    where: { file },
  });
}
