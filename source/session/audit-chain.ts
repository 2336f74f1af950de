import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Right } from '../grants/grant.ts';
import type { Identity } from './identity.ts';

/** How an act ended. `already`: the world said that it had happened before. */
export type AuditOutcome = 'done' | 'already' | 'failed' | 'refused' | 'cancelled';

/** What is told of an act, before it and after it. Nothing in here may be a secret. */
export interface AuditEvent {
  run: string;
  flow: string;
  act: string;
  phase: 'before' | 'after';
  outcome?: AuditOutcome;
  right: Right;
  request: string;
  host: string;
  component?: string;
  /** Answers given in this run; secret ones as `(secret)`. */
  answers?: Readonly<Record<string, readonly string[]>>;
  /** Why it failed or was refused. */
  message?: string;
}

export interface AuditEntry extends AuditEvent {
  /** Counts up by one per installation. */
  n: number;
  /** ISO 8601, UTC. */
  at: string;
  who: Identity;
  /** Which key made the MAC: the first 8 hex digits of its SHA-256. */
  key: string;
}

export interface ChainHead {
  n: number;
  mac: string;
}

/** What stands before the first entry. */
export const genesis: ChainHead = { n: 0, mac: '0'.repeat(64) };

export type ChainProblemKind = 'changed' | 'removed' | 'inserted' | 'truncated' | 'unreadable';

export interface ChainProblem {
  /** Line in the file, from 1. */
  line: number;
  kind: ChainProblemKind;
  message: string;
}

export interface ChainReport {
  entries: number;
  problems: readonly ChainProblem[];
  /** Entries whose key could not be had: neither good nor bad. */
  unchecked: number;
}

export function keyIdOf(key: Uint8Array): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 8);
}

function macOf(key: Uint8Array, previousMac: string, body: string): string {
  return createHmac('sha256', key).update(`${previousMac}\n${body}`).digest('hex');
}

/**
 * An entry as its line: the JSON, with a MAC over the line before's MAC and this line's bytes as its last member. Every byte counts, so a change that
 * JSON would not notice is noticed.
 */
export function sealEntry(entry: Omit<AuditEntry, 'key'>, key: Uint8Array, previousMac: string): { line: string; mac: string } {
  const body = JSON.stringify({ ...entry, key: keyIdOf(key) });
  const mac = macOf(key, previousMac, body);
  return { line: `${body.slice(0, -1)},"mac":"${mac}"}`, mac };
}

interface SealedLine {
  entry: AuditEntry;
  body: string;
  mac: string;
}

export function parseLine(line: string): SealedLine | undefined {
  const match = /^(\{.*),"mac":"([0-9a-f]{64})"\}$/.exec(line);
  if (!match) return undefined;
  const body = `${match[1]}}`;
  try {
    const entry = JSON.parse(body) as AuditEntry;
    if (!Number.isSafeInteger(entry.n) || typeof entry.key !== 'string') return undefined;
    return { entry, body, mac: match[2] ?? '' };
  } catch {
    return undefined;
  }
}

export function follows(sealed: SealedLine, key: Uint8Array, previousMac: string): boolean {
  return timingSafeEqual(Buffer.from(macOf(key, previousMac, sealed.body)), Buffer.from(sealed.mac));
}

function range(from: number, to: number): string {
  return from === to ? `Entry ${from} is` : `Entries ${from} to ${to} are`;
}

/**
 * Goes through the lines in order and tells each place where the chain was broken. `heads` are what the secret stores remember of its end; without
 * them a log that was cut short would look whole.
 */
export async function verifyChain(
  lines: AsyncIterable<{ text: string; partial: boolean }>,
  keys: ReadonlyMap<string, Uint8Array>,
  heads: readonly ChainHead[],
): Promise<ChainReport> {
  const problems: ChainProblem[] = [];
  const macs = new Map<number, string>();
  const wanted = new Set(heads.map((head) => head.n));
  let previous: ChainHead = genesis;
  let lineNumber = 0;
  let entries = 0;
  let unchecked = 0;
  const report = (kind: ChainProblemKind, message: string) => problems.push({ line: lineNumber, kind, message });

  for await (const { text, partial } of lines) {
    lineNumber += 1;
    const sealed = partial ? undefined : parseLine(text);
    if (!sealed) {
      report('unreadable', partial ? 'The last line is not whole.' : 'This line is no entry.');
      continue;
    }
    entries += 1;
    const { entry, mac } = sealed;
    const key = keys.get(entry.key);
    if (entry.n <= previous.n) {
      report('inserted', `Entry ${entry.n} stands after entry ${previous.n}: it was inserted, repeated or moved.`);
      // The line before stays what the next one must follow.
      continue;
    }
    if (!key) unchecked += 1;
    if (entry.n > previous.n + 1) {
      report('removed', `${range(previous.n + 1, entry.n - 1)} missing before this line.`);
    } else if (key && !follows(sealed, key, previous.mac)) {
      report('changed', `Entry ${entry.n} is not what was written.`);
    }
    previous = { n: entry.n, mac };
    if (wanted.has(entry.n)) macs.set(entry.n, mac);
  }

  const last = heads.reduce((highest, head) => (head.n > highest.n ? head : highest), genesis);
  lineNumber += 1;
  if (last.n > previous.n) {
    report('truncated', `${range(previous.n + 1, last.n)} missing at the end.`);
  } else if (heads.length > 0 && previous.n > last.n + 1) {
    // One more than remembered is what a crash between the file and the store leaves.
    report('inserted', `${range(last.n + 1, previous.n)} not known to the secret store.`);
  }
  for (const head of heads) {
    const mac = macs.get(head.n);
    if (mac !== undefined && mac !== head.mac && !problems.some(({ kind }) => kind === 'changed')) {
      report('changed', `Entry ${head.n} is not the one that the secret store remembers.`);
    }
  }
  return { entries, problems, unchecked };
}
