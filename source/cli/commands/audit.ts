import { openOwnAudit } from '../../app/audit-log.ts';
import { Fault } from '../../faults/fault.ts';
import type { Audit, AuditReport } from '../../session/audit.ts';
import type { AuditEntry, AuditOutcome } from '../../session/audit-chain.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import { wrap } from '../../text/width.ts';
import type { VerbContext } from '../command.ts';
import type { Output } from '../output.ts';

const shownEntries = 50;

const outcomeSeverities = {
  done: 'ok',
  already: 'off',
  failed: 'error',
  refused: 'warning',
  cancelled: 'warning',
} as const satisfies Record<AuditOutcome, string>;

export async function runAuditVerb(
  { output, options, paths, env }: VerbContext,
  action: string | undefined,
  all: boolean,
): Promise<number> {
  const audit = openOwnAudit(paths, env);
  if (action === undefined) {
    await printEntries(audit, output, { all, json: options.json });
    return 0;
  }
  if (action !== 'verify')
    throw new Fault('usage.audit', `Unknown audit command "${cleanLine(action)}".`, 'Use quarterdeck audit or quarterdeck audit verify.');
  const report = await audit.verify();
  if (options.json)
    output.json({ schema: 1, ...report, whole: report.problems.length === 0 && report.unchecked === 0 && !lockedOf(report) });
  else printReport(report, output);
  if (report.problems.length > 0) {
    const remedy = `Compare ${report.path} with a backup. New entries are appended; the break stays visible.`;
    throw new Fault('failed.auditBroken', `The audit log was altered: ${countText(report.problems.length, 'break')}.`, remedy);
  }
  // Anyone who can remove the key could have changed earlier entries, so an unverifiable log is not a success.
  if (report.unchecked > 0) {
    const entries = `${countText(report.unchecked, 'entry', 'entries')} of ${report.entries}`;
    const remedy =
      'Unlock the keychain that contains the key. If the key is lost, compare the log with a backup: these entries can no longer be verified.';
    throw new Fault('failed.auditUnchecked', `${entries} could not be checked, because their key is unavailable.`, remedy);
  }
  const locked = lockedOf(report);
  if (locked) {
    const message = `The log was checked only against its key file. ${cleanLine(locked.reason)}`;
    throw new Fault('failed.auditUnchecked', message, 'Unlock the keychain and verify again.');
  }
  return 0;
}

/** Returns the keychain that did not respond and may hold the key. Without the key, anyone with this account could have written the log. */
function lockedOf({ entries, away }: AuditReport): AuditReport['away'][number] | undefined {
  return entries > 0 ? away.find(({ kind, absent }) => kind === 'keychain' && !absent) : undefined;
}

async function printEntries(audit: Audit, output: Output, { all, json }: { all: boolean; json: boolean }): Promise<void> {
  const last: AuditEntry[] = [];
  const open = new Map<string, AuditEntry>();
  let total = 0;
  for await (const entry of audit.entries()) {
    const key = `${entry.run} ${entry.act}`;
    if (entry.phase === 'before') open.set(key, entry);
    else open.delete(key);
    if (entry.phase === 'before' && !json) continue;
    last.push(entry);
    total += 1;
    if (!all && last.length > shownEntries) last.shift();
  }
  const damaged = await audit.damaged();
  if (json) return output.json({ schema: 1, entries: last, damaged });
  // An action without an end is in progress, or its process died.
  printTable([...last, ...open.values()], total + open.size, output);
  if (damaged !== undefined) output.note(damagedText(damaged));
}

function printTable(entries: readonly AuditEntry[], total: number, output: Output) {
  if (entries.length === 0) return output.line('No changes yet.');
  output.list(entries, {
    'TIME (UTC)': ({ at }) => at.slice(0, 19).replace('T', ' '),
    OUTCOME: {
      cell: ({ outcome }) => outcome ?? 'started',
      paint: (cell, { outcome }) => output.paint(outcomeSeverities[outcome ?? 'cancelled'], cell),
    },
    FLOW: ({ flow }) => flow,
    TARGET: { cell: (entry) => `${entry.host} ${subjectText(entry)}`.trimEnd(), least: 12 },
    USER: {
      cell: ({ who: { user, sudoUser, from } }) => `${sudoUser ? `${sudoUser} as ` : ''}${user}${from ? ` from ${from}` : ''}`,
      least: 8,
    },
    CHANGE: { cell: ({ message, request }) => message ?? request, least: 14, paint: (cell) => output.paint('faint', cell) },
  });
  const more = `The last ${entries.length} of ${total} entries. Show all: quarterdeck audit --all`;
  if (total > entries.length) output.line(output.paint('faint', more));
}

/** Returns `project/component`, and the service or the lone container where the name alone is ambiguous. */
function subjectText({ component, host, project, service, containers }: AuditEntry): string {
  if (component === undefined) return '';
  const short = component.startsWith(`${host}/`) ? component.slice(host.length + 1).replace(/^\//, '') : component;
  const name = project !== undefined && !short.includes('/') ? `${project}/${short}` : short;
  const [container, ...others] = project === undefined ? (containers ?? []) : [];
  const which = service ?? (others.length === 0 && container !== short ? container : undefined);
  return which === undefined ? name : `${name} (${which})`;
}

function damagedText(path: string): string {
  return `Damaged parts of the audit log are kept in ${cleanLine(path)}. Check this file, then delete it.`;
}

function printReport({ path, entries, problems, unchecked, byKeyFile, keptIn, away, damaged }: AuditReport, output: Output): void {
  const print = (paint: 'warning' | 'faint', text: string) => {
    for (const line of wrap(text, output.proseColumns)) output.line(output.paint(paint, line));
  };
  for (const { line, kind, message } of problems)
    output.line(`${output.paint('error', `${output.glyph('error')} ${kind}`)}  ${cleanLine(path)}:${line}  ${message}`);
  if (problems.length === 0) {
    const severity = unchecked > 0 ? 'warning' : 'ok';
    const result = unchecked > 0 ? 'no gaps, but changes cannot be ruled out' : 'none changed, removed or inserted';
    const sentence = entries === 0 ? 'No entries yet' : `${countText(entries, 'entry', 'entries')}, ${result}`;
    output.line(`${output.paint(severity, output.glyph(severity))} ${sentence}. ${cleanLine(path)}`);
  }
  if (byKeyFile > 0) {
    const count = countText(byKeyFile, 'entry was', 'entries were');
    const why = 'protected only by the key file, which any program running under your account can read';
    print('warning', `${count} written without the keychain: ${why}.`);
  }
  if (damaged !== undefined) print('warning', damagedText(damaged));
  for (const { kind, reason } of away)
    print('faint', `The ${kind === 'keychain' ? 'keychain' : 'key file'} was not checked: ${cleanLine(reason)}`);
  if (keptIn === 'file')
    print(
      'faint',
      'The key is stored in a file beside the log, not in a keychain. Accidental changes and changes by other users are detected; changes by you or root are not.',
    );
}
