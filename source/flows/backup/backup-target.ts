import { posix } from 'node:path';
import { expandHome } from '../../config/paths.ts';
import { Fault } from '../../faults/fault.ts';
import type { AgeFor } from '../../secrets/age-file.ts';
import type { SecretStorage } from '../../secrets/secrets.ts';
import type { BackupTarget } from '../../stack/backup/model.ts';
import { type BackupStore, openBackupStore } from '../../stack/backup/store.ts';
import { cleanLine } from '../../text/clean.ts';
import type { EngineScope } from '../engine-scope.ts';
import type { FlowContext, FlowInput } from '../flow.ts';
import { optionOf, optionsOf } from '../flow-options.ts';
import { refuseTypedPath } from '../named-file.ts';
import { secretName } from '../secrets/secret-names.ts';

/** Secrets of an engine, and of no component: `<engine>/backup/RESTIC_PASSWORD`. */
export const backupSecrets = 'backup';
const resticPassword = 'RESTIC_PASSWORD';
export const backupPassphrase = 'BACKUP_PASSPHRASE';

export function backupLocation(input: FlowInput, context: FlowContext): string | undefined {
  return optionOf(input, 'to') ?? context.backupTargetOf?.(input.engineName);
}

export async function backupTarget(scope: EngineScope, input: FlowInput): Promise<BackupTarget> {
  const { session, context, engineName } = scope;
  if (context.practice) throw new Fault('refused.practice', 'A practice stack has no data to back up.', 'Use a real host.');
  const { home } = await scope.host.facts(session.signal);
  for (const typed of [optionOf(input, 'to'), optionOf(input, 'password-file')]) if (typed !== undefined) refuseTypedPath(session, typed);
  let written = backupLocation(input, context);
  if (written === undefined && session.attended && !session.dryRun && !session.readOnly) {
    written = await session.ask.text({
      id: 'to',
      label: `Backup destination for ${engineName}`,
      help: `A folder on that host, best on another disk, or restic:REPOSITORY. Set "backups: {${engineName}: /srv/backups}" in config.yaml to keep it.`,
      check: locationProblem,
    });
  }
  const problem = written === undefined ? 'No backup destination is configured.' : locationProblem(written);
  if (written === undefined || problem !== undefined) {
    const remedy = `Pass --to /srv/backups, or add "backups: {${engineName}: /srv/backups}" to config.yaml.`;
    throw new Fault('usage.backup', problem ?? '', remedy);
  }
  if (!written.startsWith('restic:')) return { kind: 'folder', folder: posix.normalize(expandHome(written, home)).replace(/(.)\/$/, '$1') };
  const staging = posix.join(await scope.stackFolder(), '.quarterdeck', 'backup-staging');
  const repository = expandHome(written.slice('restic:'.length), home);
  return { kind: 'restic', repository, staging, password: await passwordOf(scope, input) };
}

function locationProblem(written: string): string | undefined {
  if (/^restic:./.test(written) || /^(?:\/.|~\/)/.test(written)) return undefined;
  return `The backup destination must be an absolute path or restic:REPOSITORY, not "${cleanLine(written)}".`;
}

async function passwordOf(scope: EngineScope, input: FlowInput): Promise<{ value: string } | { file: string }> {
  const { session, context } = scope;
  const file = optionOf(input, 'password-file');
  if (file !== undefined) return { file };
  const vault = await context.vault(session);
  const kept = await readKept(scope, vault, resticPassword);
  if (kept !== undefined) return { value: kept };
  const value = await session.ask.secret({
    id: 'restic-password',
    label: 'Restic repository password',
    help: `Stored in ${vault.where}. Keep a copy elsewhere: without the password, no backup can be read.`,
    check: (answer) => (answer === '' ? 'restic requires a password.' : undefined),
  });
  await keep(scope, vault, resticPassword, value);
  return { value };
}

async function readKept({ session, engineName }: EngineScope, vault: SecretStorage, variable: string): Promise<string | undefined> {
  const kept = await vault.read(secretName(engineName, backupSecrets, variable), session.signal);
  if (kept !== undefined) session.hide(kept);
  return kept;
}

async function keep({ session, engineName }: EngineScope, vault: SecretStorage, variable: string, value: string): Promise<void> {
  const name = secretName(engineName, backupSecrets, variable);
  await session.act({
    id: `keep ${name}`,
    right: 'operate',
    request: `store ${name} in ${vault.where}`,
    target: { host: engineName },
    run: async (grant) => void (await vault.write(grant, name, value, 'given')),
  });
}

export async function openStore(scope: EngineScope, input: FlowInput): Promise<BackupStore> {
  return openBackupStore(await backupTarget(scope, input), scope.host, await scope.context.backupKeys());
}

/** Returns what seals the secrets of a backup. Undefined if there is nothing: the backup then states what it lacks. */
export async function sealingOf(scope: EngineScope, input: FlowInput, vault: SecretStorage): Promise<AgeFor | undefined> {
  const { session } = scope;
  const recipients = optionsOf(input, 'recipient');
  if (recipients) return { recipients };
  const kept = await readKept(scope, vault, backupPassphrase);
  if (kept !== undefined) return { passphrase: kept };
  if (!session.attended || session.dryRun) return undefined;
  const passphrase = await session.ask.secret({
    id: 'backup-passphrase',
    label: 'Passphrase that seals the secrets in backups',
    help: `Stored in ${vault.where} for later backups. Keep a copy elsewhere: a restore on a new machine requires the passphrase. If empty, the backup omits the secrets.`,
    check: (answer) => (answer === '' || answer.length >= 12 ? undefined : 'Use at least 12 characters, or leave the passphrase empty.'),
  });
  if (passphrase === '') return undefined;
  await keep(scope, vault, backupPassphrase, passphrase);
  return { passphrase };
}
