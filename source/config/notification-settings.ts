import { z } from 'zod';
import { durationMs } from '../text/quantities.ts';
import type { Condition, NotificationRule, NotificationSettings } from './settings.ts';

const text = z.string().min(1);
/** The value is not repeated in the message. */
const withoutPassword = (written: string) => !/^\w+:\/\/[^/]*@/.test(written);
const passwordInUrl = 'the URL must not contain a user name or password; to store a password: quarterdeck notify login';
const url = z
  .string()
  .regex(/^https?:\/\/[^\s/]+(?:\/\S*)?$/, 'use a URL such as https://example.org')
  .refine(withoutPassword, passwordInUrl);
const mailUrl = z
  .string()
  .regex(/^smtps?:\/\/[^\s/]+$/, 'use smtps://NAME or smtp://NAME, with :PORT if needed')
  .refine(withoutPassword, passwordInUrl);
const duration = z.string().regex(/^\d{1,5}[smhd]$/, 'use a number followed by s, m, h or d, such as 5m');
const one = (item: z.ZodType<string>) => z.union([item, z.array(item).min(1)]).transform((written): readonly string[] => [written].flat());

/** Where messages are sent. Tokens and passwords are in the secret store, never here. */
const targetSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('ntfy'),
    url: url.regex(/^\w+:\/\/[^/]+\/[^/?#]+\/?$/, 'use the URL of a topic, such as https://ntfy.sh/my-stack'),
    login: z.boolean().optional(),
  }),
  z.strictObject({ type: z.literal('gotify'), url }),
  z.strictObject({ type: z.literal('webhook'), url, signed: z.boolean().optional() }),
  z.strictObject({
    type: z.literal('smtp'),
    url: mailUrl,
    from: z.email(),
    to: one(z.email()),
    user: text.optional(),
  }),
  z.strictObject({ type: z.literal('desktop') }),
  z.strictObject({ type: z.literal('terminal') }),
  z.strictObject({ type: z.literal('command'), run: z.array(text).min(1) }),
]);
export type NotificationTarget = z.output<typeof targetSchema>;

const ruleSchema = z.strictObject({
  state: one(text).optional(),
  doctor: z.enum(['error', 'warning', 'notice']).optional(),
  backupOlderThan: duration.optional(),
  diskBelow: z
    .string()
    .regex(/^\d+(?:\.\d+)?(?:%|GB|TB)$/, 'use a percentage or a size, such as 10% or 20GB')
    .optional(),
  certificateExpiresIn: duration.optional(),
  log: text.optional(),
  unreachable: z.literal(true).optional(),
  for: duration.optional(),
  components: one(text).optional(),
  hosts: one(text).optional(),
  addresses: one(z.string().regex(/^[a-z0-9.-]+(?::\d{1,5})?$/i, 'use NAME or NAME:PORT')).optional(),
  send: one(text).optional(),
  urgent: z.boolean().optional(),
});
type WrittenRule = z.infer<typeof ruleSchema>;

const name = z.string().regex(/^[\w-]{1,40}$/, 'use letters, digits, dashes and underscores');
export const notificationSchemas = {
  notifications: z.record(name, targetSchema).optional(),
  rules: z.record(name, ruleSchema).optional(),
  quietHours: z
    .string()
    .regex(/^(?:[01]\d|2[0-3]):[0-5]\d-(?:[01]\d|2[0-3]):[0-5]\d$/, 'use two times of day, such as 22:00-07:00')
    .optional(),
};

/** Each condition, and the key that declares it. */
const conditions: { [Key in keyof WrittenRule]?: (written: NonNullable<WrittenRule[Key]>) => Condition } = {
  state: (ids) => ({ kind: 'state', ids }),
  doctor: (level) => ({ kind: 'doctor', level }),
  backupOlderThan: (age) => ({ kind: 'backup', ageMs: durationMs(age) }),
  diskBelow: (least) => ({ kind: 'disk', least: leastSpace(least) }),
  certificateExpiresIn: (left) => ({ kind: 'certificate', leftMs: durationMs(left) }),
  log: (filter) => ({ kind: 'log', filter }),
  unreachable: () => ({ kind: 'unreachable' }),
};
const conditionKeys = Object.keys(conditions) as (keyof WrittenRule)[];

function leastSpace(written: string): { share: number } | { bytes: number } {
  const number = Number.parseFloat(written);
  return written.endsWith('%') ? { share: number / 100 } : { bytes: number * (written.endsWith('TB') ? 1e12 : 1e9) };
}

/** What a condition cannot be combined with. */
const unused: Readonly<Record<Condition['kind'], readonly (keyof WrittenRule)[]>> = {
  state: ['addresses'],
  doctor: ['addresses'],
  backup: ['addresses', 'for'],
  disk: ['addresses', 'components'],
  certificate: ['components', 'hosts', 'for'],
  log: ['addresses', 'for'],
  unreachable: ['addresses', 'components'],
};

type Written = z.infer<z.ZodObject<typeof notificationSchemas>>;

interface KnownNames {
  targets: readonly string[];
  hosts: readonly string[];
}

/** Reports what no single key shows: rules with no condition or several, and names that do not exist. */
export function checkRules(written: Written & { hosts?: object | undefined }, context: z.RefinementCtx): void {
  const known = {
    targets: Object.keys(written.notifications ?? {}),
    hosts: ['local', 'practice', ...Object.keys(written.hosts ?? {})],
  };
  for (const [name, rule] of Object.entries(written.rules ?? {}))
    for (const [key, message] of [...conditionProblems(rule), ...nameProblems(rule, known)])
      context.addIssue({ code: 'custom', path: ['rules', name, ...(key === undefined ? [] : [key])], message });
}

type RuleProblem = [key: keyof WrittenRule | undefined, message: string];

function conditionProblems(rule: WrittenRule): RuleProblem[] {
  const [key, other] = conditionKeys.filter((name) => rule[name] !== undefined);
  const condition = conditionOf(rule);
  if (key === undefined || !condition) return [[undefined, `a rule requires a condition: ${conditionKeys.join(', ')}`]];
  if (other !== undefined) return [[other, `a rule can have only one condition, and this one also has ${key}`]];
  const extra = unused[condition.kind].filter((name) => rule[name] !== undefined);
  return [
    ...extra.map((name): RuleProblem => [name, `not allowed in a rule with ${key}`]),
    ...(key === 'certificateExpiresIn' && rule.addresses === undefined
      ? [[key, 'the rule requires "addresses", such as [photos.example.org]'] satisfies RuleProblem]
      : []),
  ];
}

function nameProblems(rule: WrittenRule, { targets, hosts }: KnownNames): RuleProblem[] {
  if (targets.length === 0) return [[undefined, 'a rule requires at least one target in "notifications"']];
  const target = rule.send?.find((name) => !targets.includes(name));
  const host = rule.hosts?.find((name) => !hosts.includes(name.split('/', 1)[0] ?? ''));
  return [
    ...(target === undefined ? [] : [['send', `no target is named "${target}"`] satisfies RuleProblem]),
    ...(host === undefined ? [] : [['hosts', `no host is named "${host}"`] satisfies RuleProblem]),
  ];
}

function conditionOf(rule: WrittenRule): Condition | undefined {
  const key = conditionKeys.find((name) => rule[name] !== undefined);
  return key && (conditions[key] as (written: unknown) => Condition)(rule[key]);
}

export function notificationSettingsOf({ notifications = {}, rules = {}, quietHours }: Written): NotificationSettings {
  const minutes = quietHours?.split('-').map((time) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3)));
  return {
    targets: notifications,
    rules: Object.entries(rules).flatMap(([name, rule]): NotificationRule[] => {
      const condition = conditionOf(rule);
      const { addresses = [], send = Object.keys(notifications), urgent = false } = rule;
      if (!condition) return [];
      return [
        {
          ...{ name, condition, urgent, forMs: rule.for === undefined ? 0 : durationMs(rule.for), addresses },
          ...{ components: rule.components, hosts: rule.hosts, targets: send },
        },
      ];
    }),
    quietMinutes: minutes && { from: minutes[0] ?? 0, until: minutes[1] ?? 0 },
  };
}
