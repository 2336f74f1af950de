export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal';

const levelsBy = (names: Record<LogLevel, string>): ReadonlyMap<string, LogLevel> =>
  new Map(Object.entries(names).flatMap(([level, list]) => list.split(' ').map((name) => [name, level as LogLevel] as const)));

const words = levelsBy({
  trace: 'trace trc trce verbose vrb finest finer silly',
  debug: 'debug dbg dbug debg fine debug1 debug2 debug3 debug4 debug5',
  info: 'info inf information informational notice ntc note log system',
  warn: 'warn warning wrn',
  error: 'error err eror fail severe',
  fatal: 'fatal ftl critical crit crt panic pnc emerg emergency alert',
});
/** Everyday words: levels only between brackets or before a colon. */
const plainWords = new Set(['verbose', 'silly', 'fine', 'finer', 'finest', 'note', 'log', 'system', 'fail', 'alert', 'panic', 'emergency']);

/** Pino and bunyan use tens, Monolog hundreds. */
const numbers = levelsBy({ trace: '10', debug: '20 100', info: '30 200 250', warn: '40 300', error: '50 400', fatal: '60 500 550 600' });
/** RFC 5424: 0 is an emergency, 7 is debug. */
const severities: readonly LogLevel[] = ['fatal', 'fatal', 'fatal', 'error', 'warn', 'info', 'info', 'debug'];
const letters: Readonly<Record<string, LogLevel>> = { I: 'info', W: 'warn', E: 'error', F: 'fatal', D: 'debug', V: 'debug' };
const redisMarks: Readonly<Record<string, LogLevel>> = { '.': 'debug', '-': 'debug', '*': 'info', '#': 'warn' };

export function levelNamed(name: unknown): LogLevel | undefined {
  if (typeof name === 'number') return numbers.get(String(name));
  if (typeof name !== 'string' || name.length > 20) return undefined;
  return words.get(name.trim().toLowerCase());
}

export const levelKeys: ReadonlySet<string> = new Set('level lvl severity levelname level_name loglevel log.level @l'.split(' '));

const fieldInJson = /"(?:level|lvl|severity|levelname|level_name|loglevel|log\.level|@l)"\s*:\s*(?:"([A-Za-z ]{1,16})"|(\d{1,3})\b)/gi;
const fieldInLogfmt = /(?:^|\s)(?:level|lvl|severity|loglevel)=(?:"([A-Za-z]{1,16})"|([A-Za-z]{1,16})(?=\s|$))/i;
const klog = /^([IWEF])\d{4} \d\d:\d\d:\d\d/;
const redis = /^\d+:[XCSM] \d\d [A-Z][a-z]{2} \d{4} [\d:.]+ ([.\-*#]) /;
const mongo = /^\{"t":\{"\$date":"[^"]{1,40}"\},\s*"s":"([IWEFD])/;
const syslog = /^<(\d{1,3})>/;
const access = /"[A-Z]{3,10} [^"]{0,2000} HTTP\/\d(?:\.\d)?" ([45])\d\d(?:\s|$)/;

const headCharacters = 200;
const headWords = 12;
const fieldCharacters = 4_096;

/**
 * Returns the level of a cleaned line where programs write it: in a field (JSON, logfmt) or among the timestamps, names and brackets
 * before the message. A word within the message does not count. An access log has no level; there the status decides: 5xx is an error,
 * 4xx a warning.
 */
export function levelOf(text: string): LogLevel | undefined {
  const brace = text.indexOf('{');
  if (brace >= 0 && text.includes('"', brace)) {
    const json = levelInJson(text.slice(0, fieldCharacters));
    if (json) return json;
  }
  if (text.includes('=')) {
    const logfmt = levelInLogfmt(text.slice(0, fieldCharacters));
    if (logfmt) return logfmt;
  }
  const inHead = levelInHead(text.slice(0, headCharacters));
  if (inHead) return inHead;
  if (!text.includes(' HTTP/')) return undefined;
  const status = access.exec(text.slice(0, fieldCharacters))?.[1];
  return status === '5' ? 'error' : status === '4' ? 'warn' : undefined;
}

function levelInJson(text: string): LogLevel | undefined {
  for (const [, word, number] of text.matchAll(fieldInJson)) {
    const level = word === undefined ? levelNamed(Number(number)) : levelNamed(word);
    if (level) return level;
  }
  const letter = mongo.exec(text)?.[1];
  return letter === undefined ? undefined : letters[letter];
}

function levelInLogfmt(text: string): LogLevel | undefined {
  const found = fieldInLogfmt.exec(text);
  if (!found) return undefined;
  // A quoted word is quoted text, not a level.
  let quotes = 0;
  for (let at = text.indexOf('"'); at >= 0 && at < found.index; at = text.indexOf('"', at + 1)) if (text[at - 1] !== '\\') quotes++;
  return quotes % 2 === 0 ? levelNamed(found[1] ?? found[2]) : undefined;
}

const separators = /[\s|>–—-]*/y;
const bracketed = /\[([^\]]*)\]|\(([^)]*)\)/y;
const word = /[^\s[\]()|"]+/y;
const timeLike =
  /^(?:[\d:.,/+Z-]*\d[\d:.,/+Z-]*(?:T[\d:.,+Z-]+)?|\d{4}-\d\d-\d\dT\S+|UTC|GMT|BST|IST|JST|MSK|CES?T|EES?T|WES?T|[CEMP][SD]T|AE[SD]T|NZ[SD]T|Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec),?$/;

function levelInHead(head: string): LogLevel | undefined {
  const letter = klog.exec(head)?.[1] ?? mongo.exec(head)?.[1];
  if (letter !== undefined) return letters[letter];
  const mark = redis.exec(head)?.[1];
  if (mark !== undefined) return redisMarks[mark];
  const priority = syslog.exec(head)?.[1];
  if (priority !== undefined && Number(priority) < 192) return severities[Number(priority) & 7];

  let at = 0;
  for (let count = 0; count < headWords; count++) {
    at = after(separators, head, at);
    const end = after(bracketed, head, at);
    if (end > at) {
      const level = levelInBrackets(head.slice(at, end));
      if (level) return level;
      // `[thread]: message`
      at = head[end] === ':' ? end + 1 : end;
      continue;
    }
    const wordEnd = after(word, head, at);
    if (wordEnd === at) return undefined;
    const found = head.slice(at, wordEnd);
    const level = levelInWord(found);
    if (level) return level;
    at = wordEnd;
    if (!isPrefix(found, head.slice(wordEnd, wordEnd + 3))) return undefined;
  }
  return undefined;
}

/** `[ERROR]`, `[INFO ]`, `[core:error]`, `[Server thread/INFO]`, `[10:00:00 INF]`; no level in round brackets. */
function levelInBrackets(text: string): LogLevel | undefined {
  const words = text
    .slice(1, -1)
    .trim()
    .split(/[\s/:]/);
  return text.startsWith('[') ? levelNamed(words.at(-1)) : undefined;
}

function after(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

/** `ERROR`, `ERROR:`, `error:`, `WARNING:root:message`. In lower case without a colon it is an ordinary word. */
function levelInWord(found: string): LogLevel | undefined {
  const colon = found.indexOf(':');
  const name = colon < 0 ? found : found.slice(0, colon);
  const level = levelNamed(name);
  if (!level) return undefined;
  if (colon >= 0) return colon === found.length - 1 || name === name.toUpperCase() ? level : undefined;
  return name === name.toUpperCase() && !plainWords.has(name.toLowerCase()) ? level : undefined;
}

/**
 * Checks whether this text precedes a level rather than starts a message: a time, the name of a logger, text set off by ` - `, ` | ` or
 * `: [`.
 */
function isPrefix(found: string, next: string): boolean {
  if (timeLike.test(found)) return true;
  if (/^\w+(?:[.:]+\w+)+:?$/.test(found)) return true;
  if (found.endsWith(':')) return next.startsWith(' [');
  return /^ (?:- |\| ?)/.test(next) || next.startsWith('|');
}
