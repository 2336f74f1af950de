import type { Review, ReviewFinding, ReviewLine } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { countText } from '../text/quantities.ts';
import { wrap } from '../text/width.ts';

type ReviewPaint = 'ok' | 'error' | 'warning' | 'strong' | 'faint';

interface ReviewStyle {
  paint(paint: ReviewPaint, text: string): string;
  /** Width for sentences. Lines of a diff are not wrapped. */
  columns: number;
}

export const reviewMarks = { added: ['+', 'ok'], removed: ['-', 'error'], warning: ['!', 'warning'] } as const;

export function reviewLine({ mark, text }: ReviewLine, paint: ReviewStyle['paint'], continued = false): string {
  const clean = cleanLine(text);
  if (mark === undefined) return `  ${clean}`;
  if (mark === 'heading') return paint('strong', clean);
  if (mark === 'same') return paint('faint', `  ${clean}`);
  const [sign, role] = reviewMarks[mark];
  return paint(role, `${continued ? ' ' : sign} ${clean}`);
}

export function findingsInOrder(findings: readonly ReviewFinding[]): ReviewFinding[] {
  return [...findings.filter(({ level }) => level === 'blocking'), ...findings.filter(({ level }) => level !== 'blocking')];
}

/** After this many lines the findings have scrolled off a small screen. */
const outOfSight = 12;

export function reviewLines(review: Review, { paint, columns }: ReviewStyle): string[] {
  const lines = [paint('strong', cleanLine(review.title))];
  const findings = findingsInOrder(review.findings);
  const indented = (text: string, first = '') =>
    wrap(cleanLine(text), columns - 10).map((line, row) => [row === 0 ? first : '', line] as const);
  const messageLines = ({ level, message }: ReviewFinding) =>
    indented(message, level).map(([word, line]) => `${paint(level === 'blocking' ? 'error' : 'warning', word.padEnd(8))}  ${line}`);
  for (const finding of findings)
    lines.push('', ...messageLines(finding), ...indented(finding.advice).map(([, line]) => `${' '.repeat(10)}${paint('faint', line)}`));
  const below = lines.length;
  for (const { title, lines: reported } of review.sections) {
    if (reported.length > 0)
      lines.push('', paint('strong', cleanLine(title)), ...reported.map((line) => `  ${reviewLine(line, paint)}`.trimEnd()));
  }
  if (lines.length - below > outOfSight && findings.length > 0) lines.push('', ...findings.toReversed().flatMap(messageLines));
  if (review.summary !== undefined) lines.push('', ...wrap(cleanLine(review.summary), columns).map((line) => paint('strong', line)));
  return lines;
}

/** `Deploy password-vault on nas (Ports: 1 line; password-vault/compose.yaml: changed, +34 -2)`. */
export function changesInOneLine({ title, sections }: Review): string {
  const reported = sections.flatMap((section) => {
    const counts = (['added', 'removed'] as const).flatMap((wanted) => {
      const { length } = section.lines.filter(({ mark }) => mark === wanted);
      return length > 0 ? [`${reviewMarks[wanted][0]}${length}`] : [];
    });
    const figures = counts.join(' ') || countText(section.lines.length, 'line');
    return section.lines.length === 0 ? [] : [cleanLine(`${section.title}${section.title.includes(':') ? ',' : ':'} ${figures}`)];
  });
  return `${cleanLine(title)}${reported.length > 0 ? ` (${reported.join('; ')})` : ''}`;
}
