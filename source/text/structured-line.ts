import { cleanLine } from './clean.ts';
import { type LogLevel, levelKeys, levelNamed } from './log-level.ts';

/** A log line that is made for machines, taken apart. All texts are cleaned: what a JSON string spells out can be anything again. */
export interface StructuredLine {
  format: 'json' | 'logfmt';
  /** What stands before the JSON. */
  prefix: string;
  level: LogLevel | undefined;
  /** As the program wrote it; unix times as RFC 3339. */
  time: string | undefined;
  message: string;
  /** The rest, in the order of the line. Nested values are compact. */
  fields: readonly (readonly [key: string, value: string])[];
  /** Fields beyond the limit. */
  left: number;
}

const messageKeys = ['msg', 'message', '@m', '@mt', 'short_message', 'event', 'log'];
const timeKeys = ['time', 'ts', 'timestamp', '@timestamp', '@t', 't', 'date', 'datetime', 'asctime'];

const prefixCharacters = 200;
const fieldLimit = 100;
const valueCharacters = 4_096;
const lineCharacters = 16_384;
const depthLimit = 5;

/** Takes a line apart that is a JSON object, also behind a prefix, or logfmt with a level or a message. Undefined for every other. Never throws. */
export function structuredLine(text: string): StructuredLine | undefined {
  return jsonLine(text) ?? logfmtLine(text);
}

/** One line that people read, `ERROR message  key=value key=value`, or undefined when the line is no structured one. */
export function readableLine(text: string): string | undefined {
  const line = structuredLine(text);
  return line && layOut(line);
}

/** The time is left out: the log has its own. */
export function layOut({ prefix, level, message, fields, left }: StructuredLine): string {
  const lead = [prefix, level?.toUpperCase().padEnd(5), message].filter(Boolean).join(' ').trimEnd();
  const parts: string[] = [];
  let length = lead.length;
  let shown = 0;
  for (const [key, value] of fields) {
    const part = `${key}=${quoted(value)}`;
    length += part.length + 1;
    if (length > lineCharacters && shown > 0) break;
    parts.push(part);
    shown++;
  }
  const hidden = left + fields.length - shown;
  if (hidden > 0) parts.push(`(${hidden} more)`);
  return [lead, parts.join(' ')].filter(Boolean).join('  ');
}

function jsonLine(text: string): StructuredLine | undefined {
  const start = text.search(/\{\s*"/);
  if (start < 0 || start > prefixCharacters || !/\}\s*$/.test(text.slice(-10))) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text.slice(start));
  } catch {
    return undefined;
  }
  const prefix = cleanLine(text.slice(0, start)).trim();
  return takeApart('json', Object.entries(value as object), prefix);
}

/** The level, the time and the message are found by the names that libraries give them; each is taken once. */
function takeApart(format: 'json' | 'logfmt', entries: [string, unknown][], prefix: string): StructuredLine {
  const values = new Map(entries);
  const messageKey = messageKeys.find((key) => isSaid(values.get(key)));
  const timeKey = timeKeys.find((key) => timeText(values.get(key)) !== undefined);
  let level: LogLevel | undefined;
  const fields: [string, string][] = [];
  let left = 0;
  for (const [key, value] of entries) {
    if (key === messageKey || key === timeKey) continue;
    const named = levelKeys.has(key.toLowerCase()) ? levelNamed(value) : undefined;
    if (named) {
      level ??= named;
      continue;
    }
    if (fields.length < fieldLimit) fields.push([cleanLine(key), compact(value)]);
    else left++;
  }
  return {
    format,
    prefix,
    level,
    time: timeKey === undefined ? undefined : timeText(values.get(timeKey)),
    message: messageKey === undefined ? '' : compact(values.get(messageKey), lineCharacters),
    fields,
    left,
  };
}

function isSaid(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '';
}

function timeText(value: unknown): string | undefined {
  if (typeof value === 'string') return value.length > 0 && value.length <= 64 && /\d/.test(value) ? cleanLine(value) : undefined;
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  // Seconds, milliseconds, microseconds or nanoseconds since 1970, by their size.
  const scale = value > 1e17 ? 1e-6 : value > 1e14 ? 1e-3 : value > 1e11 ? 1 : value > 1e8 ? 1000 : undefined;
  const moment = new Date(value * (scale ?? Number.NaN));
  return Number.isNaN(moment.getTime()) ? undefined : moment.toISOString();
}

/** One value without line breaks, nested ones as `{key:value,key:[1,2]}`. */
function compact(value: unknown, limit = valueCharacters): string {
  const parts: string[] = [];
  let room = limit;
  const put = (part: string) => {
    if (room <= 0) return;
    parts.push(part.length > room ? `${part.slice(0, room)}...` : part);
    room -= part.length;
  };
  const write = (item: unknown, depth: number): void => {
    if (room <= 0) return;
    if (typeof item === 'string') {
      // Cut before it is cleaned, so that what nobody reads costs nothing.
      const cleaned = cleanLine(item.length > room ? item.slice(0, room + 1) : item).trim();
      put(depth === 0 ? cleaned : quoted(cleaned));
    } else if (typeof item !== 'object' || item === null) put(String(item));
    else if (depth === depthLimit) put(Array.isArray(item) ? '[...]' : '{...}');
    else {
      const list = Array.isArray(item);
      put(list ? '[' : '{');
      let first = true;
      for (const [key, member] of Object.entries(item)) {
        if (room <= 0) break;
        if (!first) put(',');
        first = false;
        if (!list) put(`${quoted(cleanLine(key))}:`);
        write(member, depth + 1);
      }
      put(list ? ']' : '}');
    }
  };
  write(value, 0);
  return parts.join('');
}

/** A value that would run into its neighbours stands in quotes. */
function quoted(value: string): string {
  if (value !== '' && !/[\s"=]/.test(value)) return value;
  // What is nested has its own marks.
  if (/^(?:\{.*\}|\[.*\])$/.test(value)) return value;
  return `"${value.replaceAll('"', '\\"')}"`;
}

const pair = /([^\s="]+)=(?:"([^"\\]*(?:\\.[^"\\]*)*)"|([^\s"]*))(?:\s+|$)/y;

function logfmtLine(text: string): StructuredLine | undefined {
  const trimmed = text.trim();
  if (!/^[^\s="]+=/.test(trimmed.slice(0, prefixCharacters))) return undefined;
  const entries: [string, unknown][] = [];
  pair.lastIndex = 0;
  while (pair.lastIndex < trimmed.length) {
    const found = pair.exec(trimmed);
    if (!found) return undefined;
    const [, key = '', inQuotes, bare = ''] = found;
    entries.push([key, inQuotes === undefined ? bare : unescaped(inQuotes)]);
  }
  const line = takeApart('logfmt', entries, '');
  // Without either it is as readable as it stands.
  return line.level === undefined && line.message === '' ? undefined : line;
}

function unescaped(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\(?:u([\da-f]{4})|x([\da-f]{2})|(.))/gis, (_, unicode?: string, hex?: string, character = '') => {
    const code = unicode ?? hex;
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
    return character === 'n' ? '\n' : character === 't' ? '\t' : character === 'r' ? '\r' : character;
  });
}
