import { z } from 'zod';
import { hostNameShape, reservedHostNames } from './host-names.ts';
import { SchemaIssues } from './schema-issues.ts';
import { defaultSettings, type Settings } from './settings.ts';
import { YamlDocument } from './yaml-document.ts';

const key = z.string().min(1);

const settingsSchema = z.strictObject({
  theme: z.enum(['auto', 'dark', 'light', 'mono']).optional(),
  ascii: z.boolean().optional(),
  confirm: z.boolean().optional(),
  keys: z.record(z.string(), z.union([key, z.array(key).min(1)])).optional(),
  catalogFolder: z
    .string()
    .regex(/^(\/|~\/)/, 'begin with / or ~/')
    .optional(),
  probeInterval: z
    .string()
    .regex(/^\d+(s|m)$/, 'write a number and s or m, such as 15s')
    .optional(),
  stackFolder: z
    .string()
    .regex(/^(\/|~\/)/, 'begin with / or ~/')
    .optional(),
  backups: z.record(key, z.string().regex(/^(\/|~\/|restic:.)/, 'begin with /, ~/ or restic:')).optional(),
  hosts: z
    .record(
      z
        .string()
        .regex(hostNameShape, 'use letters, digits, dots, dashes and underscores, and begin with a letter or digit')
        .refine((name) => !reservedHostNames.includes(name), `choose another name: ${reservedHostNames.join(', ')} mean something else`),
      z.strictObject({
        ssh: z.string().min(1),
        stackFolder: z
          .string()
          .regex(/^(\/|~\/)/, 'begin with / or ~/')
          .optional(),
        sudo: z.boolean().optional(),
      }),
    )
    .optional(),
  productionHosts: z.array(key).optional(),
});

export interface SettingsProblem {
  code: 'config.unknownKey' | 'config.invalid' | 'config.syntax';
  line: number;
  column: number;
  field: string;
  message: string;
  remedy: string;
}

/** Checks the text of a configuration file. With problems, the settings are the defaults. */
export function checkSettings(text: string): { settings: Settings; problems: SettingsProblem[] } {
  const document = new YamlDocument(text);
  if (document.problems.length > 0) {
    return { settings: defaultSettings, problems: document.problems.map((problem) => ({ code: 'config.syntax', field: '', ...problem })) };
  }
  // A file of comments alone is an empty one.
  const value = document.value ?? {};
  const checked = settingsSchema.safeParse(value);
  if (!checked.success) {
    const problems = new SchemaIssues(settingsSchema).describe(checked.error.issues, value).map(
      ({ path, part, field, message, remedy }): SettingsProblem => ({
        code: part === 'key' ? 'config.unknownKey' : 'config.invalid',
        ...document.place(path, part),
        field,
        message,
        remedy,
      }),
    );
    return { settings: defaultSettings, problems };
  }
  const { keys, probeInterval, ...plain } = checked.data;
  return {
    settings: {
      ...defaultSettings,
      ...plain,
      keys: Object.fromEntries(Object.entries(keys ?? {}).map(([action, chosen]) => [action, [chosen].flat()])),
      probeIntervalMs: probeInterval === undefined ? defaultSettings.probeIntervalMs : milliseconds(probeInterval),
    },
    problems: [],
  };
}

function milliseconds(interval: string): number {
  return Math.max(1, Number.parseInt(interval, 10)) * (interval.endsWith('m') ? 60_000 : 1000);
}
