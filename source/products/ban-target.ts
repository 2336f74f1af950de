import { type AddressSpan, isOneAddress, spanOf } from '../text/address-span.ts';
import { cleanLine } from '../text/clean.ts';
import { countryName } from './countries.ts';

/** What a decision is about, in the scopes that bouncers know. */
export type BanTarget =
  | { scope: 'Ip' | 'Range'; value: string; span: AddressSpan; shown: string }
  | { scope: 'Country'; value: string; shown: string };

/** Reads an address, a range or a country's code; a sentence where it is none of them. */
export function parseBanTarget(text: string): BanTarget | string {
  const written = text.trim();
  if (written === '') return 'Write an address, a range or a country: 192.0.2.7, 192.0.2.0/24, 2001:db8::/32, FR.';
  const span = spanOf(written);
  if (span) return { scope: isOneAddress(span) ? 'Ip' : 'Range', value: span.text, span, shown: span.text };
  const code = written.toUpperCase();
  if (/^[A-Z]{2}$/.test(code)) {
    const name = countryName(code);
    if (name !== undefined) return { scope: 'Country', value: code, shown: `${name} (${code})` };
    if (code === 'UK') return 'The code of the United Kingdom is GB.';
    return `${code} is no code of a country (ISO 3166: two letters, FR for France).`;
  }
  if (/%/.test(written)) return 'Leave the zone away (what follows the %).';
  return `"${cleanLine(written).slice(0, 60)}" is no address, range or country: write 192.0.2.7, 192.0.2.0/24, 2001:db8::/32 or FR.`;
}

/** How `cscli` is told. */
export function targetWords(target: Pick<BanTarget, 'scope' | 'value'>): readonly string[] {
  if (target.scope === 'Ip') return ['--ip', target.value];
  if (target.scope === 'Range') return ['--range', target.value];
  return ['--scope', target.scope, '--value', target.value];
}
