import type { Review, ReviewFinding, ReviewLine } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { wrap } from '../text/width.ts';

type ReviewPaint = 'good' | 'bad' | 'warn' | 'strong' | 'faint';

export interface ReviewStyle {
  paint(paint: ReviewPaint, text: string): string;
  /** For sentences. Lines of a diff are not torn apart. */
  columns: number;
}

/** A line of a diff says what it is without colour too. `continued`: the rest of one that was broken. */
export function reviewLine({ mark, text }: ReviewLine, paint: ReviewStyle['paint'], continued = false): string {
  const clean = cleanLine(text);
  const sign = (character: string) => `${continued ? ' ' : character} ${clean}`;
  switch (mark) {
    case 'added':
      return paint('good', sign('+'));
    case 'removed':
      return paint('bad', sign('-'));
    case 'warning':
      return paint('warn', sign('!'));
    case 'heading':
      return paint('strong', clean);
    case 'same':
      return paint('faint', `  ${clean}`);
    case undefined:
      return `  ${clean}`;
  }
}

/** Blocking ones first, each with its advice under it. */
export function findingsInOrder(findings: readonly ReviewFinding[]): ReviewFinding[] {
  return [...findings.filter(({ level }) => level === 'blocking'), ...findings.filter(({ level }) => level !== 'blocking')];
}

/** What follows on the findings until they are out of sight on a small screen. */
const outOfSight = 12;

/** A review as lines of text: what is wrong, then what would be done, and at the end, where the question follows, both once more and short. */
export function reviewLines(review: Review, { paint, columns }: ReviewStyle): string[] {
  const lines = [paint('strong', cleanLine(review.title))];
  for (const { level, message, advice, rule } of findingsInOrder(review.findings)) {
    const role = level === 'blocking' ? 'bad' : 'warn';
    const [first = '', ...more] = wrap(cleanLine(message), columns - 10);
    lines.push('', `${paint(role, level.padEnd(8))}  ${first}`, ...more.map((line) => `${' '.repeat(10)}${line}`));
    const told = rule === undefined ? advice : `${advice} (${rule})`;
    lines.push(...wrap(cleanLine(told), columns - 10).map((line) => `${' '.repeat(10)}${paint('faint', line)}`));
  }
  const below = lines.length;
  for (const { title, lines: told } of review.sections) {
    if (told.length > 0) lines.push('', paint('strong', cleanLine(title)), ...told.map((line) => `  ${reviewLine(line, paint)}`.trimEnd()));
  }
  if (lines.length - below > outOfSight) {
    const again = findingsInOrder(review.findings).toReversed();
    if (again.length > 0) lines.push('');
    for (const { level, message } of again) {
      const [first = '', ...more] = wrap(cleanLine(message), columns - 10);
      const role = level === 'blocking' ? 'bad' : 'warn';
      lines.push(`${paint(role, level.padEnd(8))}  ${first}`, ...more.map((line) => `${' '.repeat(10)}${line}`));
    }
  }
  if (review.summary !== undefined) lines.push('', ...wrap(cleanLine(review.summary), columns).map((line) => paint('strong', line)));
  return lines;
}

/** `Deploy password-vault on nas (Ports: 1 line; password-vault/compose.yaml: changed, +34 -2)`. */
export function changesInOneLine({ title, sections }: Review): string {
  const told = sections.flatMap((section) => {
    const count = (mark: ReviewLine['mark']) => section.lines.filter((line) => line.mark === mark).length;
    const added = count('added');
    const removed = count('removed');
    const figures =
      [added > 0 ? `+${added}` : '', removed > 0 ? `-${removed}` : ''].filter(Boolean).join(' ') ||
      `${section.lines.length} ${section.lines.length === 1 ? 'line' : 'lines'}`;
    return section.lines.length === 0 ? [] : [cleanLine(`${section.title}${section.title.includes(':') ? ',' : ':'} ${figures}`)];
  });
  return `${cleanLine(title)}${told.length > 0 ? ` (${told.join('; ')})` : ''}`;
}
