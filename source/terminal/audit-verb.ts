import { Fault } from '../faults/fault.ts';
import type { AuditReport } from '../session/audit.ts';
import type { AuditEntry, AuditOutcome } from '../session/audit-chain.ts';
import { cleanLine } from '../text/clean.ts';
import { countText } from '../text/quantities.ts';
import { wrap } from '../text/width.ts';
import type { Output } from './output.ts';
import { openOwnAudit } from './own-audit.ts';
import { tableLines } from './table.ts';
import type { VerbContext } from './verb.ts';

const shownEntries = 50;

const outcomeTones = { done: 'good', already: 'idle', failed: 'bad', refused: 'warn', cancelled: 'warn' } as const satisfies Record<
  AuditOutcome,
  string
>;

/** `audit`: what was done, newest last. `audit verify`: is the log whole? */
export async function runAuditVerb(
  { output, options, paths, env }: VerbContext,
  action: string | undefined,
  all: boolean,
): Promise<number> {
  const audit = openOwnAudit(paths, env);
  if (action === undefined) {
    if (options.json) {
      const entries: AuditEntry[] = [];
      for await (const entry of audit.entries()) {
        entries.push(entry);
        if (!all && entries.length > shownEntries) entries.shift();
      }
      const damaged = await audit.damaged();
      output.json({ schema: 1, entries, ...(damaged !== undefined && { damaged }) });
      return 0;
    }
    const ends: AuditEntry[] = [];
    const open = new Map<string, AuditEntry>();
    let total = 0;
    for await (const entry of audit.entries()) {
      const key = `${entry.run} ${entry.act}`;
      if (entry.phase === 'before') {
        open.set(key, entry);
        continue;
      }
      open.delete(key);
      ends.push(entry);
      total += 1;
      if (!all && ends.length > shownEntries) ends.shift();
    }
    // What has a beginning and no end is under way, or its process died.
    ends.push(...open.values());
    printEntries(ends, total, output);
    const damaged = await audit.damaged();
    if (damaged !== undefined) output.note(damagedText(damaged));
    return 0;
  }
  if (action !== 'verify') {
    throw new Fault({
      code: 'usage.audit',
      message: `audit knows no "${cleanLine(action)}".`,
      remedy: 'Use "quarterdeck audit" or "quarterdeck audit verify".',
    });
  }
  const report = await audit.verify();
  if (options.json)
    output.json({ schema: 1, ...report, whole: report.problems.length === 0 && report.unchecked === 0 && !lockedOf(report) });
  else printReport(report, output);
  if (report.problems.length > 0) {
    throw new Fault({
      code: 'failed.auditBroken',
      message: `The audit log is not as it was written: ${countText(report.problems.length, 'break')}.`,
      remedy: `Compare ${report.path} with a backup. New entries go on behind the break, which stays visible.`,
    });
  }
  // Whoever may remove the key could have changed entries before: not being able to tell is no success.
  if (report.unchecked > 0) {
    throw new Fault({
      code: 'failed.auditUnchecked',
      message: `${countText(report.unchecked, 'entry', 'entries')} of ${report.entries} could not be checked: their key is out of reach.`,
      remedy:
        'Unlock the keychain that holds the key. If the key is gone, compare the log with a backup: from now on nothing vouches for these entries.',
    });
  }
  const locked = lockedOf(report);
  if (locked) {
    throw new Fault({
      code: 'failed.auditUnchecked',
      message: `The log was checked against its key file alone. ${cleanLine(locked.reason)}`,
      remedy: 'Unlock the keychain, and verify again.',
    });
  }
  return 0;
}

/** A keychain that did not answer may hold the key: without it, the log can be the work of anyone who has the account. */
function lockedOf({ entries, away }: AuditReport): AuditReport['away'][number] | undefined {
  return entries > 0 ? away.find(({ kind, absent }) => kind === 'keychain' && !absent) : undefined;
}

function printEntries(entries: readonly AuditEntry[], total: number, output: Output): void {
  if (entries.length === 0) {
    output.line('Nothing was changed yet.');
    return;
  }
  const rows = entries.map((entry) => [
    entry.at.slice(0, 19).replace('T', ' '),
    entry.outcome ?? 'begun',
    entry.flow,
    cleanLine(`${entry.host} ${subjectText(entry)}`.trimEnd()),
    cleanLine(entry.who.sudoUser ? `${entry.who.sudoUser} as ${entry.who.user}` : entry.who.user) +
      (entry.who.from ? ` from ${cleanLine(entry.who.from)}` : ''),
    cleanLine(entry.message ?? entry.request),
  ]);
  const tone = (row: number) => outcomeTones[entries[row]?.outcome ?? 'cancelled'];
  const columns = [
    { heading: 'WHEN (UTC)' },
    { heading: 'OUTCOME', paint: (cell: string, row: number) => output.paint(tone(row), cell) },
    { heading: 'FLOW' },
    { heading: 'ABOUT', least: 12 },
    { heading: 'WHO', least: 8 },
    { heading: 'WHAT', least: 14, paint: (cell: string) => output.paint('faint', cell) },
  ];
  for (const line of tableLines(columns, rows, { width: output.columns, heading: (text) => output.paint('faint', text) }))
    output.line(line);
  if (total > entries.length) output.line(output.paint('faint', `The last ${entries.length} of ${total}; --all shows all of them.`));
}

/** `project/component`, and the service or the lone container where the name alone leaves open which it was. */
function subjectText({ component, host, project, service, containers }: AuditEntry): string {
  if (component === undefined) return '';
  const short = component.startsWith(`${host}/`) ? component.slice(host.length + 1).replace(/^\//, '') : component;
  const name = project !== undefined && !short.includes('/') ? `${project}/${short}` : short;
  const [container, ...others] = project === undefined ? (containers ?? []) : [];
  const which = service ?? (others.length === 0 && container !== short ? container : undefined);
  return which === undefined ? name : `${name} (${which})`;
}

function damagedText(path: string): string {
  return `Damaged ends of the audit log are kept in ${cleanLine(path)}. Check them, then remove that file.`;
}

function printReport({ path, entries, problems, unchecked, byKeyFile, keptIn, away, damaged }: AuditReport, output: Output): void {
  const prose = (text: string) => wrap(text, output.proseColumns);
  for (const { line, kind, message } of problems)
    output.line(`${output.paint('bad', `${output.glyph('bad')} ${kind}`)}  ${cleanLine(path)}:${line}  ${message}`);
  if (problems.length === 0 && unchecked > 0) {
    output.line(
      `${output.paint('warn', output.glyph('warn'))} ${countText(entries, 'entry', 'entries')}, none missing in between; whether any was changed is not known. ${cleanLine(path)}`,
    );
  } else if (problems.length === 0) {
    output.line(
      `${output.paint('good', output.glyph('good'))} ${entries === 0 ? 'There are no entries yet' : `${countText(entries, 'entry', 'entries')}, none changed, removed or inserted`}. ${cleanLine(path)}`,
    );
  }
  const notes = [
    byKeyFile > 0
      ? `${countText(byKeyFile, 'entry was', 'entries were')} written while the keychain did not answer: the key file alone vouches for them, and any program under this account can read it.`
      : undefined,
    damaged === undefined ? undefined : damagedText(damaged),
  ];
  for (const note of notes) if (note !== undefined) for (const text of prose(note)) output.line(output.paint('warn', text));
  for (const { kind, reason } of away)
    for (const text of prose(`The ${kind === 'keychain' ? 'keychain' : 'key file'} was not asked: ${cleanLine(reason)}`))
      output.line(output.paint('faint', text));
  if (keptIn === 'file') {
    for (const text of prose(
      'The key rests in a file beside the log, as there is no keychain: accidents and other users are found out, the operator and root are not.',
    ))
      output.line(output.paint('faint', text));
  }
}
