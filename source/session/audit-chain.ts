import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Right } from '../grants/grant.ts';
import { parseJson } from '../text/json-value.ts';
import type { Identity } from './identity.ts';

/** How an act ended. `already`: the world said that it had happened before. */
export type AuditOutcome = 'done' | 'already' | 'failed' | 'refused' | 'cancelled';

/** Tells apart what has the same name as something else. */
export interface AuditSubject {
  /** Compose project; missing for a lone container. */
  project?: string;
  service?: string;
  /** Names of the containers. */
  containers?: readonly string[];
}

/** What is told of an act, before it and after it. Nothing in here may be a secret. */
export interface AuditEvent extends AuditSubject {
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
  /** The last entry of the same key, where others or a break come between: without that key nothing before it can be replaced. */
  after?: ChainHead;
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
  /** Entries written without the keychain although there is one: the key file vouches for them, which everything under this account can read. */
  byKeyFile: number;
}

/** What a secret store knows of the chain. */
export interface ChainAnchor {
  kind: 'keychain' | 'file';
  key: Uint8Array;
  head: ChainHead | undefined;
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
  const match = /^(\{.*),"mac":"([0-9a-f]{64})"\}$/s.exec(line);
  if (!match) return undefined;
  const body = `${match[1]}}`;
  try {
    const entry = parseJson(body) as AuditEntry;
    if (!isEntry(entry)) return undefined;
    return { entry, body, mac: match[2] ?? '' };
  } catch {
    return undefined;
  }
}

/** Whatever its MAC may be: one that is not of this shape is none of ours, and cannot be shown. */
function isEntry(entry: AuditEntry): boolean {
  const { n, key, who, containers = [] } = entry;
  const isText = (value: unknown) => typeof value === 'string';
  const isTextIfAny = (value: unknown) => value === undefined || isText(value);
  return (
    Number.isSafeInteger(n) &&
    [key, entry.at, entry.run, entry.flow, entry.act, entry.phase, entry.request, entry.host, who?.user].every(isText) &&
    [entry.outcome, entry.component, entry.project, entry.service, entry.message, who.sudoUser, who.from].every(isTextIfAny) &&
    Array.isArray(containers) &&
    containers.every(isText)
  );
}

export function follows(sealed: SealedLine, key: Uint8Array, previousMac: string): boolean {
  return timingSafeEqual(Buffer.from(macOf(key, previousMac, sealed.body)), Buffer.from(sealed.mac));
}

function range(from: number, to: number): string {
  return from === to ? `Entry ${from} is` : `Entries ${from} to ${to} are`;
}

export function parseHead(text: string): ChainHead | undefined {
  try {
    const head = parseJson(text) as ChainHead;
    // Some room above, so that counting on from it stays exact.
    const counts = Number.isSafeInteger(head.n) && head.n > 0 && head.n < 2 ** 52;
    return counts && /^[0-9a-f]{64}$/.test(head.mac) ? { n: head.n, mac: head.mac } : undefined;
  } catch {
    return undefined;
  }
}

export interface ChainEnd {
  /** What the next entry follows. */
  previous: ChainHead;
  /** The last entry of the writing key, where it is not `previous`. */
  after: ChainHead | undefined;
}

/**
 * Finds what the next entry follows. The head in the strongest store counts: what stands behind it in the log is accepted where it continues from there, written
 * right before a crash or while that store did not answer. A log that does not continue from it is not adopted, so that the break stays visible.
 * @param anchors strongest first
 */
export async function findChainEnd(
  lines: AsyncIterable<{ text: string }>,
  anchors: readonly ChainAnchor[],
  writer: ChainAnchor,
): Promise<ChainEnd> {
  const keys = keysOf(anchors);
  const anchor = anchors.find(({ head }) => head)?.head;
  const highest = Math.max(0, ...anchors.map(({ head }) => head?.n ?? 0));
  let end = anchor ? undefined : genesis;
  let own = writer.head;
  let broken = false;
  for await (const { text } of lines) {
    const sealed = parseLine(text);
    if (!sealed) continue;
    const { entry, mac } = sealed;
    const here = { n: entry.n, mac };
    if (anchor && entry.n <= anchor.n) {
      if (entry.n === anchor.n && mac === anchor.mac) end = anchor;
      continue;
    }
    const key = keys.get(entry.key);
    // Without any head the log is all there is: it is continued as it stands.
    if (!end || (anchor && entry.n !== end.n + 1) || (anchor && key && !follows(sealed, key, end.mac))) {
      broken = true;
      break;
    }
    end = here;
    if (entry.key === keyIdOf(writer.key)) own = here;
  }
  if (!broken && end && end.n >= highest) return { previous: end, after: own && own.n !== end.n ? own : undefined };
  return { previous: { n: highest, mac: anchor?.mac ?? genesis.mac }, after: writer.head };
}

function keysOf(anchors: readonly ChainAnchor[]): Map<string, Uint8Array> {
  return new Map(anchors.map(({ key }) => [keyIdOf(key), key]));
}

/**
 * Goes through the lines in order and reports each position where the chain was broken. The heads are what the secret stores remember of its end; without
 * them a log that was cut short would look whole.
 * @param anchors strongest first
 */
export async function verifyChain(
  lines: AsyncIterable<{ text: string; partial: boolean }>,
  anchors: readonly ChainAnchor[],
): Promise<ChainReport> {
  const problems: ChainProblem[] = [];
  const keys = keysOf(anchors);
  const heads = anchors.flatMap(({ head, kind }) => (head ? [{ ...head, kind }] : []));
  const weak =
    anchors[0]?.kind === 'keychain' ? new Set(anchors.filter(({ kind }) => kind === 'file').map(({ key }) => keyIdOf(key))) : new Set();
  const macs = new Map<number, string>();
  const wanted = new Set(heads.map((head) => head.n));
  const lastOf = new Map<string, ChainHead>();
  let previous: ChainHead = genesis;
  let lineNumber = 0;
  let entries = 0;
  let unchecked = 0;
  let byKeyFile = 0;
  const report = (kind: ChainProblemKind, message: string) => problems.push({ line: lineNumber, kind, message });

  for await (const { text, partial } of lines) {
    lineNumber += 1;
    const sealed = parseLine(text);
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
    if (weak.has(entry.key)) byKeyFile += 1;
    const problem = problemOf(sealed, key, previous, lastOf.get(entry.key));
    if (problem) report(...problem);
    previous = { n: entry.n, mac };
    lastOf.set(entry.key, previous);
    if (wanted.has(entry.n)) macs.set(entry.n, mac);
  }

  const last = heads.reduce((highest, head) => (head.n > highest.n ? head : highest), genesis);
  lineNumber += 1;
  if (last.n > previous.n) report('truncated', `${range(previous.n + 1, last.n)} missing at the end.`);
  for (const head of heads) {
    const mac = macs.get(head.n);
    if (mac !== undefined && mac !== head.mac && !problems.some(({ kind }) => kind === 'changed')) {
      report(
        'changed',
        `Entry ${head.n} is not the one that the ${head.kind === 'file' ? 'key file' : 'keychain'} remembers: the log was replaced or rewritten.`,
      );
    }
  }
  return { entries, problems, unchecked, byKeyFile };
}

function problemOf(
  sealed: SealedLine,
  key: Uint8Array | undefined,
  previous: ChainHead,
  lastOfKey: ChainHead | undefined,
): [ChainProblemKind, string] | undefined {
  const { n, after } = sealed.entry;
  if (n > previous.n + 1) return ['removed', `${range(previous.n + 1, n - 1)} missing before this line.`];
  if (!key) return undefined;
  if (!follows(sealed, key, previous.mac)) {
    return after && follows(sealed, key, after.mac)
      ? ['changed', `Entry ${n} was written after entry ${after.n}, and what stands between them is not what was written.`]
      : ['changed', `Entry ${n} is not what was written.`];
  }
  if (after && (lastOfKey?.n !== after.n || lastOfKey.mac !== after.mac))
    return ['changed', `Entry ${after.n} was written with the same key as entry ${n}, and is not what stands there.`];
  return undefined;
}
