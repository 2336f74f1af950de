import type { ConfigProblem } from '../../config-files/problem.ts';
import { Fault } from '../../faults/fault.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';

export function showProblems(session: Session, file: string, problems: readonly ConfigProblem[]): { errors: number; reported: string } {
  for (const [at, { level, line, column, field, message, remedy }] of problems.entries())
    session.show({
      kind: 'item',
      id: `problem-${at + 1}`,
      title: cleanLine(`${file}:${line}:${column}${field === '' ? '' : ` ${field}`}`),
      state: level === 'error' ? 'blocked' : 'warning',
      evidence: cleanLine(`${message} ${remedy}`),
    });
  const errors = problems.filter(({ level }) => level === 'error').length;
  const warnings = problems.length - errors;
  const counts = [errors > 0 && countText(errors, 'mistake'), warnings > 0 && countText(warnings, 'warning')];
  return { errors, reported: counts.filter(Boolean).join(', ') };
}

export function configFault({ line, column, field, message, remedy }: ConfigProblem, file: string, more = ''): Fault {
  return new Fault('config.file', `${message}${more}`, remedy, { where: { file, line, column, ...(field !== '' && { field }) } });
}
