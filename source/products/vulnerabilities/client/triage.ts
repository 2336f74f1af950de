import { z } from 'zod';
import { bands, keyOf, triageMs, vulnerabilitySchema } from './vulnerability.ts';

/** A decision about a vulnerability. It is stored separately, so that the next report does not change it. */
export const decisionSchema = z.looseObject({
  id: z.string(),
  package: z.string(),
  /** `*` for every subject. */
  subject: z.string(),
  /** `accept`: it stays until a date. `false-positive`: it is not a vulnerability. `fix`: it is fixed by a date. */
  what: z.enum(['accept', 'false-positive', 'fix']),
  reason: z.string(),
  /** `2026-12-31`, the last day of the decision. */
  until: z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}$/)
    .optional(),
  by: z.string(),
  at: z.string(),
});
export type Decision = z.infer<typeof decisionSchema>;
export type DecisionKey = Pick<Decision, 'id' | 'package' | 'subject'>;

export const knownSchema = vulnerabilitySchema.extend({ firstMs: z.number() });
export type Known = z.infer<typeof knownSchema>;

/** The state of a vulnerability. `lapsed`: an acceptance whose date has passed. */
export type TriageState = 'overdue' | 'lapsed' | 'due' | 'open' | 'fixing' | 'accepted' | 'false positive';

export interface Triaged extends Known {
  standing: TriageState;
  /** Deadline; undefined if there is none (R79 has deadlines for two bands). */
  dueMs: number | undefined;
  decision: Decision | undefined;
}

const dayMs = 86_400_000;

export const endOfDay = (day: string): number => Date.parse(`${day}T00:00:00Z`) + dayMs - 1;

export function dayProblem(text: string, nowMs: number): string | undefined {
  const day = text.trim();
  const time = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== day) return 'Use a date such as 2026-12-31.';
  return endOfDay(day) < nowMs ? 'The date must not be in the past.' : undefined;
}

/** Returns a lookup in these decisions: the last one counts, and one about this subject takes precedence over one about all subjects. */
export function decisionLookup(all: readonly Decision[]) {
  const byKey = new Map(all.map((one) => [keyOf(one), one]));
  return (one: DecisionKey): Decision | undefined => byKey.get(keyOf(one)) ?? byKey.get(keyOf({ ...one, subject: '*' }));
}

export function triaged(one: Known, decision: Decision | undefined, nowMs: number): Triaged {
  const target = triageMs[one.band];
  const usual = target === undefined ? undefined : one.firstMs + target;
  const until = decision?.until === undefined ? undefined : endOfDay(decision.until);
  const as = (standing: TriageState, dueMs: number | undefined): Triaged => ({ ...one, standing, dueMs, decision });
  if (decision?.what === 'false-positive') return as('false positive', undefined);
  if (decision?.what === 'accept') return until !== undefined && until < nowMs ? as('lapsed', until) : as('accepted', until);
  if (decision?.what === 'fix') {
    const due = until ?? usual;
    return due !== undefined && due < nowMs ? as('overdue', due) : as('fixing', due);
  }
  if (usual === undefined) return as('open', undefined);
  return as(usual < nowMs ? 'overdue' : 'due', usual);
}

/** Reports whether a decision is required: there is none, or its date has passed. */
export function isUndecided({ standing, band }: Triaged): boolean {
  return band !== 'none' && ['overdue', 'lapsed', 'due', 'open'].includes(standing);
}

export const isLate = ({ standing }: Triaged): boolean => standing === 'overdue' || standing === 'lapsed';

/** Sorts overdue vulnerabilities first, then by severity, then by deadline. */
export function byUrgency(a: Triaged, b: Triaged): number {
  return (
    Number(isLate(b)) - Number(isLate(a)) ||
    bands.indexOf(a.band) - bands.indexOf(b.band) ||
    (b.score ?? 0) - (a.score ?? 0) ||
    (a.dueMs ?? Number.MAX_SAFE_INTEGER) - (b.dueMs ?? Number.MAX_SAFE_INTEGER) ||
    compare(a.subject, b.subject) ||
    compare(a.package, b.package) ||
    compare(a.id, b.id)
  );
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** All vulnerabilities of a package of one subject, which one update fixes. Sorted by urgency. */
export type PackageGroup = ReturnType<typeof groupByPackage>[number];

export function groupByPackage(sorted: readonly Triaged[]) {
  const groups = Map.groupBy(sorted, ({ subject, package: name }) => `${subject}\n${name}`);
  return [...groups.values()].flatMap((all) =>
    all.slice(0, 1).map(({ subject, package: name, version }) => ({ subject, package: name, version, all })),
  );
}
