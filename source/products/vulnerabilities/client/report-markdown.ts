import { type Decision, groupByPackage, isLate, isUndecided, type Triaged } from './triage.ts';
import type { ScanRecord } from './triage-book.ts';
import { bands } from './vulnerability.ts';

type Context = { nowMs: number; componentOf: (subject: string) => string | undefined };

export function reportMarkdown(all: readonly Triaged[], scans: Readonly<Record<string, ScanRecord>>, context: Context): string {
  const { nowMs } = context;
  const late = all.filter(isLate);
  const open = all.filter((one) => isUndecided(one) && !isLate(one));
  const decided = all.flatMap((one) => (one.decision ? [{ ...one, decision: one.decision }] : []));
  return [
    '# Vulnerabilities',
    '',
    `As of ${minute(nowMs)}. Critical ones are due within 24 hours after they were found, high ones within 7 days.`,
    '',
    table(['Band', 'Found', 'Late', 'Undecided', 'Fixing', 'Accepted', 'False positive'], bandRows(all)),
    section('Late', late, context),
    section('Undecided', open, context),
    ...(decided.length > 0 ? ['## Decisions', '', decisionTable(decided, context)] : []),
    '## Scans',
    '',
    table(
      ['Subject', 'Component', 'Report', 'Imported'],
      Object.entries(scans)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([subject, { file, format, importedAt }]) => [
          code(subject),
          context.componentOf(subject) ?? '',
          `${code(file)} (${format})`,
          minute(Date.parse(importedAt)),
        ]),
    ),
  ].join('\n');
}

function bandRows(all: readonly Triaged[]): string[][] {
  return bands.flatMap((band) => {
    const those = all.filter((one) => one.band === band);
    const states = (['fixing', 'accepted', 'false positive'] as const).map((state) => those.filter(({ standing }) => standing === state));
    const counted = [those, those.filter(isLate), those.filter(isUndecided), ...states];
    return those.length === 0 ? [] : [[band, ...counted.map(({ length }) => String(length))]];
  });
}

function section(title: string, those: readonly Triaged[], { componentOf }: Context): string {
  if (those.length === 0) return `## ${title}\n\nNone.\n`;
  const groups = groupByPackage(those).map(({ subject, package: name, version, all }) => {
    const where = componentOf(subject);
    const rows = all.map((one) => [
      one.band,
      one.score?.toFixed(1) ?? '',
      link(one),
      one.fixedIn === '' ? 'not reported' : code(one.fixedIn),
      one.dueMs === undefined ? '' : minute(one.dueMs),
      cell(one.title),
    ]);
    return `### ${cell(name)}${version === '' ? '' : ` ${cell(version)}`} in ${cell(where === undefined ? subject : `${where} (${subject})`)}\n\n${table(['Band', 'CVSS', 'Vulnerability', 'Fixed in', 'Due', 'What'], rows)}`;
  });
  return `## ${title}\n\n${groups.join('\n')}`;
}

function decisionTable(decided: readonly (Triaged & { decision: Decision })[], { componentOf }: Context): string {
  return table(
    ['Vulnerability', 'Package', 'Where', 'Decision', 'Until', 'Reason', 'By'],
    decided.map((one) => {
      const { until = '', reason, by } = one.decision;
      const where = componentOf(one.subject) ?? one.subject;
      return [link(one), cell(one.package), cell(where), one.standing, until, cell(reason), cell(by)];
    }),
  );
}

function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(columns), line(columns.map(() => '---')), ...rows.map(line), ''].join('\n');
}

/** Escapes text from a scanner, so that it cannot become a heading, a table or an element. */
const cell = (text: string): string => text.replaceAll(/[\\`*_{}[\]<>()#|~!]/g, '\\$&');

const code = (text: string): string => (text === '' ? '' : `\`${text.replaceAll('`', "'").replaceAll('|', '\\|')}\``);

function link({ id, url }: Triaged): string {
  return url === '' ? cell(id) : `[${cell(id)}](<${url.replaceAll(/[<>|]/g, encodeURIComponent)}>)`;
}

const minute = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
