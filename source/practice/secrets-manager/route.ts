/** A request behind the login, as handlers see it. `GET ?list=true` is a list: the method LIST does not get through Node's parser. */
export interface Request {
  kind: 'read' | 'write' | 'delete' | 'list';
  /** Without `/v1/`. */
  path: string;
  query: URLSearchParams;
  body: Record<string, unknown>;
}

/** What a handler behind the login gives back: the envelope's contents, or a bare status. */
export interface Handled {
  status?: number;
  data?: unknown;
  auth?: unknown;
  warnings?: string[];
  leaseSeconds?: number;
  /** Old calls carry their data at the top of the answer too. */
  spread?: boolean;
  bytes?: Buffer;
}

/** Seconds from `90`, `"90"`, `"20m"`, `"1h"`, as the server's own fields take them. */
export function secondsOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || value === '') return undefined;
  const units: Record<string, number> = { '': 1, s: 1, m: 60, h: 3600, d: 86_400 };
  const pieces = [...value.matchAll(/(\d+)([smhd]?)/g)];
  return pieces.reduce((sum, [, count, unit]) => sum + Number(count) * (units[unit ?? ''] ?? 1), 0);
}

/** A list from `"a,b"` or `["a", "b"]`. */
export function namesOf(value: unknown): string[] {
  const list = Array.isArray(value) ? value : typeof value === 'string' ? value.split(',') : [];
  return list.map((name) => String(name).trim()).filter((name) => name !== '');
}
