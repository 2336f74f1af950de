import { Fault } from '../../faults/fault.ts';
import type { Grant } from '../../grants/grant.ts';
import { cleanLine } from '../../text/clean.ts';
import { type SshDestination, sshText } from './destination.ts';
import { collectOutput, connectLimitSeconds, targetArguments } from './ssh-command.ts';
import { sshFailure } from './ssh-failures.ts';

export interface ChangedKey {
  /** Its name in the file: `nas`, `[192.168.1.20]:2222`. */
  name: string;
  file: string;
  /** The known keys: `ED25519 SHA256:...`, one per line. Empty where the file cannot be read. */
  known: readonly string[];
  shown: string;
}

const checkLimitMs = (connectLimitSeconds + 5) * 1000;
const keygenLimitMs = 10_000;

interface Surroundings {
  program: string;
  env: Readonly<Record<string, string | undefined>>;
}

/**
 * Checks the key that the host presents, without logging in. Undefined if it is the known one, or none is known.
 * @throws Fault when the host cannot be reached
 */
export async function changedKey(
  name: string,
  destination: SshDestination,
  { program, env }: Surroundings,
  signal: AbortSignal,
): Promise<ChangedKey | undefined> {
  // ssh itself checks, so that jump hosts, aliases and known-hosts files apply as they do when it connects.
  const options = [
    'StrictHostKeyChecking=yes',
    'BatchMode=yes',
    'PreferredAuthentications=none',
    'ControlPath=none',
    'ClearAllForwardings=yes',
    'PermitLocalCommand=no',
    // ssh accepts no command if its configuration sets one (RemoteCommand).
    'RemoteCommand=none',
    'RequestTTY=no',
    'LogLevel=INFO',
    `ConnectTimeout=${connectLimitSeconds}`,
  ].flatMap((option) => ['-o', option]);
  const ssh = sshText(destination);
  const args = ['-T', ...options, ...targetArguments(destination), 'exit'];
  const { exitCode, stderr } = await collectOutput([program, ...args], { ...env, LC_ALL: 'C' }, signal, {
    limitMs: checkLimitMs,
    late: (seconds) =>
      new Fault('unreachable.silent', `${name} sent no host key within ${seconds} s.`, `Check what ssh is waiting for: ${ssh}`),
  });
  const [, type, shown] = /The fingerprint for the (\S+) key sent by the remote host is\s+(\S+?)\.\s/.exec(stderr) ?? [];
  const [, file] = /Offending (?:\S+ )?key in (.+):\d+\s*$/m.exec(stderr) ?? [];
  const [, known] = /Host key for (\S+) has changed/.exec(stderr) ?? [];
  if (shown !== undefined && file !== undefined && known !== undefined)
    return { name: known, file, known: await fingerprints(known, file, env, signal), shown: cleanLine(`${type} ${shown}`) };
  // With all login methods disabled, a refused login is the expected end.
  if (/Permission denied|host key is known for|Host key verification failed/.test(stderr) || exitCode === 0) return undefined;
  throw sshFailure(name, stderr, { exitCode: 255, ssh }).fault;
}

const askKeygen = (args: readonly string[], file: string, env: Surroundings['env'], signal: AbortSignal) =>
  collectOutput(['ssh-keygen', ...args, '-f', file], { ...env, LC_ALL: 'C' }, signal, {
    limitMs: keygenLimitMs,
    late: (seconds) =>
      new Fault(
        'refused.knownHosts',
        `Cannot read ${cleanLine(file)}: ssh-keygen did not finish within ${seconds} s and was stopped.`,
        'Check the disk or network share that the file is on, then try again.',
        { where: { file } },
      ),
  });

async function fingerprints(name: string, file: string, env: Surroundings['env'], signal: AbortSignal): Promise<string[]> {
  const { stdout } = await askKeygen(['-l', '-F', name], file, env, signal);
  return stdout
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => {
      // `NAME ED25519 SHA256:...`; the hash for a hashed name.
      const words = cleanLine(line).trim().split(/\s+/);
      const at = words.findIndex((word) => /^(?:SHA\d+|MD5):/.test(word));
      return at > 0 ? `${words[at - 1]} ${words[at]}` : words.join(' ');
    });
}

/**
 * Removes the known keys of a host from the file, as `ssh-keygen -R` does: the previous file is kept beside it as FILE.old.
 * @throws Fault `refused.knownHosts` when the file cannot be changed
 */
export async function forgetKey(grant: Grant, { name, file }: ChangedKey, env: Surroundings['env']): Promise<void> {
  const { exitCode, stdout, stderr } = await askKeygen(['-R', name], file, env, grant.signal);
  if (exitCode === 0) return;
  const said = cleanLine(`${stdout}\n${stderr}`.trim().split('\n').at(-1) ?? '');
  const message = `The old key could not be removed from ${cleanLine(file)}: ${said || `exit code ${exitCode}`}.`;
  const remedy = `Run this command as a user who can write to the file: ssh-keygen -R '${cleanLine(name)}' -f ${cleanLine(file)}`;
  throw new Fault('refused.knownHosts', message, remedy, { where: { file } });
}
