import { Fault } from '../../faults/fault.ts';
import type { ComponentView } from '../../fleet/model.ts';
import { scannerStates } from '../../fleet/scanner-state.ts';
import type { FlowContext, FlowInput, Procedure } from '../../flows/flow.ts';
import { wordsUpTo } from '../../flows/flow-options.ts';
import { type Columns, showList } from '../../flows/list-table.ts';
import { fileOf } from '../../flows/named-file.ts';
import { saveFile } from '../../flows/save-file.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine, jsonText } from '../../text/clean.ts';
import { bytesText, numberText } from '../../text/quantities.ts';
import { scanRemarks } from './client/feed-state.ts';
import { reportMarkdown } from './client/report-markdown.ts';
import { isLate, isUndecided, type Triaged } from './client/triage.ts';
import { bands } from './client/vulnerability.ts';
import { dueText, narrowed, openTriage, vulnerabilitiesText } from './triage-choice.ts';

const usualLimit = 100;
const settleLimitMs = 5_000;

export const vulnerabilitiesList: Procedure = async (session, input, context) => {
  const limit = limitOf(input);
  const { all, scans, nowMs, componentOf } = await openTriage(context);
  const wanted = narrowed(all, input, componentOf);
  const scanners = scannerStates(await components(session, context));
  const remarks = scanRemarks(scans, nowMs);
  for (const { name, severity, text } of scanners)
    session.show({ kind: 'item', id: `scanner ${name}`, title: cleanLine(text), state: severity === 'ok' ? 'ok' : 'warning' });
  for (const [at, text] of remarks.entries()) session.show({ kind: 'item', id: `remark ${at}`, title: cleanLine(text), state: 'warning' });
  const columns: Columns<Triaged> = {
    SEVERITY: ({ band }) => band,
    CVSS: ({ score }) => score?.toFixed(1) ?? '',
    VULNERABILITY: ({ id }) => cleanLine(id),
    PACKAGE: (one) => cleanLine([one.package, one.version, one.fixedIn === '' ? '' : `-> ${one.fixedIn}`].filter(Boolean).join(' ')),
    WHERE: ({ subject }) => cleanLine(componentOf(subject) ?? subject),
    DEADLINE: ({ dueMs }) => dueText(dueMs, nowMs),
    STATUS: ({ standing }) => standing,
  };
  showList(session, wanted.slice(0, limit), columns, { right: ['CVSS'] });
  const left = wanted.length - limit;
  const more = `${numberText(left)} more are not shown. Filter by component, package, ID or severity (--band), list only overdue ones (--late), or raise --limit.`;
  return {
    message: `${summaryText(wanted, all.length)}${left > 0 ? ` ${more}` : ''}`,
    data: {
      scans,
      remarks,
      ...(scanners.length > 0 && { scanners }),
      counts: Object.fromEntries(bands.map((band) => [band, wanted.filter((one) => one.band === band).length])),
      overdue: wanted.filter(isLate).length,
      undecided: wanted.filter(isUndecided).length,
      vulnerabilities: wanted.map((one) => jsonOf(one, componentOf(one.subject))),
    },
  };
};

/** The list does not require an engine, so an engine is not waited for long. */
async function components(session: Session, { fleet }: FlowContext): Promise<readonly ComponentView[]> {
  const signal = AbortSignal.any([session.signal, AbortSignal.timeout(settleLimitMs)]);
  const settled = await fleet.settle(signal, 'complete').catch(() => session.signal.throwIfAborted());
  return (settled ?? fleet.snapshot()).components;
}

function jsonOf(one: Triaged, component: string | undefined): object {
  const { firstMs, dueMs, decision: { what, reason, until, by, at } = {}, score, ...rest } = one;
  return {
    ...rest,
    ...(score !== undefined && { score }),
    ...(component !== undefined && { component }),
    first: new Date(firstMs).toISOString(),
    ...(dueMs !== undefined && { due: new Date(dueMs).toISOString() }),
    ...(what !== undefined && { decision: { what, reason, until, by, at } }),
  };
}

function summaryText(wanted: readonly Triaged[], known: number): string {
  if (known === 0) return 'No vulnerabilities are known.';
  if (wanted.length === 0) return `None of the ${numberText(known)} known vulnerabilities match.`;
  const late = wanted.filter(isLate).length;
  const undecided = wanted.filter(isUndecided).length;
  return `${vulnerabilitiesText(wanted.length)}: ${numberText(late)} overdue, ${numberText(undecided)} undecided.`;
}

function limitOf({ options }: FlowInput): number {
  const written = options['limit'];
  if (written === undefined) return usualLimit;
  if (typeof written === 'string' && /^[1-9]\d{0,6}$/.test(written)) return Number(written);
  const message = `--limit must be a whole number from 1 to 9999999, not "${cleanLine(String(written))}".`;
  throw new Fault('usage.limit', message, 'For example: --limit 500');
}

export const vulnerabilitiesReport: Procedure = async (session, input, context) => {
  const format = formatOf(input);
  const { all, scans, nowMs, componentOf } = await openTriage(context);
  const vulnerabilities = all.map((one) => jsonOf(one, componentOf(one.subject)));
  const json = { schema: 1, at: new Date(nowMs).toISOString(), scans, vulnerabilities };
  const text = format === 'json' ? `${jsonText(json, 2)}\n` : reportMarkdown(all, scans, { nowMs, componentOf });
  const [path] = input.words;
  if (path === undefined) {
    session.show({ kind: 'text', text: text.trimEnd() });
    return { message: '', data: json };
  }
  const content = Buffer.from(text);
  // Readable only by the owner: the report shows how to break in.
  const shown = await saveFile(session, { id: 'report', right: 'operate', path, content, what: bytesText(content.length) });
  const message = shown === undefined ? 'Dry run: nothing was written.' : `Wrote the report to ${shown}.`;
  return { message, data: { file: fileOf(path), format } };
};

function formatOf({ words, options }: FlowInput): 'markdown' | 'json' {
  const [word] = wordsUpTo(1, { words }, { takes: 'Write the report to one file', remedy: 'Pass one file name.' });
  const written = options['format'];
  if (written === undefined) return word !== undefined && /\.json$/i.test(word) ? 'json' : 'markdown';
  if (written === 'markdown' || written === 'json') return written;
  throw new Fault('usage.format', `--format must be markdown or json, not "${cleanLine(String(written))}".`, 'For example: --format json');
}
