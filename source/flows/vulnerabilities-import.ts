import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { expandHome } from '../config/paths.ts';
import { Fault } from '../faults/fault.ts';
import { localFiles } from '../hosts/local-files.ts';
import { oldFeedOf } from '../products/vulnerabilities/feed-state.ts';
import { readReport } from '../products/vulnerabilities/read-report.ts';
import { bands, type ScanReport } from '../products/vulnerabilities/vulnerability.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { countText, numberText } from '../text/quantities.ts';
import { vulnerabilitiesImportAbout } from './about-vulnerabilities.ts';
import type { Flow, FlowInput } from './flow.ts';
import { wordsUpTo } from './flow-options.ts';
import { triageBookOf, vulnerabilitiesText } from './triage-choice.ts';

const fileLimitBytes = 512 * 1024 * 1024;
const limitMs = 120_000;

export const vulnerabilitiesImport: Flow = {
  ...vulnerabilitiesImportAbout,
  async run(session, input, world) {
    const book = triageBookOf(world);
    const { bytes, file } = await reportFile(session, input);
    session.progress({ id: 'read', label: 'Reading the report' });
    const report = named(await readReport(bytes, file), input);
    session.progress({ id: 'read', label: `Read: ${report.format}`, done: true });
    await throwUnlessPartial(session, input, report, file);
    const nowMs = Date.now();
    const change = await book.compare(report, nowMs);
    session.show({ kind: 'text', text: `${cleanLine(file)}: ${report.format}, about ${subjectsText(report)}.` });
    const blind = oldFeedOf(report, nowMs);
    if (blind !== undefined)
      session.show({ kind: 'item', id: 'feed', title: blind, state: 'warning', evidence: 'update it, and scan again' });
    session.show({
      kind: 'table',
      columns: ['band', 'found'],
      align: ['left', 'right'],
      rows: bands.flatMap((band) => {
        const count = report.vulnerabilities.filter((one) => one.band === band).length;
        return count > 0 ? [[band, numberText(count)]] : [];
      }),
    });
    const done = await session.act({
      id: 'import',
      right: 'operate',
      request: `keep ${vulnerabilitiesText(report.vulnerabilities.length)} of ${subjectsText(report)}: ${change.added} new, ${change.stayed} known, ${change.gone} gone`,
      target: { host: input.place },
      limitMs,
      run: (grant) => book.import(grant, report, cleanLine(file), nowMs),
    });
    const counts = done ?? change;
    const sentence = `${numberText(counts.added)} new, ${numberText(counts.stayed)} known before, ${numberText(counts.gone)} gone`;
    const { all } = await book.read(nowMs);
    const subjects = new Set(report.subjects);
    const late = all.filter((one) => subjects.has(one.subject) && (one.standing === 'overdue' || one.standing === 'lapsed')).length;
    return {
      message: done
        ? `${report.vulnerabilities.length === 0 ? 'Nothing was found' : 'Imported'}: ${sentence}.${late > 0 ? ` ${numberText(late)} ${late === 1 ? 'is' : 'are'} overdue.` : ''} Go through them: quarterdeck vulnerabilities decide`
        : `Rehearsed: nothing was kept. It would be ${sentence}.`,
      data: {
        ...{ format: report.format, subjects: report.subjects, ...counts, ignored: report.ignored, leftOut: report.leftOut },
        problems: report.problems.map((problem) => ({ file: cleanLine(file), ...problem })),
      },
    };
  },
};

async function reportFile(session: Session, { words, stdin }: FlowInput): Promise<{ bytes: Uint8Array; file: string }> {
  const [word] = wordsUpTo(1, { words }, { takes: 'One report at a time', remedy: 'Run it once for each file.' });
  if (stdin) return { bytes: stdin, file: word ?? 'the input' };
  const written =
    word ??
    (await session.ask.text({
      id: 'file',
      label: 'Which report?',
      help: 'A file of this machine: JSON of Trivy or Grype, SARIF, or CSV.',
      check: (text) => (text.trim() === '' ? 'Name a file.' : undefined),
    }));
  const path = resolve(expandHome(written.trim(), homedir()));
  const bytes = await localFiles.read(path, { signal: session.signal, limitBytes: fileLimitBytes });
  if (!bytes) {
    throw new Fault({
      code: 'usage.file',
      message: `There is no file ${cleanLine(path)}.`,
      remedy: 'Name the report that the scanner wrote.',
    });
  }
  if (bytes.length >= fileLimitBytes) {
    throw new Fault({
      code: 'usage.file',
      message: `${cleanLine(path)} is larger than ${fileLimitBytes >> 20} MiB.`,
      remedy: 'Have the scanner write a report for each of what it scans.',
    });
  }
  return { bytes, file: written.trim() };
}

/** `--subject` is for a report about one thing that does not say what. */
function named(report: ScanReport, { options }: FlowInput): ScanReport {
  const subject = options['subject'];
  if (typeof subject !== 'string' || subject.trim() === '') return report;
  if (report.subjects.length > 1) {
    throw new Fault({
      code: 'usage.subject',
      message: `The report is about ${report.subjects.length} subjects, and --subject names one.`,
      remedy: 'Leave it away: each of them has a name.',
    });
  }
  const name = cleanLine(subject.trim());
  return { ...report, subjects: [name], vulnerabilities: report.vulnerabilities.map((one) => ({ ...one, subject: name })) };
}

/** A report with holes is taken only by somebody who knows of them. */
async function throwUnlessPartial(
  session: Session,
  { options }: FlowInput,
  { problems, leftOut, vulnerabilities }: ScanReport,
  file: string,
): Promise<void> {
  const [first] = problems;
  if (!first) return;
  for (const [at, { line, column, message }] of problems.entries())
    session.show({
      kind: 'item',
      id: `problem-${at + 1}`,
      title: `${cleanLine(file)}:${line}:${column}`,
      state: 'warning',
      evidence: message,
    });
  if (options['partial'] === true) return;
  const count = countText(leftOut, 'entry', 'entries');
  if (session.attended) {
    const way = await session.ask.choice({
      id: 'partial',
      label: `${count} cannot be used. Take the other ${numberText(vulnerabilities.length)}?`,
      help: `The first: line ${first.line}, column ${first.column}: ${first.message}`,
      choices: [
        { value: 'no', label: 'Leave it', detail: 'nothing is kept' },
        { value: 'yes', label: 'Take the others' },
      ],
      initial: 'no',
    });
    if (way === 'yes') return;
  }
  throw new Fault({
    code: 'config.report',
    message: `${count} of ${cleanLine(file)} cannot be used; the first: ${first.message}`,
    remedy: 'Mend the file or take it anew from the scanner; --partial takes what can be read.',
    where: { file: cleanLine(file), line: first.line, column: first.column },
  });
}

function subjectsText({ subjects }: ScanReport): string {
  const [only] = subjects;
  return subjects.length === 1 && only !== undefined ? only : countText(subjects.length, 'subject');
}
