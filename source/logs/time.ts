/** Start and end of a range in a text, in UTF-16 units. */
export interface TextRange {
  start: number;
  end: number;
}

const clock = String.raw`(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)(?:[.,:]\d{1,9})?`;
const numericDate = String.raw`(?<year>\d{4})(?<dash>[-/.])(?<month>\d\d)\k<dash>(?<day>\d\d)[T ]${clock}`;
const zone = '(?: ?(?:Z|UTC|GMT|BST|IST|JST|MSK|CES?T|EES?T|WES?T|[CEMP][SD]T|AE[SD]T|NZ[SD]T|[+-]\\d\\d(?::?\\d\\d)?))?';
const monthName = '(?<monthName>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
const wordDate = String.raw`(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?${monthName} +(?<day>\d\d?) ${clock}(?: (?<year>\d{4}))?`;
const separator = String.raw`(?=[\s|]|$)\s*(?:[|-](?:\s+|$))?`;

/** Each has a group `time` that covers the time with everything that is removed along with it. */
const patterns: readonly RegExp[] = [
  ...[numericDate, wordDate, clock].flatMap((time) => [
    new RegExp(`^(?<time>${time}${zone}${separator})`, 'd'),
    new RegExp(String.raw`^(?<time>\[${time}${zone}\](?:(?=\[)|${separator}))`, 'd'),
  ]),
  // klog: `I1120 12:00:00.123456       1 main.go:12] text`; the letter is the level.
  new RegExp(String.raw`^[IWEF](?<time>(?<month>\d\d)(?<day>\d\d) ${clock}\s*)(?=\s)`, 'd'),
  // The common log format of web servers: `192.0.2.1 - - [20/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200`.
  new RegExp(String.raw`^\S{1,64} \S{1,64} \S{1,64} (?<time>\[(?<day>\d\d)/${monthName}/(?<year>\d{4}):${clock} [+-]\d{4}\] )(?=")`, 'd'),
  // CrowdSec: `192.0.2.1 - [Fri, 20 Nov 2026 10:00:00 UTC] "GET /v1/decisions HTTP/1.1 200"`, after the level in its own field.
  new RegExp(
    String.raw`^(?:[A-Z]{4,5} +)?\S{1,64} - (?<time>\[[A-Z][a-z]{2}, (?<day>\d\d) ${monthName} (?<year>\d{4}) ${clock} UTC\] )(?=")`,
    'd',
  ),
  // Gin: `[GIN] 2026/11/20 - 10:00:00 | 200 |`.
  new RegExp(String.raw`^\[GIN\] (?<time>(?<year>\d{4})/(?<month>\d\d)/(?<day>\d\d) - ${clock} \| )`, 'd'),
  // A program and its process: `OSPD[7] 2026-11-20 10:00:00,123: INFO: text`.
  new RegExp(String.raw`^[\w.-]{1,32}\[\d{1,7}\]:? (?<time>${numericDate}${zone}:? )`, 'd'),
  // gvmd: `md manage:   INFO:2026-11-20 10h00.00 UTC:123: text`.
  /^\w{1,16} +\w{1,16}: *[A-Z]{1,8}:(?<time>(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d) (?<hour>\d\d)h(?<minute>\d\d)\.(?<second>\d\d) [A-Z]{1,5}:)(?=\d)/d,
  // Redis: `1:M 20 Nov 2026 10:00:00.123 * text`.
  new RegExp(String.raw`^\d{1,7}:[XCSM] (?<time>(?<day>\d\d) ${monthName} (?<year>\d{4}) ${clock} )`, 'd'),
];

const monthNames = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
const headCharacters = 300;
const lateMs = 10_000;
const quarterMs = 15 * 60_000;
/** The largest offset of a time zone from UTC. */
const zoneMs = 14 * 60 * 60_000;

/**
 * Returns the range of a line's own time, in its first words, which need not be shown beside the time at which the engine received the
 * line. Undefined if the line has no time, nothing else, or another time: a program that prints an old log needs its times. Zones are not
 * parsed: all offsets are multiples of 15 minutes.
 */
export function ownTime(text: string, timeMs: number | undefined): TextRange | undefined {
  if (timeMs === undefined) return undefined;
  const head = text.slice(0, headCharacters);
  for (const pattern of patterns) {
    const found = pattern.exec(head);
    const range = found?.indices?.groups?.time;
    if (!found?.groups || !range) continue;
    const [start, end] = range;
    if (text.length - (end - start) < 2 || !isNear(statedMs(found.groups, timeMs), timeMs)) return undefined;
    return { start, end };
  }
  return undefined;
}

/** Parses as UTC. Missing fields are those of `nearMs`. */
function statedMs(stated: Readonly<Record<string, string | undefined>>, nearMs: number): number {
  const near = new Date(nearMs);
  const { year, month, monthName: name, day, hour, minute, second } = stated;
  const monthAt = name !== undefined ? monthNames.indexOf(name) : month !== undefined ? Number(month) - 1 : near.getUTCMonth();
  const at = (yearAt: number) => Date.UTC(yearAt, monthAt, Number(day ?? near.getUTCDate()), Number(hour), Number(minute), Number(second));
  const years = year !== undefined ? [Number(year)] : [-1, 0, 1].map((step) => near.getUTCFullYear() + step);
  const nearest = years.map(at).toSorted((one, other) => Math.abs(one - nearMs) - Math.abs(other - nearMs))[0] ?? Number.NaN;
  if (day !== undefined) return nearest;
  // Without a date, the nearest such time.
  const days = Math.round((nearMs - nearest) / 86_400_000);
  return nearest + days * 86_400_000;
}

function isNear(stated: number, timeMs: number): boolean {
  const away = Math.abs(stated - timeMs);
  const beside = away % quarterMs;
  return away <= zoneMs + lateMs && Math.min(beside, quarterMs - beside) <= lateMs;
}
