import { backup, backupAll } from './backup.ts';
import { backupList, backupVerify } from './backup-list.ts';
import { backupSchedule, backupUnschedule } from './backup-schedule.ts';
import { compose } from './compose.ts';
import { copy } from './copy.ts';
import { deploy } from './deploy.ts';
import { diskUsage } from './disk-usage.ts';
import { duty } from './duty.ts';
import { edit } from './edit.ts';
import { exec } from './exec.ts';
import type { Flow } from './flow.ts';
import { pause, unpause } from './pause.ts';
import { prune } from './prune.ts';
import { recover } from './recover.ts';
import { remove } from './remove.ts';
import { restart } from './restart.ts';
import { restore } from './restore.ts';
import { rollback } from './rollback.ts';
import { secretsExport } from './secrets-export.ts';
import { secretsImport } from './secrets-import.ts';
import { secretsList } from './secrets-list.ts';
import { secretsMigrate, secretsReseal } from './secrets-migrate.ts';
import { secretsRemove } from './secrets-remove.ts';
import { secretsReveal } from './secrets-reveal.ts';
import { secretsRotate } from './secrets-rotate.ts';
import { secretsSet } from './secrets-set.ts';
import { shell } from './shell.ts';
import { start } from './start.ts';
import { stop } from './stop.ts';
import { up } from './up.ts';
import { update } from './update.ts';

/** Every flow there is, in the order of the help. Verbs, palette, help and rights are made of this; nothing else names a flow. */
export const flows: readonly Flow[] = [
  deploy,
  edit,
  update,
  rollback,
  duty,
  recover,
  up,
  start,
  stop,
  restart,
  pause,
  unpause,
  remove,
  shell,
  exec,
  copy,
  compose,
  backup,
  backupAll,
  backupList,
  backupVerify,
  backupSchedule,
  backupUnschedule,
  restore,
  secretsList,
  secretsSet,
  secretsReveal,
  secretsRotate,
  secretsRemove,
  secretsExport,
  secretsImport,
  secretsMigrate,
  secretsReseal,
  diskUsage,
  prune,
];
