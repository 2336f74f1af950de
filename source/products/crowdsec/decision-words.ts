import { cleanLine } from '../../text/clean.ts';
import { durationText, numberText } from '../../text/quantities.ts';
import type { Alert, Decision } from './client/crowdsec-records.ts';

/** Returns `192.0.2.7` or `Country FR`: addresses have no scope in front. */
export function whatOf({ scope, value }: Pick<Decision, 'scope' | 'value'>): string {
  return /^(?:ip|range)$/i.test(scope) ? cleanLine(value) : cleanLine(`${scope} ${value}`.trim());
}

/** Returns the remaining time of a decision: `45s`, `12m`, `3h59m`, `6d`. */
export function leftText(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  const hours = Math.floor(minutes / 60);
  if (hours < 1 || hours >= 48) return durationText(ms);
  return minutes % 60 === 0 ? `${hours}h` : `${hours}h${String(minutes % 60).padStart(2, '0')}m`;
}

export function kindsOf({ decisions: all }: Pick<Alert, 'decisions'>): string {
  const byType = Map.groupBy(all, ({ type }) => type);
  return cleanLine([...byType].map(([type, { length }]) => (length === 1 ? type : `${type} ${numberText(length)}`)).join(', '));
}
