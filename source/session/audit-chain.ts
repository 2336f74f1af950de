import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Right } from '../grants/grant.ts';
import { objectOf, parsedJson } from '../text/json-value.ts';
import type { Identity } from './identity.ts';

/** The result of an action. `already`: a check showed that it had happened before. */
export type AuditOutcome = 'done' | 'already' | 'failed' | 'refused' | 'cancelled';

export interface AuditSubject {
  /** Compose project; missing for a lone container. */
  project?: string;
  service?: string;
  containers?: readonly string[];
}

/** The audited facts of an action, recorded before and after it. None of them may be a secret. */
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
  /** Answers given in this run; secret answers are recorded as `(secret)`. */
  answers?: Readonly<Record<string, readonly string[]>>;
  message?: string;
}

export interface AuditEntry extends AuditEvent {
  /** Counts up by one per installation. */
  n: number;
  /** ISO 8601, UTC. */
  at: string;
  who: Identity;
  /** The key of the MAC: the first 8 hex digits of its SHA-256. */
  key: string;
  /** The last entry of the same key, if other keys or a break come in between: without that key no earlier entry can be replaced. */
  after?: ChainHead;
}

export interface ChainHead {
  n: number;
  mac: string;
}

export const genesis: ChainHead = { n: 0, mac: '0'.repeat(64) };

type ChainProblemKind = 'changed' | 'removed' | 'inserted' | 'truncated' | 'unreadable';

export interface ChainReport {
  entries: number;
  problems: readonly { line: number; kind: ChainProblemKind; message: string }[];
  /** Entries whose key is not available: neither valid nor invalid. */
  unchecked: number;
  /** Entries written without the keychain although one exists: every program of this account can read the key file. */
  byKeyFile: number;
}

export interface ChainAnchor {
  kind: 'keychain' | 'file';
  key: Uint8Array;
  head: ChainHead | undefined;
}

const keyIdOf = (key: Uint8Array): string => createHash('sha256').update(key).digest('hex').slice(0, 8);

const macOf = (key: Uint8Array, previousMac: string, body: string): string =>
  createHmac('sha256', key).update(`${previousMac}\n${body}`).digest('hex');

/**
 * Formats an entry as its line: the JSON, whose last member is a MAC over the MAC of the previous line and the bytes of this line. Every
 * byte counts, so that even changes that JSON parsing ignores are detected.
 */
export function sealEntry(entry: Omit<AuditEntry, 'key'>, key: Uint8Array, previousMac: string): { line: string; mac: string } {
  const body = JSON.stringify({ ...entry, key: keyIdOf(key) });
  const mac = macOf(key, previousMac, body);
  return { line: `${body.slice(0, -1)},"mac":"${mac}"}`, mac };
}

type SealedLine = NonNullable<ReturnType<typeof parseLine>>;

export function parseLine(line: string) {
  const [, start = '', mac = ''] = /^(\{.*),"mac":"([0-9a-f]{64})"\}$/s.exec(line) ?? [];
  const body = `${start}}`;
  const entry = parsedJson(body) as AuditEntry | undefined;
  return entry && isEntry(entry) ? { entry, body, mac } : undefined;
}

/** Checked whatever its MAC is: an entry of another shape is not ours, and cannot be shown. */
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

function follows(sealed: SealedLine, key: Uint8Array, previousMac: string): boolean {
  return timingSafeEqual(Buffer.from(macOf(key, previousMac, sealed.body)), Buffer.from(sealed.mac));
}

const range = (from: number, to: number): string => (from === to ? `Entry ${from} is` : `Entries ${from} to ${to} are`);

export function parseHead(text: string): ChainHead | undefined {
  const { n = 0, mac } = (objectOf(parsedJson(text)) ?? {}) as Partial<ChainHead>;
  // Leaves a margin above, so that counting on from this number stays exact.
  const counts = Number.isSafeInteger(n) && n > 0 && n < 2 ** 52;
  return counts && mac !== undefined && /^[0-9a-f]{64}$/.test(mac) ? { n, mac } : undefined;
}

/**
 * Finds the entry that the next one follows. The head in the strongest store decides: later entries of the log are accepted if they
 * continue from it (they were written right before a crash, or while that store did not respond). A log that does not continue from the
 * head is not adopted, so that the break stays visible. `after`: the last entry of the writing key, if it is not `previous`.
 * @param anchors strongest first
 */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: the rules depend on the entries before, and are read together
export async function findChainEnd(lines: AsyncIterable<{ text: string }>, anchors: readonly ChainAnchor[], writer: ChainAnchor) {
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
    // Without any head the log is the only evidence: it is continued as it is.
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
 * Reports each position where the chain is broken. The heads are the last entries that the secret stores remember; without them a
 * truncated log would look complete.
 * @param anchors strongest first
 */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: the rules depend on the entries before, and are read together
export async function verifyChain(lines: AsyncIterable<{ text: string; partial: boolean }>, anchors: readonly ChainAnchor[]) {
  const problems: ChainReport['problems'][number][] = [];
  const keys = keysOf(anchors);
  const heads = anchors.flatMap(({ head, kind }) => (head ? [{ ...head, kind }] : []));
  const keyFiles = anchors[0]?.kind === 'keychain' ? anchors.filter(({ kind }) => kind === 'file') : [];
  const weak = new Set(keyFiles.map(({ key }) => keyIdOf(key)));
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
      report('unreadable', partial ? 'The last line is incomplete.' : 'This line is not an audit entry.');
      continue;
    }
    entries += 1;
    const { entry, mac } = sealed;
    const key = keys.get(entry.key);
    if (entry.n <= previous.n) {
      report('inserted', `Entry ${entry.n} follows entry ${previous.n}: it was inserted, repeated or moved.`);
      // The next entry must still follow the previous line.
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
    if (mac === undefined || mac === head.mac || problems.some(({ kind }) => kind === 'changed')) continue;
    const store = head.kind === 'file' ? 'key file' : 'keychain';
    report('changed', `Entry ${head.n} differs from the one recorded in the ${store}: the log was replaced or rewritten.`);
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
      ? ['changed', `Entry ${n} was written after entry ${after.n}, and the entries between them were changed.`]
      : ['changed', `Entry ${n} was changed.`];
  }
  if (after && (lastOfKey?.n !== after.n || lastOfKey.mac !== after.mac))
    return ['changed', `Entry ${after.n} was changed: it does not match its record in entry ${n}.`];
  return undefined;
}
