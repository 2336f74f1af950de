import { type AddressSpan, isOneAddress, spanOf } from '../../../text/address-span.ts';
import { cleanLine } from '../../../text/clean.ts';

/** The assigned country codes of ISO 3166-1 alpha-2, as geographic databases use them. */
const codes =
  'AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW';

export const countryCodes: ReadonlySet<string> = new Set(codes.split(' '));

export function countryName(code: string): string | undefined {
  if (!countryCodes.has(code)) return undefined;
  return new Intl.DisplayNames(['en'], { type: 'region', fallback: 'code' }).of(code) ?? code;
}

export type BanTarget =
  | { scope: 'Ip' | 'Range'; value: string; span: AddressSpan; shown: string }
  | { scope: 'Country'; value: string; shown: string };

/** Parses an address, a range or a country code; returns a sentence if the text is none of them. */
export function parseBanTarget(text: string): BanTarget | string {
  const written = text.trim();
  if (written === '') return 'Enter an address, a range or a country: 192.0.2.7, 192.0.2.0/24, 2001:db8::/32, FR.';
  const span = spanOf(written);
  if (span) return { scope: isOneAddress(span) ? 'Ip' : 'Range', value: span.text, span, shown: span.text };
  const code = written.toUpperCase();
  if (/^[A-Z]{2}$/.test(code)) {
    const name = countryName(code);
    if (name !== undefined) return { scope: 'Country', value: code, shown: `${name} (${code})` };
    if (code === 'UK') return 'Unknown country code "UK". Use GB for the United Kingdom.';
    return `Unknown country code "${code}". Use two letters (ISO 3166), such as FR.`;
  }
  if (/%/.test(written)) return 'Remove the zone (% and the text after it).';
  return `The target must be an address, a range or a country (192.0.2.7, 192.0.2.0/24, 2001:db8::/32 or FR), not "${cleanLine(written).slice(0, 60)}".`;
}

export function targetWords(target: Pick<BanTarget, 'scope' | 'value'>): readonly string[] {
  if (target.scope === 'Ip') return ['--ip', target.value];
  if (target.scope === 'Range') return ['--range', target.value];
  return ['--scope', target.scope, '--value', target.value];
}
