/** What a handler gives back: a status, and a body as JSON, raw bytes or nothing. */
export interface Answer {
  status: number;
  body?: unknown;
  bytes?: Buffer;
  contentType?: string;
}

/** A refusal as the real server words it: `{"errors": [...]}` with a status. */
export class Refusal extends Error {
  readonly status: number;
  readonly errors: readonly string[];

  constructor(status: number, ...errors: string[]) {
    super(errors.join('; '));
    this.status = status;
    this.errors = errors;
  }
}

/** What the server's own machinery wraps once more on its way out: the lines of a list of one. */
export function oneError(text: string): string {
  return `1 error occurred:\n\t* ${text}\n\n`;
}

/** What lies behind a login answers in this envelope. */
export function enveloped(
  requestId: string,
  answer: { data?: unknown; auth?: unknown; warnings?: string[]; leaseSeconds?: number; spread?: boolean },
): Record<string, unknown> {
  return {
    ...(answer.spread && typeof answer.data === 'object' ? answer.data : {}),
    request_id: requestId,
    lease_id: '',
    renewable: false,
    lease_duration: answer.leaseSeconds ?? 0,
    data: answer.data ?? null,
    wrap_info: null,
    warnings: answer.warnings ?? null,
    auth: answer.auth ?? null,
  };
}
