/** A request to a handler. `GET ?list=true` is a list: Node's parser refuses the method LIST. */
export interface Request {
  kind: 'read' | 'write' | 'delete' | 'list';
  /** Without `/v1/`. */
  path: string;
  query: URLSearchParams;
  body: Body;
}

export type Body = Record<string, unknown>;

/** The contents of the envelope, or a status without a body. */
export interface Handled {
  status?: number;
  data?: unknown;
  auth?: unknown;
  warnings?: string[];
  leaseSeconds?: number;
  /** Old calls have their data at the top of the answer too. */
  spread?: boolean;
  bytes?: Buffer;
}

export const done: Handled = { status: 204 };

/** A refusal in the words of the real server: `{"errors": [...]}` with a status. */
export class Refusal extends Error {
  readonly status: number;
  readonly errors: readonly string[];

  constructor(status: number, ...errors: string[]) {
    super(errors.join('; '));
    this.status = status;
    this.errors = errors;
  }
}

/** The form of Go's multierror with one error. */
export const oneError = (text: string) => `1 error occurred:\n\t* ${text}\n\n`;
export const unsupportedPath = () => new Refusal(404, oneError('unsupported path'));
export const unsupportedOperation = () => new Refusal(405, oneError('unsupported operation'));

/** A list of names, which is refused if it is empty. */
export function listed(keys: string[]): Handled {
  if (keys.length === 0) throw new Refusal(404);
  return { data: { keys } };
}

/** Seconds from `90`, `"90"` or `"20m"`. */
export function secondsOf(value: unknown): number | undefined {
  const [, count, unit] = /^(\d+)([smh]?)$/.exec(String(value ?? '')) ?? [];
  return count === undefined ? undefined : Number(count) * (unit === 'h' ? 3600 : unit === 'm' ? 60 : 1);
}

/** A list from `"a,b"` or `["a", "b"]`. */
export function namesOf(value: unknown): string[] {
  const texts = [value ?? []].flat().flatMap((text) => String(text).split(','));
  return texts.map((name) => name.trim()).filter(Boolean);
}
