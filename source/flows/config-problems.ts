import { Fault } from '../faults/fault.ts';
import type { ConfigProblem } from '../products/config-problem.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { countText } from '../text/quantities.ts';

/** Lists what is wrong with a configuration, each with its place in the file, and answers how much there is. */
export function showProblems(session: Session, file: string, problems: readonly ConfigProblem[]): { errors: number; told: string } {
  for (const [at, { level, line, column, field, message, remedy, rule }] of problems.entries())
    session.show({
      kind: 'item',
      id: `problem-${at + 1}`,
      title: cleanLine(`${file}:${line}:${column}${field === '' ? '' : ` ${field}`}`),
      state: level === 'error' ? 'blocked' : 'warning',
      evidence: cleanLine(`${message} ${remedy}${rule === undefined ? '' : ` (${rule})`}`),
    });
  const errors = problems.filter(({ level }) => level === 'error').length;
  const warnings = problems.length - errors;
  return {
    errors,
    told: [errors > 0 ? countText(errors, 'mistake') : '', warnings > 0 ? countText(warnings, 'warning') : ''].filter(Boolean).join(', '),
  };
}

/** `config.file` for a mistake that stops what is being done; `more` stands behind what it says. */
export function configFault({ line, column, field, message, remedy }: ConfigProblem, file: string, more = ''): Fault {
  return new Fault({
    code: 'config.file',
    message: `${message}${more}`,
    remedy,
    where: { file, line, column, ...(field !== '' && { field }) },
  });
}
