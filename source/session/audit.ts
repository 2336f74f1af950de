import { createHash, randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { withFileLock } from '../config/file-lock.ts';
import { appendLine, dropPartialLine, readLines, readTail } from '../config/line-file.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import type { SecretStore } from '../secrets/secret-store.ts';
import {
  type AuditEntry,
  type AuditEvent,
  type ChainHead,
  type ChainReport,
  follows,
  genesis,
  keyIdOf,
  parseLine,
  sealEntry,
  verifyChain,
} from './audit-chain.ts';
import type { Identity } from './identity.ts';

export interface AuditReport extends ChainReport {
  path: string;
  /** Where the key that vouches for new entries rests; undefined before the first entry. */
  keptIn: SecretStore['kind'] | undefined;
  /** Secret stores that did not answer, and why. */
  away: readonly { kind: SecretStore['kind']; reason: string }[];
}

/** The log of everything that was changed, or was tried to be. One chain per installation. */
export interface Audit {
  /** On the disk and linked into the chain when it returns. Throws `failed.audit`. */
  record(event: AuditEvent): Promise<void>;
  /** Oldest first. Lines that are no entries are left out: `verify` tells of them. */
  entries(): AsyncIterable<AuditEntry>;
  verify(): Promise<AuditReport>;
}

export interface AuditOptions {
  /** The log itself. */
  path: string;
  /** Best first. The first that answers keeps key and head; a keychain that is locked today is passed over, not waited for. */
  stores: readonly SecretStore[];
  identity: Identity;
  now?: () => Date;
}

interface Holder {
  store: SecretStore;
  key: Uint8Array;
  head: ChainHead | undefined;
}

/** More than any entry takes: enough to find the last line. */
const tailBytes = 256 * 1024;
const textLimit = 2_000;

export function openAudit({ path, stores, identity, now = () => new Date() }: AuditOptions): Audit {
  // Two installations on one machine share a keychain.
  const installation = createHash('sha256').update(resolve(path)).digest('hex').slice(0, 12);
  const keyName = `audit-key ${installation}`;
  const headName = `audit-head ${installation}`;
  // Within a process entries queue here, so that the lock is asked for once at a time.
  let queue: Promise<unknown> = Promise.resolve();

  async function holderOf(store: SecretStore): Promise<Holder | undefined> {
    const stored = await store.get(keyName);
    if (stored === undefined) return undefined;
    const head = await store.get(headName);
    return { store, key: Buffer.from(stored, 'base64'), head: head === undefined ? undefined : (JSON.parse(head) as ChainHead) };
  }

  /** Every store that holds a key now, and the ones that did not answer. */
  async function survey() {
    const holders: Holder[] = [];
    const empty: SecretStore[] = [];
    const away: { kind: SecretStore['kind']; reason: string }[] = [];
    for (const store of stores) {
      try {
        const holder = await holderOf(store);
        if (holder) holders.push(holder);
        else empty.push(store);
      } catch (error) {
        away.push({ kind: store.kind, reason: messageOf(error) });
      }
    }
    return { holders, empty, away };
  }

  /** The best store that answers and lets itself be written to; it gets a key when it has none. */
  async function writerAmong(holders: Holder[], empty: readonly SecretStore[]): Promise<Holder> {
    let refusal: unknown;
    for (const store of stores) {
      const holder = holders.find((candidate) => candidate.store === store);
      if (holder) return holder;
      if (!empty.includes(store)) continue;
      try {
        const key = randomBytes(32);
        await store.set(keyName, key.toString('base64'));
        const made = { store, key, head: undefined };
        holders.push(made);
        return made;
      } catch (error) {
        refusal = error;
      }
    }
    throw refusal ?? new Error('no secret store answers');
  }

  async function append(event: AuditEvent): Promise<void> {
    await dropPartialLine(path);
    const { holders, empty } = await survey();
    const writer = await writerAmong(holders, empty);
    const keys = new Map(holders.map(({ key }) => [keyIdOf(key), key]));
    const remembered = holders.reduce<ChainHead>((highest, { head }) => (head && head.n > highest.n ? head : highest), genesis);
    const lastLine = (await readTail(path, tailBytes))?.trimEnd().split('\n').at(-1);
    const last = lastLine === undefined ? undefined : parseLine(lastLine);

    // What the stores remember is the truth: a log that was tampered with goes on from there, so that the break stays visible. Two exceptions: an entry that
    // was written right before a crash, and entries whose key is out of reach today.
    let previous = remembered;
    if (last && last.entry.n > remembered.n) {
      const key = keys.get(last.entry.key);
      const mac = { n: last.entry.n, mac: last.mac };
      if (!key) previous = mac;
      else if (last.entry.n === remembered.n + 1 && follows(last, key, remembered.mac)) previous = mac;
    }

    const { line, mac } = sealEntry(
      { n: previous.n + 1, at: now().toISOString(), ...shortened(event), who: identity },
      writer.key,
      previous.mac,
    );
    await appendLine(path, line);
    const head = JSON.stringify({ n: previous.n + 1, mac });
    await writer.store.set(headName, head);
    // Another store that takes part remembers too, but must not stop an entry that is written.
    for (const { store } of holders) if (store !== writer.store) await store.set(headName, head).catch(() => {});
  }

  return {
    record(event) {
      const written = queue.then(() => withFileLock(path, () => append(event)));
      queue = written.catch(() => {});
      return written.catch((error: unknown) => {
        throw new Fault({
          code: 'failed.audit',
          message: `The audit log ${path} cannot be written: ${messageOf(error)}`,
          remedy: 'Free disk space or correct the permissions of that folder; nothing is changed without a record.',
          cause: error,
        });
      });
    },
    async *entries() {
      for await (const { text, partial } of readLines(path)) {
        const sealed = partial ? undefined : parseLine(text);
        if (sealed) yield sealed.entry;
      }
    },
    verify: () =>
      withFileLock(path, async () => {
        const { holders, away } = await survey();
        const keys = new Map(holders.map(({ key }) => [keyIdOf(key), key]));
        const heads = holders.flatMap(({ head }) => (head ? [head] : []));
        const report = await verifyChain(readLines(path), keys, heads);
        return { ...report, path, keptIn: holders[0]?.store.kind, away };
      }),
  };
}

/** An entry tells what happened; it is no place for a page of output. */
function shortened(event: AuditEvent): AuditEvent {
  const short = (text: string) => (text.length > textLimit ? `${text.slice(0, textLimit)}…` : text);
  return { ...event, request: short(event.request), ...(event.message !== undefined && { message: short(event.message) }) };
}
