import { join } from 'node:path';
import type { Catalog } from '../catalog/catalog.ts';
import { Fault } from '../faults/fault.ts';
import { imageSubject } from '../products/vulnerabilities/report-builder.ts';
import { isLate, isUndecided, type Triaged } from '../products/vulnerabilities/triage.ts';
import { TriageBook } from '../products/vulnerabilities/triage-book.ts';
import { type Band, bands } from '../products/vulnerabilities/vulnerability.ts';
import { cleanLine } from '../text/clean.ts';
import { numberText } from '../text/quantities.ts';
import type { FlowInput, FlowWorld } from './flow.ts';

export function triageBookOf(world: FlowWorld): TriageBook {
  if (world.dataFolder === undefined) throw new Error('the data folder belongs to the deck');
  return new TriageBook(join(world.dataFolder, 'vulnerabilities'));
}

/** Which component of the catalog runs this image, by subject. */
export function componentsBySubject(catalog: Catalog): (subject: string) => string | undefined {
  const byImage = new Map<string, string>();
  for (const { id, services } of catalog.entries) {
    for (const { repositories } of services) {
      for (const name of repositories.map(imageSubject)) {
        // What several components run (a database) is none of them.
        byImage.set(name, byImage.has(name) && byImage.get(name) !== id ? '' : id);
      }
    }
  }
  return (subject) => byImage.get(imageSubject(subject)) || undefined;
}

/** What the operator asked to see. Throws `usage.band`. */
export function narrowed(
  all: readonly Triaged[],
  { words, options }: FlowInput,
  componentOf: (subject: string) => string | undefined,
): Triaged[] {
  const wanted = options['band'];
  const asked = typeof wanted === 'string' ? [wanted] : Array.isArray(wanted) ? (wanted as readonly string[]) : [];
  for (const band of asked) {
    if (bands.includes(band as Band)) continue;
    throw new Fault({
      code: 'usage.band',
      message: `"${cleanLine(band)}" is no band.`,
      remedy: `Use one of: ${bands.join(', ')}.`,
    });
  }
  const namesOf = (one: Triaged) =>
    [one.id, ...one.aliases, one.package, one.subject, componentOf(one.subject) ?? ''].map((name) => name.toLowerCase());
  // CVE-2026-1003 means that one, and not CVE-2026-10030 as well.
  const parts = words.map((word) => {
    const part = word.toLowerCase();
    return { part, isWhole: all.some((one) => namesOf(one).includes(part)) };
  });
  return all.filter((one) => {
    if (asked.length > 0 && !asked.includes(one.band)) return false;
    if (options['late'] === true && !isLate(one)) return false;
    if (options['open'] === true && !isUndecided(one)) return false;
    if (parts.length === 0) return true;
    const names = namesOf(one);
    return parts.every(({ part, isWhole }) => names.some((name) => (isWhole ? name === part : name.includes(part))));
  });
}

/** `1 vulnerability`, `6,616 vulnerabilities`. */
export function vulnerabilitiesText(count: number): string {
  return `${numberText(count)} ${count === 1 ? 'vulnerability' : 'vulnerabilities'}`;
}

/** `in 3d`, `2d ago`; empty where there is no deadline. */
export function dueText(dueMs: number | undefined, nowMs: number): string {
  if (dueMs === undefined) return '';
  const hours = Math.round(Math.abs(dueMs - nowMs) / 3_600_000);
  const length = hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} d`;
  return dueMs < nowMs ? `${length} late` : `in ${length}`;
}

export function nothingKnown(): Fault {
  return new Fault({
    code: 'failed.noReport',
    message: 'No report was imported yet.',
    remedy: 'Import one: quarterdeck vulnerabilities import FILE',
  });
}
