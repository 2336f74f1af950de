import { cleanLine } from '../text/clean.ts';
import { unlessThrown } from '../text/unless-thrown.ts';
import { type LogLevel, levelKeys, levelNamed } from './level.ts';

/** A machine-readable log line, parsed, without its time. All texts are cleaned: a JSON string can encode any character. */
interface StructuredLine {
  prefix: string;
  level: LogLevel | undefined;
  message: string;
  /** The other fields, in the order of the line. Nested values are compact. */
  fields: readonly (readonly [key: string, value: string])[];
  left: number;
}

const messageKeys = ['msg', 'message', '@m', '@mt', 'short_message', 'event', 'log'];
const timeKeys = ['time', 'ts', 'timestamp', '@timestamp', '@t', 't', 'date', 'datetime', 'asctime'];

const prefixCharacters = 200;
const fieldLimit = 100;
const valueCharacters = 4_096;
const lineCharacters = 16_384;
const depthLimit = 5;

/**
 * Returns one readable line, `ERROR message  key=value key=value`, for a JSON object, also after a prefix, or for logfmt with a level or a
 * message; undefined for any other line. The time is left out: the log has its own. Never throws.
 */
export function readableLine(text: string): string | undefined {
  const line = jsonLine(text) ?? logfmtLine(text);
  if (!line) return undefined;
  const { prefix, level, message, fields, left } = line;
  const lead = [prefix, level?.toUpperCase().padEnd(5), message].filter(Boolean).join(' ').trimEnd();
  const parts: string[] = [];
  let length = lead.length;
  for (const [key, value] of fields) {
    const part = `${key}=${quoted(value)}`;
    length += part.length + 1;
    if (length > lineCharacters && parts.length > 0) break;
    parts.push(part);
  }
  const hidden = left + fields.length - parts.length;
  if (hidden > 0) parts.push(`(${hidden} more)`);
  return [lead, parts.join(' ')].filter(Boolean).join('  ');
}

function jsonLine(text: string): StructuredLine | undefined {
  const start = text.search(/\{\s*"/);
  if (start < 0 || start > prefixCharacters || !/\}\s*$/.test(text.slice(-10))) return undefined;
  const value = unlessThrown(() => JSON.parse(text.slice(start)) as object, undefined);
  if (value === undefined) return undefined;
  const prefix = cleanLine(text.slice(0, start)).trim();
  return split(Object.entries(value), prefix);
}

/** Finds level, time and message by the field names of common libraries; each is used once. */
function split(entries: [string, unknown][], prefix: string): StructuredLine {
  const values = new Map(entries);
  const messageKey = messageKeys.find((key) => isText(values.get(key)));
  const timeKey = timeKeys.find((key) => isTime(values.get(key)));
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
  const message = messageKey === undefined ? '' : compact(values.get(messageKey), lineCharacters);
  return { prefix, level, message, fields, left };
}

const isText = (value: unknown): boolean => typeof value === 'string' && value.trim() !== '';

function isTime(value: unknown): boolean {
  if (typeof value === 'string') return value.length <= 64 && /\d/.test(value);
  // From seconds to nanoseconds since 1970: up to the furthest moment that a Date can hold.
  return typeof value === 'number' && value > 1e8 && value <= 8.64e21;
}

/** Formats one value without line breaks, nested ones as `{key:value,key:[1,2]}`. */
function compact(value: unknown, limit = valueCharacters): string {
  const parts: string[] = [];
  let room = limit;
  const put = (part: string) => {
    if (room <= 0) return;
    parts.push(part.length > room ? `${part.slice(0, room)}...` : part);
    room -= part.length;
  };
  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one case for each kind of value
  const write = (item: unknown, depth: number): void => {
    if (room <= 0) return;
    if (typeof item === 'string') {
      // Cut before it is cleaned, so that unread text costs nothing.
      const cleaned = cleanLine(item.length > room ? item.slice(0, room + 1) : item).trim();
      put(depth === 0 ? cleaned : quoted(cleaned));
    } else if (typeof item !== 'object' || item === null) put(String(item));
    else if (depth === depthLimit) put(Array.isArray(item) ? '[...]' : '{...}');
    else {
      const isList = Array.isArray(item);
      put(isList ? '[' : '{');
      for (const [index, [key, member]] of Object.entries(item).entries()) {
        if (room <= 0) break;
        if (index > 0) put(',');
        if (!isList) put(`${quoted(cleanLine(key))}:`);
        write(member, depth + 1);
      }
      put(isList ? ']' : '}');
    }
  };
  write(value, 0);
  return parts.join('');
}

/** Quotes a value that could be confused with its neighbours. */
function quoted(value: string): string {
  if (value !== '' && !/[\s"=]/.test(value)) return value;
  // Nested values have their own delimiters.
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
  const line = split(entries, '');
  // Without either, it is already readable.
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
