import { Fault, isAbort } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import { withoutLikelySecrets } from '../text/likely-secrets.ts';
import type { Review, Shown } from './session.ts';

export const hiddenMark = '(secret)';
/** A shorter secret would hide every `1` of an error message. */
const leastMaskedLength = 4;

/** The secrets of one run, and texts without them: servers like to quote what they were sent. */
export interface Masking {
  add(secret: string): void;
  /** As it is, lines and all, but for the secrets. */
  text(text: string): string;
  /** One clean line. */
  line(text: string): string;
  /** What was thrown: a screen and a crash report show it. What caused it goes when it repeats a secret. */
  thrown(thrown: unknown): unknown;
  /** The same for what leaves the run: what a mistake of ours repeats may be a secret that nobody has called one yet. */
  told(thrown: unknown): unknown;
  shown(shown: Shown): Shown;
  review(review: Review): Review;
  clear(): void;
}

export function createMasking(): Masking {
  const secrets = new Set<string>();
  let longestFirst: readonly string[] = [];

  function text(raw: string): string {
    let result = raw;
    for (const secret of longestFirst) result = result.replaceAll(secret, hiddenMark);
    return result;
  }
  const line = (raw: string) => cleanLine(text(raw));

  function quotes(one: unknown): boolean {
    if (!(one instanceof Error)) return longestFirst.some((secret) => String(one).includes(secret));
    const told = `${one.message} ${one.stack} ${one instanceof Fault ? one.remedy : ''}`;
    return longestFirst.some((secret) => told.includes(secret)) || quotes(one.cause);
  }

  function review({ title, sections, findings, summary, actions, ...rest }: Review): Review {
    return {
      ...rest,
      title: text(title),
      sections: sections.map((section) => ({
        title: text(section.title),
        lines: section.lines.map((each) => ({ ...each, text: text(each.text) })),
      })),
      findings: findings.map((finding) => ({ ...finding, message: text(finding.message), advice: text(finding.advice) })),
      ...(summary !== undefined && { summary: text(summary) }),
      actions: actions.map((action) => (action.blocked === undefined ? action : { ...action, blocked: text(action.blocked) })),
    };
  }

  function thrown(what: unknown): unknown {
    if (typeof what === 'string') return line(what);
    if (!(what instanceof Error) || !quotes(what)) return what;
    if (what instanceof Fault) {
      return new Fault({
        code: what.code,
        message: line(what.message),
        remedy: line(what.remedy),
        ...(what.where && { where: what.where }),
      });
    }
    return copyOf(what, line);
  }

  return {
    add(secret) {
      if (secret.length < leastMaskedLength || secrets.has(secret)) return;
      secrets.add(secret);
      // One secret can be part of another: the rest of the longer one would be seen.
      longestFirst = [...secrets].sort((one, other) => other.length - one.length);
    },
    text,
    line,
    thrown,
    told(what) {
      const told = thrown(what);
      return told instanceof Error && !(told instanceof Fault) && !isAbort(told) ? copyOf(told, withoutLikelySecrets) : told;
    },
    shown(shown) {
      if (secrets.size === 0) return shown;
      switch (shown.kind) {
        case 'text':
          return { ...shown, text: text(shown.text) };
        case 'table':
          return { ...shown, ...(shown.title !== undefined && { title: text(shown.title) }), rows: shown.rows.map((row) => row.map(text)) };
        case 'item':
          return { ...shown, title: text(shown.title), ...(shown.evidence !== undefined && { evidence: text(shown.evidence) }) };
        case 'review':
          return { ...shown, review: review(shown.review) };
        // A secret that is shown is asked for, and a program's own output is passed on byte for byte.
        case 'secret':
        case 'output':
          return shown;
      }
    },
    review,
    clear() {
      secrets.clear();
      longestFirst = [];
    },
  };
}

/** The same mistake in other words, without what hangs on it: a request with its headers. */
function copyOf(thrown: Error, words: (text: string) => string): Error {
  const copy = new Error(words(thrown.message));
  copy.name = thrown.name;
  const frames = (thrown.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  copy.stack = [`${copy.name}: ${copy.message}`, ...frames].join('\n');
  return copy;
}
