import { Fault, isAbort } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import { withoutLikelySecrets } from '../text/likely-secrets.ts';
import type { Review, Shown } from './session.ts';

export const hiddenMark = '(secret)';
/** A shorter secret would hide every `1` of an error message. */
const leastMaskedLength = 4;

/** Removes the secrets of one run from texts: servers often quote the request. */
export function createMasking() {
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
    const reported = `${one.message} ${one.stack} ${one instanceof Fault ? one.remedy : ''}`;
    return longestFirst.some((secret) => reported.includes(secret)) || quotes(one.cause);
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

  /** Masks a thrown value, which screens and crash reports show. Its cause is dropped if it repeats a secret. */
  function thrown(what: unknown): unknown {
    if (typeof what === 'string') return line(what);
    if (!(what instanceof Error) || !quotes(what)) return what;
    if (what instanceof Fault) return new Fault(what.code, line(what.message), line(what.remedy), { where: what.where });
    return copyOf(what, line);
  }

  return {
    add(secret: string): void {
      if (secret.length < leastMaskedLength || secrets.has(secret)) return;
      secrets.add(secret);
      // One secret can be part of another: the rest of the longer one would stay visible.
      longestFirst = [...secrets].sort((one, other) => other.length - one.length);
    },
    text,
    line,
    thrown,
    /** Masks a value that leaves the run: the text of a bug may repeat a secret that has not been registered yet. */
    reported(what: unknown): unknown {
      const reported = thrown(what);
      const isBug = reported instanceof Error && !(reported instanceof Fault) && !isAbort(reported);
      return isBug ? copyOf(reported, withoutLikelySecrets) : reported;
    },
    shown(shown: Shown): Shown {
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
        // Revealed secrets are shown on request, and program output is passed on byte for byte.
        case 'secret':
        case 'output':
          return shown;
      }
    },
    review,
    clear(): void {
      secrets.clear();
      longestFirst = [];
    },
  };
}

/** Copies the error with a masked message and without attached objects, such as a request with its headers. */
function copyOf(thrown: Error, words: (text: string) => string): Error {
  const copy = new Error(words(thrown.message));
  copy.name = thrown.name;
  const frames = (thrown.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  copy.stack = [`${copy.name}: ${copy.message}`, ...frames].join('\n');
  return copy;
}
