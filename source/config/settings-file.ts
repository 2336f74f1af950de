import { z } from 'zod';
import { durationMs } from '../text/quantities.ts';
import { YamlDocument } from '../yaml/document.ts';
import { SchemaIssues } from '../yaml/schema-issues.ts';
import { hostNameShape, reservedHostNames } from './host-names.ts';
import { checkRules, notificationSchemas, notificationSettingsOf } from './notification-settings.ts';
import { defaultSettings, type Settings, type SettingsProblem } from './settings.ts';

const leastProbeIntervalMs = 1000;

const key = z.string().min(1);
const folder = z.string().regex(/^(\/|~\/)/, 'use a path that begins with / or ~/');

const settingsSchema = z.strictObject({
  theme: z.enum(['auto', 'dark', 'light', 'mono']).optional(),
  ascii: z.boolean().optional(),
  confirm: z.boolean().optional(),
  keys: z.record(z.string(), z.union([key, z.array(key).min(1)])).optional(),
  catalogFolder: folder.optional(),
  probeInterval: z
    .string()
    .regex(/^\d+(s|m)$/, 'use a number followed by s or m, such as 15s')
    .optional(),
  stackFolder: folder.optional(),
  backups: z.record(key, z.string().regex(/^(\/|~\/|restic:.)/, 'use a path that begins with / or ~/, or restic:REPOSITORY')).optional(),
  hosts: z
    .record(
      z
        .string()
        .regex(hostNameShape, 'use letters, digits, dots, dashes and underscores, and begin with a letter or digit')
        .refine((name) => !reservedHostNames.includes(name), `reserved names are ${reservedHostNames.join(', ')}`),
      z.strictObject({
        ssh: z.string().min(1),
        stackFolder: folder.optional(),
        sudo: z.boolean().optional(),
      }),
    )
    .optional(),
  productionHosts: z.array(key).optional(),
  ...notificationSchemas,
});
const checkedSchema = settingsSchema.superRefine(checkRules);

/** Checks the text of a configuration file. If it has problems, the settings are the defaults. */
export function checkSettings(text: string): { settings: Settings; problems: SettingsProblem[] } {
  const document = new YamlDocument(text);
  if (document.problems.length > 0)
    return { settings: defaultSettings, problems: document.problems.map((problem) => ({ code: 'config.syntax', field: '', ...problem })) };
  // A file with only comments counts as empty.
  const value = document.value ?? {};
  const checked = checkedSchema.safeParse(value);
  if (!checked.success) {
    const problems = new SchemaIssues(settingsSchema).describe(checked.error.issues, value).map(
      ({ path, part, field, message, remedy }): SettingsProblem => ({
        code: part === 'key' ? 'config.unknownKey' : 'config.invalid',
        ...document.position(path, part),
        field,
        message,
        remedy,
      }),
    );
    return { settings: defaultSettings, problems };
  }
  const { keys, probeInterval, notifications, rules, quietHours, ...plain } = checked.data;
  return {
    settings: {
      ...defaultSettings,
      ...plain,
      notifications: notificationSettingsOf({ notifications, rules, quietHours }),
      keys: Object.fromEntries(Object.entries(keys ?? {}).map(([action, chosen]) => [action, [chosen].flat()])),
      probeIntervalMs:
        probeInterval === undefined ? defaultSettings.probeIntervalMs : Math.max(leastProbeIntervalMs, durationMs(probeInterval)),
    },
    problems: [],
  };
}
