import { createHash, randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { withFileLock } from '../config/file-lock.ts';
import { appendLine, damagedPathOf, readLines, readTail, repairLastLine } from '../config/line-file.ts';
import { hasOwnFile } from '../config/own-files.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import { isKeychainAbsent } from '../secrets/keychain.ts';
import type { SecretStore } from '../secrets/secret-store.ts';
import type { AuditEntry, AuditEvent, ChainAnchor, ChainReport } from './audit-chain.ts';
import { findChainEnd, parseHead, parseLine, sealEntry, verifyChain } from './audit-chain.ts';
import type { Identity } from './identity.ts';

export interface AuditReport extends ChainReport {
  path: string;
  keptIn: SecretStore['kind'] | undefined;
  /** Secret stores that did not respond. `absent`: this session has no such store. */
  away: readonly { kind: SecretStore['kind']; reason: string; absent: boolean }[];
  /** The path where damaged ends of the log are kept; undefined if there were none. */
  damaged: string | undefined;
}

export type Audit = ReturnType<typeof openAudit>;

interface AuditOptions {
  path: string;
  /** Best first. The first store that answers keeps key and head; a locked keychain is skipped, not waited for. */
  stores: readonly SecretStore[];
  identity: Identity;
  /** Called when a damaged end of the log has been moved to a separate file beside it. */
  damageMoved?: (to: string) => void;
  now?: () => Date;
}

interface Holder extends ChainAnchor {
  store: SecretStore;
}

/** Larger than any entry, so that the last line is always found. */
const tailBytes = 256 * 1024;
const textLimit = 2_000;

/** Opens the log of every change and every attempted change. One chain per installation. */
export function openAudit({ path, stores, identity, damageMoved, now = () => new Date() }: AuditOptions) {
  // Two installations on one machine share a keychain.
  const installation = createHash('sha256').update(resolve(path)).digest('hex').slice(0, 12);
  const keyName = `audit-key ${installation}`;
  const headName = `audit-head ${installation}`;
  // Entries of one process queue here, so that it requests the lock only once at a time.
  let queue: Promise<unknown> = Promise.resolve();

  async function holderOf(store: SecretStore): Promise<Holder | undefined> {
    const stored = await store.get(keyName);
    if (stored === undefined) return undefined;
    const text = await store.get(headName);
    const head = text === undefined ? undefined : parseHead(text);
    if (text === undefined || head) return { store, kind: store.kind, key: Buffer.from(stored, 'base64'), head };
    // Without its head the end of the log could be truncated unnoticed.
    const message = `The ${store.kind === 'file' ? 'key file' : 'keychain'} contains no readable record of the last entry of ${path}.`;
    const remedy = 'Restore the record from a backup. To start a new log, move the log and delete the record.';
    throw new Fault('failed.auditKey', message, remedy);
  }

  async function survey() {
    const holders: Holder[] = [];
    const empty: SecretStore[] = [];
    const away: (AuditReport['away'][number] & { thrown: unknown })[] = [];
    for (const store of stores) {
      try {
        const holder = await holderOf(store);
        if (holder) holders.push(holder);
        else empty.push(store);
      } catch (error) {
        away.push({ kind: store.kind, reason: messageOf(error), absent: isKeychainAbsent(error), thrown: error });
      }
    }
    return { holders, empty, away };
  }

  /** Returns the best store that answers and is writable; creates a key if it has none. */
  async function writerAmong({ holders, empty, away }: Awaited<ReturnType<typeof survey>>): Promise<Holder> {
    let refusal: unknown;
    for (const store of stores) {
      const holder = holders.find((candidate) => candidate.store === store);
      if (holder) return holder;
      if (!empty.includes(store)) continue;
      try {
        const key = randomBytes(32);
        await store.set(keyName, key.toString('base64'));
        const created: Holder = { store, kind: store.kind, key, head: undefined };
        holders.push(created);
        return created;
      } catch (error) {
        refusal = error;
      }
    }
    throw refusal ?? away.at(-1)?.thrown ?? new Error('no secret store is available');
  }

  /** Usually the last line is the one that the stores remember, and nothing else has to be read. */
  async function endOfChain(holders: readonly Holder[], writer: Holder) {
    const { head } = writer;
    const lastLine = head && (await readTail(path, tailBytes))?.trimEnd().split('\n').at(-1);
    const last = lastLine === undefined ? undefined : parseLine(lastLine);
    const isEnd =
      head && last && last.entry.n === head.n && last.mac === head.mac && holders.every((holder) => (holder.head?.n ?? 0) <= head.n);
    return isEnd ? { previous: head, after: undefined } : findChainEnd(readLines(path), holders, writer);
  }

  async function append(event: AuditEvent): Promise<void> {
    const moved = await repairLastLine(path, (text) => parseLine(text) !== undefined);
    if (moved) damageMoved?.(moved);
    const found = await survey();
    const writer = await writerAmong(found);
    const holders = found.holders.toSorted((one, other) => stores.indexOf(one.store) - stores.indexOf(other.store));
    const { previous, after } = await endOfChain(holders, writer);
    const entry = { n: previous.n + 1, at: now().toISOString(), ...shortened(event), who: identity, ...(after && { after }) };
    const { line, mac } = sealEntry(entry, writer.key, previous.mac);
    await appendLine(path, line);
    const head = JSON.stringify({ n: previous.n + 1, mac });
    await writer.store.set(headName, head);
    // The other stores remember the head too, but their failure must not block an entry that is already written.
    for (const { store } of holders) if (store !== writer.store) await store.set(headName, head).catch(() => {});
  }

  const damaged = async () => ((await hasOwnFile(damagedPathOf(path))) ? damagedPathOf(path) : undefined);

  return {
    /** Resolves once the entry is on the disk and linked into the chain. Throws `failed.audit`. */
    record(event: AuditEvent): Promise<void> {
      const written = queue.then(() => withFileLock(path, () => append(event)));
      queue = written.catch(() => {});
      return written.catch((error: unknown) => {
        const hasRun = event.outcome === 'done' || event.outcome === 'failed';
        // It already names the file.
        const named = error instanceof Fault && error.where ? error : undefined;
        if (named && !hasRun) throw named;
        const message = named?.message ?? `The audit log ${path} cannot be written: ${messageOf(error).replace(/\.$/, '')}.`;
        const remedy = error instanceof Fault ? error.remedy : 'Free disk space or fix the permissions of the folder.';
        const effect = hasRun ? 'The action was carried out, but is not recorded.' : 'Nothing is changed without an audit record.';
        throw new Fault(named?.code ?? 'failed.audit', message, `${remedy} ${effect}`, { where: named?.where, cause: error });
      });
    },
    /** Oldest first. Lines that are not entries are left out: `verify` reports them. */
    async *entries(): AsyncIterable<AuditEntry> {
      for await (const { text } of readLines(path)) {
        const sealed = parseLine(text);
        if (sealed) yield sealed.entry;
      }
    },
    /** The path where damaged ends of the log are kept; undefined if there were none. */
    damaged,
    verify: (): Promise<AuditReport> =>
      withFileLock(path, async () => {
        const { holders, away } = await survey();
        const report = await verifyChain(readLines(path), holders);
        return { ...report, path, keptIn: holders[0]?.kind, away: away.map(({ thrown: _, ...one }) => one), damaged: await damaged() };
      }),
  };
}

/** Limits the length of a text: an entry records an action, not a page of output. */
function shortened(event: AuditEvent): AuditEvent {
  const short = (text: string) => (text.length > textLimit ? `${text.slice(0, textLimit)}…` : text);
  return { ...event, request: short(event.request), ...(event.message !== undefined && { message: short(event.message) }) };
}
