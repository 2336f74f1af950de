import type { CatalogEntry } from '../../catalog/catalog.ts';
import { defaultRetention } from '../../stack/backup/retention.ts';
import { type Flow, flow, lazyFlows } from '../flow.ts';

export const targetFlags = {
  to: { meaning: 'backup destination: a folder on the host, or restic:REPOSITORY', value: 'TARGET' },
  'password-file': { meaning: 'file on the host that contains the repository password, for unattended runs', value: 'FILE' },
} as const;

const oneComponent = (entry: CatalogEntry) => [[entry.id]];

const common = {
  ...targetFlags,
  recipient: { meaning: 'age public key (age1…) that seals the secrets, instead of a passphrase', value: 'KEY', repeats: true },
  'keep-all': { meaning: 'keep all older backups' },
} as const;

const flags = {
  ...common,
  include: {
    meaning: 'also save a mount that the catalog does not list; its container is stopped during the backup',
    value: 'SERVICE:PATH',
    repeats: true,
  },
  exclude: { meaning: 'omit a volume or mount; the backup records the omission', value: 'NAME', repeats: true },
} as const;

export const backupFlows: readonly Flow[] = lazyFlows({ about: 'host' }, [
  flow('operate', 'backup', {
    title: 'Back up a component',
    summary: `Saves a component's data, files, image digests and sealed secrets. Fails if it would omit a mounted volume or folder that neither you nor the catalog excludes. Keeps ${defaultRetention.daily} daily, ${defaultRetention.weekly} weekly and ${defaultRetention.monthly} monthly backups and deletes older ones.`,
    about: 'component',
    flags,
    offered: (component) => component.known,
    load: async () => (await import('./backup.ts')).backup,
  }),
  flow('operate', 'backup all', {
    title: 'Back up all components',
    summary: 'Backs up all components on the host that define a backup, one after the other. If one fails, the others are still backed up.',
    flags: common,
    load: async () => (await import('./backup.ts')).backupAll,
  }),
  flow('read', 'backup list', {
    title: 'List backups',
    summary: 'Lists the backups of a host or component with their age, size and content, and marks damaged and incomplete ones.',
    usage: '[COMPONENT]',
    wordsFor: oneComponent,
    flags: targetFlags,
    load: async () => (await import('./backup-list.ts')).backupList,
  }),
  flow('read', 'backup verify', {
    title: 'Verify backups',
    summary:
      'Reads one or all backups of a component, verifies their checksums, and reports mounted volumes and folders that the newest of them omits.',
    usage: 'COMPONENT [BACKUP]',
    wordsFor: oneComponent,
    flags: targetFlags,
    load: async () => (await import('./backup-list.ts')).backupVerify,
  }),
  flow('operate', 'backup schedule', {
    title: 'Schedule daily backups',
    summary:
      'Creates a systemd timer that backs up all components on the host once a day, even when no console is open, or prints a crontab line.',
    flags: {
      ...targetFlags,
      at: { meaning: 'time of day, in local time (default: 03:15)', value: 'TIME' },
      recipient: { meaning: 'age public key (age1…) that seals the secrets', value: 'KEY', repeats: true },
      cron: { meaning: 'print a crontab line instead of creating a timer' },
    },
    load: async () => (await import('./backup-schedule.ts')).backupSchedule,
  }),
  flow('operate', 'backup unschedule', {
    title: 'Stop daily backups',
    summary: 'Removes the systemd timer that "quarterdeck backup schedule" created. The backups are kept.',
    load: async () => (await import('./backup-schedule.ts')).backupUnschedule,
  }),
  flow('destroy', 'restore', {
    title: 'Restore a component from a backup',
    summary:
      'Replaces the data of a component with that of a backup, by default the newest. If the component was removed, restores its files and secrets, so that you can deploy it again and then restore its data.',
    about: 'catalog',
    usage: '[BACKUP]',
    flags: {
      ...targetFlags,
      unsigned: { meaning: 'restore a backup that cannot be authenticated (unsigned, or signed with an unknown key)' },
      snapshot: { meaning: 'restore this backup, including its images, files and secrets', value: 'BACKUP' },
    },
    load: async () => (await import('./restore.ts')).restore,
  }),
]);
