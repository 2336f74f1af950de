import { getSystemErrorMessage } from 'node:util';

/** What a fault points at in a file the operator wrote. Lines and columns count from 1. */
export interface FaultPlace {
  file?: string;
  line?: number;
  column?: number;
  field?: string;
}

/**
 * The first word of a fault's code, which decides the exit code.
 * `usage` 2, `unreachable` 3, `refused` 4, `interrupted` 130, everything else 1.
 */
export type FaultKind = 'usage' | 'unreachable' | 'refused' | 'interrupted' | 'failed' | 'catalog' | 'engine' | 'config';

export interface FaultInit {
  /** `kind.what`, for example `unreachable.engine`. Scripts rely on it: additions only. */
  code: `${FaultKind}.${string}`;
  /** One sentence: what was wrong. No secrets, no stack. */
  message: string;
  /** One sentence: what the operator can do about it. */
  remedy: string;
  where?: FaultPlace;
  cause?: unknown;
}

/** The one error a person can read. Anything else that is thrown is a bug. */
export class Fault extends Error {
  readonly code: FaultInit['code'];
  readonly remedy: string;
  readonly where: FaultPlace | undefined;

  constructor({ code, message, remedy, where, cause }: FaultInit) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'Fault';
    this.code = code;
    this.remedy = remedy;
    this.where = where;
  }

  get kind(): FaultKind {
    return this.code.slice(0, this.code.indexOf('.')) as FaultKind;
  }

  /** The JSON shape of a fault on stderr (design.md, "JSON shapes"). */
  toJSON() {
    return {
      error: { code: this.code, message: this.message, remedy: this.remedy, ...(this.where && { where: this.where }) },
    };
  }
}

const exitCodes: Partial<Record<FaultKind, number>> = { usage: 2, unreachable: 3, refused: 4, interrupted: 130 };

/** Of a command that could not find out what was asked, such as whether an image is up to date. Nothing failed. */
export const cannotTellExitCode = 5;

export function exitCodeOf(fault: Fault): number {
  return exitCodes[fault.kind] ?? 1;
}

/** `file:line:column field`, as far as it is known; empty when nothing is. */
export function placeText(where: FaultPlace | undefined): string {
  if (!where) return '';
  const position = [where.file, where.line, where.column].filter((part) => part !== undefined).join(':');
  return [position, where.field].filter(Boolean).join(' ');
}

/** The message of anything that was thrown, in one line. What the system refused is in its words: `connection refused`, without code and address. */
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
