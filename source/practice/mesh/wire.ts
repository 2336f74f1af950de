import { stringify } from 'yaml';

/** Nanoseconds since 1970, as the server keeps its times. */
export type Instant = bigint;

/** What Go has where no time was set: the first day of year one. */
export const noTime: Instant = -62_135_596_800_000_000_000n;

/** Milliseconds of a clock with made-up digits below them, so that they look like a real server's. */
export function instantOf(ms: number): Instant {
  return BigInt(Math.floor(ms)) * 1_000_000n + BigInt(Math.floor(Math.random() * 1_000_000));
}

export function msOf(instant: Instant): number {
  return Number(instant / 1_000_000n);
}

function secondsAndNanos(instant: Instant): { seconds: bigint; nanos: number } {
  const billion = 1_000_000_000n;
  const rest = ((instant % billion) + billion) % billion;
  return { seconds: (instant - rest) / billion, nanos: Number(rest) };
}

/** RFC 3339 with no, three, six or nine digits behind the point, whichever is enough. */
export function rfc3339(instant: Instant): string {
  const { seconds, nanos } = secondsAndNanos(instant);
  const whole = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  const digits = String(nanos)
    .padStart(9, '0')
    .replace(/^(\d*?)(?:000)*$/, '$1');
  return `${whole}${digits === '' ? '' : `.${digits}`}Z`;
}

type Kind = 'id' | 'string' | 'bool' | 'time' | 'strings' | 'method' | 'message';

interface Field {
  name: string;
  kind: Kind;
  /** First and last minor version that has it. */
  from?: number;
  until?: number;
  of?: Schema;
}

export type Schema = readonly Field[];

export const userSchema: Schema = [
  { name: 'id', kind: 'id' },
  { name: 'name', kind: 'string' },
  { name: 'createdAt', kind: 'time' },
  { name: 'displayName', kind: 'string', from: 24 },
  { name: 'email', kind: 'string', from: 24 },
  { name: 'providerId', kind: 'string', from: 24 },
  { name: 'provider', kind: 'string', from: 24 },
  { name: 'profilePicUrl', kind: 'string', from: 24 },
];

export const keySchema: Schema = [
  { name: 'user', kind: 'message', of: userSchema, from: 26 },
  { name: 'userName', kind: 'string', until: 25 },
  { name: 'id', kind: 'id' },
  { name: 'key', kind: 'string' },
  { name: 'reusable', kind: 'bool' },
  { name: 'ephemeral', kind: 'bool' },
  { name: 'used', kind: 'bool' },
  { name: 'expiration', kind: 'time' },
  { name: 'createdAt', kind: 'time' },
  { name: 'aclTags', kind: 'strings' },
];

export const nodeSchema: Schema = [
  { name: 'id', kind: 'id' },
  { name: 'machineKey', kind: 'string' },
  { name: 'nodeKey', kind: 'string' },
  { name: 'discoKey', kind: 'string' },
  { name: 'ipAddresses', kind: 'strings' },
  { name: 'name', kind: 'string' },
  { name: 'user', kind: 'message', of: userSchema },
  { name: 'lastSeen', kind: 'time' },
  { name: 'expiry', kind: 'time' },
  { name: 'preAuthKey', kind: 'message', of: keySchema },
  { name: 'createdAt', kind: 'time' },
  { name: 'registerMethod', kind: 'method' },
  { name: 'forcedTags', kind: 'strings', until: 27 },
  { name: 'invalidTags', kind: 'strings', until: 27 },
  { name: 'validTags', kind: 'strings', until: 27 },
  { name: 'givenName', kind: 'string' },
  { name: 'online', kind: 'bool' },
  { name: 'approvedRoutes', kind: 'strings', from: 26 },
  { name: 'availableRoutes', kind: 'strings', from: 26 },
  { name: 'subnetRoutes', kind: 'strings', from: 26 },
  { name: 'tags', kind: 'strings', from: 28 },
];

/** Until 0.25 a route is a thing of its own. */
export const routeSchema: Schema = [
  { name: 'id', kind: 'id' },
  { name: 'node', kind: 'message', of: nodeSchema },
  { name: 'prefix', kind: 'string' },
  { name: 'advertised', kind: 'bool' },
  { name: 'enabled', kind: 'bool' },
  { name: 'isPrimary', kind: 'bool' },
  { name: 'createdAt', kind: 'time' },
  { name: 'updatedAt', kind: 'time' },
  { name: 'deletedAt', kind: 'time' },
];

export const apiKeySchema: Schema = [
  { name: 'id', kind: 'id' },
  { name: 'prefix', kind: 'string' },
  { name: 'expiration', kind: 'time' },
  { name: 'createdAt', kind: 'time' },
  { name: 'lastSeen', kind: 'time' },
];

/** 0 unspecified, 1 a pre-auth key, 2 the command line, 3 OIDC. */
const methods = ['REGISTER_METHOD_UNSPECIFIED', 'REGISTER_METHOD_AUTH_KEY', 'REGISTER_METHOD_CLI', 'REGISTER_METHOD_OIDC'];

/**
 * `rest`: camelCase, ids as strings, times as RFC 3339, nothing left out. `go`: what the command line prints up to 0.29, the Go structs of
 * protobuf: snake_case, ids as numbers, times as seconds and nanos, zeros left out. `yaml`: the same structs under lowercase names, whole.
 */
export type Style = 'rest' | 'go' | 'yaml';

export type Message = Readonly<Record<string, unknown>>;

export function encode(message: Message, schema: Schema, style: Style, minor: number): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const field of schema) {
    if (minor < (field.from ?? 0) || minor > (field.until ?? 99)) continue;
    const name = field.name === 'userName' ? 'user' : field.name;
    const value = encodeField(message[field.name], field, style, minor);
    if (style === 'go' && isZero(value)) continue;
    result[style === 'rest' ? name : style === 'go' ? snake(name) : name.toLowerCase()] = value;
  }
  return result;
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function isZero(value: unknown): boolean {
  return (
    value === undefined || value === null || value === '' || value === 0 || value === false || (Array.isArray(value) && value.length === 0)
  );
}

function encodeField(value: unknown, field: Field, style: Style, minor: number): unknown {
  switch (field.kind) {
    case 'id':
      return style === 'rest' ? String(value ?? 0) : (value ?? 0);
    case 'time':
      if (value === undefined || value === null) return null;
      return style === 'rest' ? rfc3339(value as Instant) : stampOf(value as Instant, style);
    case 'method':
      return style === 'rest' ? methods[Number(value ?? 0)] : (value ?? 0);
    case 'message':
      return value && field.of ? encode(value as Message, field.of, style, minor) : null;
    case 'strings':
      return value ?? [];
    case 'bool':
      return value ?? false;
    default:
      return value ?? '';
  }
}

function stampOf(instant: Instant, style: Style): Record<string, number> {
  const { seconds, nanos } = secondsAndNanos(instant);
  if (style === 'go' && nanos === 0) return { seconds: Number(seconds) };
  return { seconds: Number(seconds), nanos };
}

/** JSON as protobuf's writer has it: a blank after each comma. */
export function protoJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(protoJson).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${protoJson(member)}`);
    return `{${members.join(', ')}}`;
  }
  return JSON.stringify(value);
}

/** What the command prints for `-o`: Go's encoder escapes what HTML could read. */
export function printed(value: unknown, format: string): string {
  if (format === 'yaml') return `${stringify(value)}`;
  const text = JSON.stringify(value, undefined, format === 'json' ? '\t' : undefined) ?? 'null';
  return text.replace(/[<>&]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
}
