import { posix } from 'node:path';
import { expandHome } from '../config/paths.ts';
import { Fault } from '../faults/fault.ts';
import type { SecretVault } from '../secrets/vault.ts';
import type { Session } from '../session/session.ts';
import type { BackupTarget } from '../stack/backup-model.ts';
import { type BackupStore, openBackupStore } from '../stack/backup-store.ts';
import { cleanLine } from '../text/clean.ts';
import type { FlowInput, FlowWorld } from './flow.ts';
import { refuseTypedPath } from './named-file.ts';

/** Where secrets that belong to backups are kept: `<place>/backup/RESTIC_PASSWORD`. */
export const resticPassword = 'RESTIC_PASSWORD';
export const backupPassphrase = 'BACKUP_PASSPHRASE';

/** The place that `--to` or the settings name. Throws `usage.backup`, and `refused.practice` where there is nothing to save. */
export async function backupTarget(session: Session, input: FlowInput, world: FlowWorld): Promise<BackupTarget> {
  if (world.practice) {
    throw new Fault({
      code: 'refused.practice',
      message: 'What a practice stack holds is made up: there is no data in it to back up.',
      remedy: 'Backups can be tried on a host of your own.',
    });
  }
  const { home } = await world.hostOf(input.place).facts(session.signal);
  for (const typed of [input.options.to, input.options['password-file']]) if (typeof typed === 'string') refuseTypedPath(session, typed);
  let written = typeof input.options.to === 'string' ? input.options.to : world.backupTargetOf?.(input.place);
  if (written === undefined && session.attended && !session.rehearsing && !session.readOnly) {
    written = await session.ask.text({
      id: 'to',
      label: `Where do backups of ${input.place} go?`,
      help: `A folder of that host, best on another disk, or restic:REPOSITORY. "backups: {${input.place}: /srv/backups}" in config.yaml answers it for good.`,
      check: (answer) => (placeProblem(answer) ? placeProblem(answer) : undefined),
    });
  }
  const problem = written === undefined ? 'Nobody has said where backups go.' : placeProblem(written);
  if (written === undefined || problem !== undefined) {
    throw new Fault({
      code: 'usage.backup',
      message: problem ?? 'Nobody has said where backups go.',
      remedy: `Say --to /srv/backups, or write "backups: {${input.place}: /srv/backups}" into config.yaml.`,
    });
  }
  if (!written.startsWith('restic:')) return { kind: 'folder', folder: posix.normalize(expandHome(written, home)).replace(/(.)\/$/, '$1') };
  const staging = posix.join(await world.stackFolderOf(input.place, session.signal), '.quarterdeck', 'backup-staging');
  const repository = expandHome(written.slice('restic:'.length), home);
  return { kind: 'restic', repository, staging, password: await passwordOf(session, input, world) };
}

function placeProblem(written: string): string | undefined {
  if (/^restic:./.test(written) || /^(?:\/.|~\/)/.test(written)) return undefined;
  return `"${cleanLine(written)}" is neither an absolute path nor restic:REPOSITORY.`;
}

async function passwordOf(session: Session, input: FlowInput, world: FlowWorld): Promise<{ value: string } | { file: string }> {
  const file = input.options['password-file'];
  if (typeof file === 'string') return { file };
  const vault = await world.vault(session);
  const name = `${input.place}/backup/${resticPassword}` as const;
  const kept = await vault.read(name, session.signal);
  if (kept !== undefined) {
    session.hide(kept);
    return { value: kept };
  }
  const value = await session.ask.secret({
    id: 'restic-password',
    label: 'Password of the restic repository',
    help: `Kept in ${vault.where}. Write it down elsewhere too: without it no backup can be read.`,
    check: (answer) => (answer === '' ? 'restic needs one.' : undefined),
  });
  await keep(session, input.place, vault, name, value);
  return { value };
}

async function keep(
  session: Session,
  place: string,
  vault: SecretVault,
  name: `${string}/${string}/${string}`,
  value: string,
): Promise<void> {
  await session.act({
    id: `keep ${name}`,
    right: 'operate',
    request: `keep ${name} in ${vault.where}`,
    target: { host: place },
    run: async (grant) => void (await vault.write(grant, name, value, 'given')),
  });
}

export async function openStore(session: Session, input: FlowInput, world: FlowWorld): Promise<BackupStore> {
  return openBackupStore(await backupTarget(session, input, world), world.hostOf(input.place), await world.backupKeys());
}

/**
 * What seals the secrets of a backup: `--recipient`, or the passphrase that is kept for this, or one that is asked for now. Undefined where there is none: the backup
 * then says what it lacks.
 */
export async function sealingOf(
  session: Session,
  input: FlowInput,
  vault: SecretVault,
): Promise<{ passphrase: string } | { recipients: readonly string[] } | undefined> {
  const { recipient } = input.options;
  const recipients = typeof recipient === 'string' ? [recipient] : Array.isArray(recipient) ? (recipient as readonly string[]) : [];
  if (recipients.length > 0) return { recipients };
  const name = `${input.place}/backup/${backupPassphrase}` as const;
  const kept = await vault.read(name, session.signal);
  if (kept !== undefined) {
    session.hide(kept);
    return { passphrase: kept };
  }
  if (!session.attended || session.rehearsing) return undefined;
  const passphrase = await session.ask.secret({
    id: 'backup-passphrase',
    label: 'Passphrase that seals the secrets in backups',
    help: `Asked once, and kept in ${vault.where}. Write it down elsewhere too: a restore on a new machine asks for it. Left empty, the secrets stay out of the backup.`,
    check: (answer) => (answer === '' || answer.length >= 12 ? undefined : 'Use at least 12 characters, or leave it empty.'),
  });
  if (passphrase === '') return undefined;
  await keep(session, input.place, vault, name, passphrase);
  return { passphrase };
}
