import { getSystemErrorMessage } from 'node:util';

/** The position in a file of the operator that a fault refers to. Lines and columns count from 1. */
export interface FaultPosition {
  file?: string;
  line?: number;
  column?: number;
  field?: string;
}

/** The first word of a code decides the exit code: `usage` 2, `unreachable` 3, `refused` 4, `interrupted` 130, all others 1. */
export type FaultKind = 'usage' | 'unreachable' | 'refused' | 'interrupted' | 'failed' | 'catalog' | 'engine' | 'config';

/** `kind.what`, for example `unreachable.engine`. Scripts rely on it: additions only. */
export type FaultCode = `${FaultKind}.${string}`;

/** The only error whose message is meant for people. Any other thrown value is a bug. */
export class Fault extends Error {
  readonly where: FaultPosition | undefined;

  /**
   * @param message One sentence: what is wrong. No secrets, no stack trace.
   * @param remedy One sentence: what the operator can do about it.
   */
  constructor(
    readonly code: FaultCode,
    message: string,
    readonly remedy: string,
    { where, cause }: { where?: FaultPosition | undefined; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'Fault';
    this.where = where;
  }

  get kind(): FaultKind {
    return this.code.slice(0, this.code.indexOf('.')) as FaultKind;
  }

  /** The JSON shape of a fault on stderr (docs/json.md). */
  toJSON() {
    return {
      error: { code: this.code, message: this.message, remedy: this.remedy, ...(this.where && { where: this.where }) },
    };
  }
}

const exitCodes: Partial<Record<FaultKind, number>> = { usage: 2, unreachable: 3, refused: 4, interrupted: 130 };

/** The fault of a command that could not determine its answer, such as whether an image is up to date. Nothing failed. */
export const cannotTellExitCode = 5;

export const exitCodeOf = ({ kind }: Pick<Fault, 'kind'>): number => exitCodes[kind] ?? 1;

/** Returns `file:line:column field` as far as it is known, otherwise an empty string. */
export function positionText(where: FaultPosition | undefined): string {
  if (!where) return '';
  const position = [where.file, where.line, where.column].filter((part) => part !== undefined).join(':');
  return [position, where.field].filter(Boolean).join(' ');
}

/** Returns the message of any thrown value, in one line. System errors are in words: `connection refused`, without code and address. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof AggregateError && thrown.errors.length > 0) return messageOf(thrown.errors.at(-1));
  const { errno, syscall } = (thrown ?? {}) as NodeJS.ErrnoException;
  if (thrown instanceof Error && typeof errno === 'number' && syscall !== undefined) return getSystemErrorMessage(errno) ?? thrown.message;
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return text.split('\n', 1)[0] ?? '';
}

export function isAbort(thrown: unknown): boolean {
  return thrown instanceof Error && (thrown.name === 'AbortError' || thrown.name === 'TimeoutError');
}
