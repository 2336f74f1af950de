import type { CatalogEntry } from '../../catalog/catalog.ts';
import { defaultRetention } from '../../stack/backup/retention.ts';
import { type Flow, lazyFlows } from '../flow.ts';

export const targetFlags = {
  to: { meaning: 'where backups go: a folder of the host, or restic:REPOSITORY', value: 'PLACE' },
  'password-file': { meaning: "file on the host with the repository's password, for runs without anybody", value: 'FILE' },
} as const;

const oneComponent = (entry: CatalogEntry) => [[entry.id]];

const common = {
  ...targetFlags,
  recipient: { meaning: 'public key of age (age1…) that seals the secrets, instead of a passphrase', value: 'KEY', repeats: true },
  'keep-all': { meaning: 'let no older backup go' },
} as const;

const flags = {
  ...common,
  include: {
    meaning: 'save a mount that the catalog does not know, its container stopped meanwhile',
    value: 'SERVICE:PATH',
    repeats: true,
  },
  exclude: { meaning: 'leave out a volume or mount; the backup records it', value: 'NAME', repeats: true },
} as const;

export const backupFlows: readonly Flow[] = lazyFlows({ right: 'operate', about: 'host' }, [
  {
    verb: 'backup',
    title: 'Back up the component',
    summary: `Saves a component's data, files, image digests and sealed secrets. Fails where a volume or folder that is mounted now would be omitted. Older backups go: ${defaultRetention.daily} daily, ${defaultRetention.weekly} weekly and ${defaultRetention.monthly} monthly stay.`,
    about: 'component',
    flags,
    offered: (component) => component.known,
    load: async () => (await import('./backup.ts')).backup,
  },
  {
    verb: 'backup all',
    title: 'Back up all components',
    summary: 'Saves every component of the host that says how, one after the other. One that fails does not keep the others from it.',
    flags: common,
    load: async () => (await import('./backup.ts')).backupAll,
  },
  {
    verb: 'backup list',
    title: 'List the backups',
    summary: 'Lists the backups of a host, or of one component: age, size, what is in them, and what a restore would lack.',
    right: 'read',
    usage: '[COMPONENT]',
    wordsFor: oneComponent,
    flags: targetFlags,
    load: async () => (await import('./backup-list.ts')).backupList,
  },
  {
    verb: 'backup verify',
    title: 'Verify the backups',
    summary:
      'Reads the backups of a component again, all or one, compares them with their checksums, and the newest one with what is mounted now.',
    right: 'read',
    usage: 'COMPONENT [BACKUP]',
    wordsFor: oneComponent,
    flags: targetFlags,
    load: async () => (await import('./backup-list.ts')).backupVerify,
  },
  {
    verb: 'backup schedule',
    title: 'Back up every day',
    summary:
      'Writes a systemd timer that backs up all components of the host once a day, also while no console is open, or says the line for cron.',
    flags: {
      ...targetFlags,
      at: { meaning: 'when, in local time (03:15)', value: 'TIME' },
      recipient: { meaning: 'public key of age (age1…) that seals the secrets', value: 'KEY', repeats: true },
      cron: { meaning: 'only say the line for cron, write nothing' },
    },
    load: async () => (await import('./backup-schedule.ts')).backupSchedule,
  },
  {
    verb: 'backup unschedule',
    title: 'Stop backing up every day',
    summary: 'Takes away the systemd timer that "backup schedule" wrote, and nothing else.',
    load: async () => (await import('./backup-schedule.ts')).backupUnschedule,
  },
  {
    verb: 'restore',
    title: 'Restore the component from a backup',
    summary:
      'Replaces the data of a component by that of a backup, the newest one or the one that is named. Where the component is gone, its files and secrets come back first.',
    right: 'destroy',
    about: 'catalog',
    usage: '[BACKUP]',
    flags: {
      ...targetFlags,
      unsigned: { meaning: 'also restore a backup that cannot be authenticated: not signed, or signed with an unknown key' },
      snapshot: { meaning: 'this backup, and with its data the images, files and secrets of then', value: 'BACKUP' },
    },
    load: async () => (await import('./restore.ts')).restore,
  },
]);
