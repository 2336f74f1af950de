import { Fault } from '../../faults/fault.ts';
import { argumentOrPrompt } from '../../flows/argument-or-prompt.ts';
import { askChoice } from '../../flows/ask-choice.ts';
import type { FlowInput, Procedure } from '../../flows/flow.ts';
import { optionOf, wordsUpTo } from '../../flows/flow-options.ts';
import { showList } from '../../flows/list-table.ts';
import { fileOf } from '../../flows/named-file.ts';
import { localFiles } from '../../hosts/local-files.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText, numberText } from '../../text/quantities.ts';
import { oldFeedOf } from './client/feed-state.ts';
import { readReport } from './client/read-report.ts';
import type { ScanReport } from './client/report-builder.ts';
import { isLate } from './client/triage.ts';
import { bands } from './client/vulnerability.ts';
import { triageBookOf, vulnerabilitiesText } from './triage-choice.ts';

const fileLimitBytes = 512 * 1024 * 1024;
const limitMs = 120_000;

export const vulnerabilitiesImport: Procedure = async (session, input, context) => {
  const book = triageBookOf(context);
  const { bytes, file } = await reportFile(session, input);
  session.progress({ id: 'read', label: 'Reading the report' });
  const report = named(await readReport(bytes, file), input);
  session.progress({ id: 'read', label: `Read: ${report.format}`, done: true });
  await throwUnlessPartial(session, input, report, file);
  const nowMs = Date.now();
  const change = await book.compare(report, nowMs);
  session.show({ kind: 'text', text: `${cleanLine(file)} (${report.format}) covers ${subjectsText(report)}.` });
  const blind = oldFeedOf(report, nowMs);
  if (blind !== undefined)
    session.show({ kind: 'item', id: 'feed', title: blind, state: 'warning', evidence: 'Update the database and scan again.' });
  const counted = bands.map((band) => ({ band, count: report.vulnerabilities.filter((one) => one.band === band).length }));
  const found = counted.filter(({ count }) => count > 0);
  showList(session, found, { SEVERITY: ({ band }) => band, FOUND: ({ count }) => numberText(count) }, { right: ['FOUND'] });
  const done = await session.act({
    id: 'import',
    right: 'operate',
    request: `store ${vulnerabilitiesText(report.vulnerabilities.length)} in ${subjectsText(report)}: ${change.added} new, ${change.stayed} known, ${change.gone} no longer reported`,
    limitMs,
    run: (grant) => book.import(grant, report, cleanLine(file), nowMs),
  });
  const counts = done ?? change;
  const sentence = `${numberText(counts.added)} new, ${numberText(counts.stayed)} known, ${numberText(counts.gone)} no longer reported`;
  const { all } = await book.read(nowMs);
  const subjects = new Set(report.subjects);
  const late = all.filter((one) => subjects.has(one.subject) && isLate(one)).length;
  const overdue = late > 0 ? ` ${numberText(late)} ${late === 1 ? 'is' : 'are'} overdue.` : '';
  const { skipped } = report;
  const left =
    skipped > 0 ? ` Skipped ${countText(skipped, 'entry', 'entries')}; vulnerabilities in them may be counted as no longer reported.` : '';
  const what = report.vulnerabilities.length > 0 ? 'Imported' : skipped > 0 ? 'No valid entries found' : 'No vulnerabilities found';
  return {
    message: done
      ? `${what}: ${sentence}.${left}${overdue} To triage vulnerabilities: quarterdeck vulnerabilities decide`
      : `Dry run: nothing was stored (${sentence}).`,
    data: {
      ...{ format: report.format, subjects: report.subjects, ...counts, ignored: report.ignored, skipped },
      problems: report.problems.map((problem) => ({ file: cleanLine(file), ...problem })),
    },
  };
};

async function reportFile(session: Session, { words, stdin }: FlowInput): Promise<{ bytes: Uint8Array; file: string }> {
  const [word] = wordsUpTo(1, { words }, { takes: 'Import one report at a time', remedy: 'Run the command once for each report.' });
  if (stdin) return { bytes: stdin, file: word ?? 'the input' };
  const written = await argumentOrPrompt(session, {
    ...{ id: 'file', given: word, code: 'usage.file', remedy: 'Use a report file created by the scanner.' },
    label: 'Report',
    help: 'A report file on this machine: JSON (Trivy or Grype), SARIF, or CSV.',
    check: (text) => (text.trim() === '' ? 'Enter a file name.' : undefined),
  });
  const path = fileOf(written);
  const bytes = await localFiles.read(path, { signal: session.signal, limitBytes: fileLimitBytes });
  if (!bytes) throw new Fault('usage.file', `${cleanLine(path)} does not exist.`, 'Use a report file created by the scanner.');
  if (bytes.length >= fileLimitBytes) {
    const message = `${cleanLine(path)} is larger than ${fileLimitBytes >> 20} MiB.`;
    throw new Fault('usage.file', message, 'Create a separate report for each scanned subject.');
  }
  return { bytes, file: written };
}

/** Applies `--subject` to a report of one subject, even if the report names that. */
function named(report: ScanReport, input: FlowInput): ScanReport {
  const subject = optionOf(input, 'subject') ?? '';
  if (subject.trim() === '') return report;
  if (report.subjects.length > 1) {
    const message = `The report covers ${report.subjects.length} subjects, but --subject names only one.`;
    throw new Fault('usage.subject', message, 'Omit --subject, because the report names its subjects.');
  }
  const name = cleanLine(subject.trim());
  return { ...report, subjects: [name], vulnerabilities: report.vulnerabilities.map((one) => ({ ...one, subject: name })) };
}

async function throwUnlessPartial(session: Session, { options }: FlowInput, report: ScanReport, file: string): Promise<void> {
  const { problems, skipped, vulnerabilities } = report;
  const [first] = problems;
  if (!first) return;
  for (const [at, { line, column, message: evidence }] of problems.entries()) {
    const title = `${cleanLine(file)}:${line}:${column}`;
    session.show({ kind: 'item', id: `problem-${at + 1}`, title, state: 'warning', evidence });
  }
  if (options['partial'] === true) return;
  const count = countText(skipped, 'entry', 'entries');
  if (session.attended) {
    const way = await askChoice(session, {
      id: 'partial',
      label: `${count} cannot be imported`,
      help: `First problem (line ${first.line}, column ${first.column}): ${first.message}`,
      choices: { no: ['Cancel', 'nothing is stored'], yes: `Import the other ${vulnerabilitiesText(vulnerabilities.length)}` },
      initial: 'no',
    });
    if (way === 'yes') return;
  }
  const message = `${count} in ${cleanLine(file)} cannot be imported. First problem: ${first.message}`;
  const remedy = 'Fix the file or recreate it with the scanner. To import only the valid entries, use --partial.';
  throw new Fault('config.report', message, remedy, { where: { file: cleanLine(file), line: first.line, column: first.column } });
}

function subjectsText({ subjects }: ScanReport): string {
  const [only] = subjects;
  return subjects.length === 1 && only !== undefined ? only : countText(subjects.length, 'subject');
}
