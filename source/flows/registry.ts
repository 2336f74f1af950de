import {
  backupAbout,
  backupAllAbout,
  backupListAbout,
  backupScheduleAbout,
  backupUnscheduleAbout,
  backupVerifyAbout,
  restoreAbout,
} from './about-backups.ts';
import { hostsAddAbout, hostsCheckAbout, hostsListAbout, hostsRemoveAbout, hostsTrustAbout } from './about-hosts.ts';
import {
  secretsExportAbout,
  secretsImportAbout,
  secretsListAbout,
  secretsMigrateAbout,
  secretsRemoveAbout,
  secretsResealAbout,
  secretsRevealAbout,
  secretsRotateAbout,
  secretsSetAbout,
} from './about-secrets.ts';
import { composeAbout, deployAbout, dutyAbout, editAbout, recoverAbout, rollbackAbout, upAbout, updateAbout } from './about-stack.ts';
import { tunnelAbout } from './about-tunnel.ts';
import { initialiseAbout, sealAbout, unsealAbout } from './about-vault.ts';
import { copy } from './copy.ts';
import { diskUsage } from './disk-usage.ts';
import { exec } from './exec.ts';
import type { Flow, FlowAbout } from './flow.ts';
import { pause, unpause } from './pause.ts';
import { prune } from './prune.ts';
import { remove } from './remove.ts';
import { restart } from './restart.ts';
import { shell } from './shell.ts';
import { start } from './start.ts';
import { stop } from './stop.ts';

/** A flow whose procedure is loaded when it runs: what is on the way to the first frame is read by everybody, each time. */
function later(about: FlowAbout, load: () => Promise<Flow>): Flow {
  return { ...about, run: async (session, input, world) => (await load()).run(session, input, world) };
}

/** Every flow there is, in the order of the help. Verbs, palette, help and rights are made of this; nothing else names a flow. */
export const flows: readonly Flow[] = [
  later(deployAbout, async () => (await import('./deploy.ts')).deploy),
  later(editAbout, async () => (await import('./edit.ts')).edit),
  later(updateAbout, async () => (await import('./update.ts')).update),
  later(rollbackAbout, async () => (await import('./rollback.ts')).rollback),
  later(dutyAbout, async () => (await import('./duty.ts')).duty),
  later(recoverAbout, async () => (await import('./recover.ts')).recover),
  later(upAbout, async () => (await import('./up.ts')).up),
  start,
  stop,
  restart,
  pause,
  unpause,
  remove,
  shell,
  exec,
  copy,
  later(tunnelAbout, async () => (await import('./tunnel.ts')).tunnel),
  later(composeAbout, async () => (await import('./compose.ts')).compose),
  later(backupAbout, async () => (await import('./backup.ts')).backup),
  later(backupAllAbout, async () => (await import('./backup.ts')).backupAll),
  later(backupListAbout, async () => (await import('./backup-list.ts')).backupList),
  later(backupVerifyAbout, async () => (await import('./backup-list.ts')).backupVerify),
  later(backupScheduleAbout, async () => (await import('./backup-schedule.ts')).backupSchedule),
  later(backupUnscheduleAbout, async () => (await import('./backup-schedule.ts')).backupUnschedule),
  later(restoreAbout, async () => (await import('./restore.ts')).restore),
  later(initialiseAbout, async () => (await import('./initialise.ts')).initialise),
  later(unsealAbout, async () => (await import('./unseal.ts')).unseal),
  later(sealAbout, async () => (await import('./seal.ts')).seal),
  later(secretsListAbout, async () => (await import('./secrets-list.ts')).secretsList),
  later(secretsSetAbout, async () => (await import('./secrets-set.ts')).secretsSet),
  later(secretsRevealAbout, async () => (await import('./secrets-reveal.ts')).secretsReveal),
  later(secretsRotateAbout, async () => (await import('./secrets-rotate.ts')).secretsRotate),
  later(secretsRemoveAbout, async () => (await import('./secrets-remove.ts')).secretsRemove),
  later(secretsExportAbout, async () => (await import('./secrets-export.ts')).secretsExport),
  later(secretsImportAbout, async () => (await import('./secrets-import.ts')).secretsImport),
  later(secretsMigrateAbout, async () => (await import('./secrets-migrate.ts')).secretsMigrate),
  later(secretsResealAbout, async () => (await import('./secrets-migrate.ts')).secretsReseal),
  later(hostsListAbout, async () => (await import('./hosts-list.ts')).hostsList),
  later(hostsAddAbout, async () => (await import('./hosts-add.ts')).hostsAdd),
  later(hostsCheckAbout, async () => (await import('./hosts-check.ts')).hostsCheck),
  later(hostsRemoveAbout, async () => (await import('./hosts-remove.ts')).hostsRemove),
  later(hostsTrustAbout, async () => (await import('./hosts-trust.ts')).hostsTrust),
  diskUsage,
  prune,
];
