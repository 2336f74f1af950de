import { type Band, bands, keyOf, triageMs, type Vulnerability } from './vulnerability.ts';

/** What somebody decided about a vulnerability. It stands by itself, so that the next report does not touch it. */
export interface Decision {
  id: string;
  package: string;
  /** `*` for every subject. */
  subject: string;
  /** `accept`: it stays, until a day. `false-positive`: it is none. `fix`: it goes, by a day. */
  what: 'accept' | 'false-positive' | 'fix';
  reason: string;
  /** `2026-12-31`, the last day on which it holds. */
  until?: string;
  by: string;
  /** ISO 8601. */
  at: string;
}

/** One that was found, and since when it is known. */
export interface Known extends Vulnerability {
  firstMs: number;
}

/** How one stands now. `lapsed`: an acceptance whose day is over. */
export type Standing = 'overdue' | 'lapsed' | 'due' | 'open' | 'fixing' | 'accepted' | 'false positive';

export interface Triaged extends Known {
  standing: Standing;
  /** When it has to be dealt with; undefined where nothing says so (R79 has deadlines for two bands). */
  dueMs: number | undefined;
  decision: Decision | undefined;
}

const dayMs = 86_400_000;

/** The end of a day, UTC. */
export function endOfDay(day: string): number {
  return Date.parse(`${day}T00:00:00Z`) + dayMs - 1;
}

/** What is wrong with a day, or undefined. */
export function dayProblem(text: string, nowMs: number): string | undefined {
  const day = text.trim();
  if (
    !/^\d{4}-\d{2}-\d{2}$/.test(day) ||
    Number.isNaN(Date.parse(`${day}T00:00:00Z`)) ||
    new Date(`${day}T00:00:00Z`).toISOString().slice(0, 10) !== day
  )
    return 'Write a day like 2026-12-31.';
  return endOfDay(day) < nowMs ? 'That day is over.' : undefined;
}

/** Decisions by what they are about; the last word counts. */
export class Decisions {
  readonly #byKey = new Map<string, Decision>();

  constructor(all: readonly Decision[]) {
    for (const one of all) this.#byKey.set(keyOf(one), one);
  }

  /** One about this very subject goes before one about all. */
  of(one: Pick<Vulnerability, 'subject' | 'package' | 'id'>): Decision | undefined {
    return this.#byKey.get(keyOf(one)) ?? this.#byKey.get(keyOf({ ...one, subject: '*' }));
  }
}

/** Deadline and standing of one, now. */
export function triaged(one: Known, decision: Decision | undefined, nowMs: number): Triaged {
  const target = triageMs[one.band];
  const usual = target === undefined ? undefined : one.firstMs + target;
  const until = decision?.until === undefined ? undefined : endOfDay(decision.until);
  const as = (standing: Standing, dueMs: number | undefined): Triaged => ({ ...one, standing, dueMs, decision });
  if (decision?.what === 'false-positive') return as('false positive', undefined);
  if (decision?.what === 'accept') return until !== undefined && until < nowMs ? as('lapsed', until) : as('accepted', until);
  if (decision?.what === 'fix') {
    const due = until ?? usual;
    return due !== undefined && due < nowMs ? as('overdue', due) : as('fixing', due);
  }
  if (usual === undefined) return as('open', undefined);
  return as(usual < nowMs ? 'overdue' : 'due', usual);
}

/** Waits for somebody: nothing was decided, or what was decided is over. */
export function isUndecided({ standing, band }: Triaged): boolean {
  return band !== 'none' && (standing === 'overdue' || standing === 'lapsed' || standing === 'due' || standing === 'open');
}

export function isLate({ standing }: Triaged): boolean {
  return standing === 'overdue' || standing === 'lapsed';
}

const rank = new Map<Band, number>(bands.map((band, at) => [band, at]));

/** Late ones first, then the worse ones, then those that are due sooner. */
export function byUrgency(a: Triaged, b: Triaged): number {
  return (
    Number(isLate(b)) - Number(isLate(a)) ||
    (rank.get(a.band) ?? 0) - (rank.get(b.band) ?? 0) ||
    (b.score ?? 0) - (a.score ?? 0) ||
    (a.dueMs ?? Number.MAX_SAFE_INTEGER) - (b.dueMs ?? Number.MAX_SAFE_INTEGER) ||
    compare(a.subject, b.subject) ||
    compare(a.package, b.package) ||
    compare(a.id, b.id)
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** All of one package of one subject: what one update mends. */
export interface PackageGroup {
  subject: string;
  package: string;
  version: string;
  /** In the order of urgency. */
  all: readonly Triaged[];
}

/** Groups in the order of what is most urgent in each. */
export function groupByPackage(sorted: readonly Triaged[]): PackageGroup[] {
  const groups = new Map<string, { subject: string; package: string; version: string; all: Triaged[] }>();
  for (const one of sorted) {
    const key = `${one.subject}\n${one.package}`;
    const group = groups.get(key);
    if (group) group.all.push(one);
    else groups.set(key, { subject: one.subject, package: one.package, version: one.version, all: [one] });
  }
  return [...groups.values()];
}
