import type { Alert, Decision } from '../products/crowdsec-records.ts';
import { cleanLine } from '../text/clean.ts';
import { durationText, numberText } from '../text/quantities.ts';

/** `192.0.2.7`, `Country FR`: what needs no word has none. */
export function whatOf({ scope, value }: Pick<Decision, 'scope' | 'value'>): string {
  return /^(?:ip|range)$/i.test(scope) ? cleanLine(value) : cleanLine(`${scope} ${value}`.trim());
}

/** What is left of a decision: `45s`, `12m`, `3h59m`, `6d`. */
export function leftText(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  const hours = Math.floor(minutes / 60);
  if (hours < 1 || hours >= 48) return durationText(ms);
  return minutes % 60 === 0 ? `${hours}h` : `${hours}h${String(minutes % 60).padStart(2, '0')}m`;
}

/** `ban`, `ban 2, captcha`; empty where nothing is in force. */
export function kindsOf({ decisions: all }: Pick<Alert, 'decisions'>): string {
  const counts = new Map<string, number>();
  for (const { type } of all) counts.set(type, (counts.get(type) ?? 0) + 1);
  return cleanLine([...counts].map(([type, count]) => (count === 1 ? type : `${type} ${numberText(count)}`)).join(', '));
}
