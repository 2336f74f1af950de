import { join } from 'node:path';
import type { Catalog } from '../../catalog/catalog.ts';
import { Fault } from '../../faults/fault.ts';
import type { FlowContext, FlowInput } from '../../flows/flow.ts';
import { optionsOf } from '../../flows/flow-options.ts';
import { cleanLine } from '../../text/clean.ts';
import { numberText } from '../../text/quantities.ts';
import { imageSubject } from './client/report-builder.ts';
import { isLate, isUndecided, type Triaged } from './client/triage.ts';
import { TriageBook } from './client/triage-book.ts';
import { type Band, bands } from './client/vulnerability.ts';

export function triageBookOf(context: FlowContext): TriageBook {
  return new TriageBook(join(context.dataFolder, 'vulnerabilities'));
}

export async function openTriage(context: FlowContext) {
  const book = triageBookOf(context);
  const nowMs = Date.now();
  const { all, scans } = await book.read(nowMs);
  if (Object.keys(scans).length === 0)
    throw new Fault('failed.noReport', 'No report has been imported yet.', 'Import a report: quarterdeck vulnerabilities import FILE');
  return { book, all, scans, nowMs, componentOf: componentsBySubject(context.catalog) };
}

export type ComponentOf = ReturnType<typeof componentsBySubject>;

function componentsBySubject(catalog: Catalog): (subject: string) => string | undefined {
  const byImage = new Map<string, string>();
  // An image of several components, such as a database, is assigned to none of them.
  for (const { id, services } of catalog.entries)
    for (const name of services.flatMap(({ repositories }) => repositories.map(imageSubject)))
      byImage.set(name, byImage.has(name) && byImage.get(name) !== id ? '' : id);
  return (subject) => byImage.get(imageSubject(subject)) || undefined;
}

export function narrowed(all: readonly Triaged[], input: FlowInput, componentOf: ComponentOf): Triaged[] {
  const { words, options } = input;
  const asked = optionsOf(input, 'band') ?? [];
  for (const band of asked) {
    if (bands.includes(band as Band)) continue;
    throw new Fault('usage.band', `Unknown severity "${cleanLine(band)}".`, `Use one of: ${bands.join(', ')}.`);
  }
  const namesOf = (one: Triaged) =>
    [one.id, ...one.aliases, one.package, one.subject, componentOf(one.subject) ?? ''].map((name) => name.toLowerCase());
  // CVE-2026-1003 must not match CVE-2026-10030.
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

export function vulnerabilitiesText(count: number): string {
  return `${numberText(count)} ${count === 1 ? 'vulnerability' : 'vulnerabilities'}`;
}

export function dueText(dueMs: number | undefined, nowMs: number): string {
  if (dueMs === undefined) return '';
  const hours = Math.round(Math.abs(dueMs - nowMs) / 3_600_000);
  const length = hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} d`;
  return dueMs < nowMs ? `${length} late` : `in ${length}`;
}
