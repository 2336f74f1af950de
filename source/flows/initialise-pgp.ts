import { join } from 'node:path';
import { Fault, messageOf } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import { localFiles } from '../hosts/local-files.ts';
import { shareNumber, shareProblem } from '../products/key-share.ts';
import { pgpPublicKey } from '../products/pgp-key.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { fileOf } from './secrets-exchange.ts';
import type { ShareCounts } from './share-counts.ts';

const keyLimitBytes = 256 * 1024;

/** Shares that are sealed for their holders, and where they go. */
export interface SealedShares {
  /** Base64, one for each share. */
  keys: readonly string[];
  /** Absolute. */
  folder: string;
}

/** The holders' public keys, from files that were named (`--pgp`) or are asked for. Throws `usage.pgp`. */
export async function askPgpKeys(session: Session, named: readonly string[], { shares }: ShareCounts, id: string): Promise<SealedShares> {
  if (named.length > 0 && named.length !== shares) {
    throw new Fault({
      code: 'usage.pgp',
      message: `${named.length === 1 ? 'One public key is' : `${named.length} public keys are`} named, for ${shares} shares.`,
      remedy: 'Name one for each share, in the order of the holders.',
    });
  }
  const keys: string[] = [];
  for (let at = 0; at < shares; at++) {
    const path =
      named[at] ??
      (await session.ask.text({
        id: `pgp-${at + 1}`,
        label: `File with the public key of holder ${at + 1}`,
        help: 'As gpg --export writes it.',
        check: (text) => (text.trim() === '' ? 'Name a file.' : undefined),
      }));
    keys.push(await readKey(session, path));
  }
  const folder = await session.ask.text({
    id: 'folder',
    label: 'Save the sealed shares in which folder of this machine?',
    help: 'Each opens with the secret key of its holder alone.',
    initial: `./${id}-shares`,
    check: (text) => (text.trim() === '' ? 'Name a folder.' : undefined),
  });
  return { keys, folder: fileOf(folder) };
}

async function readKey(session: Session, written: string): Promise<string> {
  const path = fileOf(written);
  const content = await localFiles.read(path, { signal: session.signal, limitBytes: keyLimitBytes });
  const { base64, problem } = content ? pgpPublicKey(content) : { problem: 'There is no such file.' };
  if (base64 !== undefined) return base64;
  throw new Fault({ code: 'usage.pgp', message: `${cleanLine(path)}: ${problem}`, remedy: 'Nothing was made. Name another file.' });
}

/**
 * Saves each sealed share to a file. They are made, and told this once: so that a run that breaks off behind it does not take them along, in the act that makes them.
 * @returns why it could not be done; undefined where it was
 */
export async function saveSealed(grant: Grant, sealing: SealedShares, sealed: readonly string[]): Promise<string | undefined> {
  try {
    await localFiles.makeFolder(grant, sealing.folder, { mode: 0o700 });
    for (const [at, file] of filesOf(sealing, sealed).entries())
      await localFiles.write(grant, file, Buffer.from(`${inBase64(sealed[at] ?? '')}\n`), { mode: 0o600 });
    return undefined;
  } catch (thrown) {
    return messageOf(thrown);
  }
}

const filesOf = ({ folder }: SealedShares, sealed: readonly string[]) => sealed.map((_, at) => join(folder, `share-${at + 1}.pgp.base64`));
const inBase64 = (hex: string) => Buffer.from(hex, 'hex').toString('base64');

/** Says where the sealed shares are, and lets each holder prove that theirs opens. Leaving ends the proofs alone: the files are there first. */
export async function handSealedOut(
  session: Session,
  sealing: SealedShares,
  { shares: sealed, unsaved }: { shares: readonly string[]; unsaved?: string | undefined },
  counts: ShareCounts,
): Promise<void> {
  const files = filesOf(sealing, sealed);
  if (unsaved !== undefined) {
    // Where a file cannot hold them, the screen does.
    session.show({ kind: 'text', text: `They could not be saved: ${unsaved} Copy them from here:` });
    for (const [at, hex] of sealed.entries()) session.show({ kind: 'text', text: `Key share ${at + 1}, sealed: ${inBase64(hex)}` });
  }
  const proved = new Set<number>();
  // Whoever leaves here leaves the proofs out alone: the root token is still to be handed out.
  let left = false;
  for (const [at, file] of files.entries()) {
    const typed: string | undefined = left ? '' : await opened(session, at + 1, file, counts, proved);
    left ||= typed === undefined;
    const number = shareNumber(typed ?? '');
    if (number !== undefined) proved.add(number);
    session.show({
      kind: 'item',
      id: `share-${at + 1}`,
      title: `Key share ${at + 1} of ${counts.shares}`,
      state: !typed ? 'warning' : 'ok',
      evidence: !typed ? `not opened yet: ${cleanLine(file)}` : 'opened by its holder',
    });
  }
}

/** What the holder typed; undefined from who walks away. */
async function opened(
  session: Session,
  number: number,
  file: string,
  counts: ShareCounts,
  proved: ReadonlySet<number>,
): Promise<string | undefined> {
  try {
    const typed = await session.ask.secret({
      id: `share-${number}-proof`,
      label: `Key share ${number}, opened by its holder`,
      help: `base64 -d ${cleanLine(file)} | gpg -d, and type what that prints. Empty: later, without proof that it opens.`,
      check: (text) => (text.trim() === '' ? undefined : shareProblem(text, counts, proved)),
    });
    return typed.trim();
  } catch (thrown) {
    if (session.signal.aborted || !(thrown instanceof Fault) || thrown.kind !== 'interrupted') throw thrown;
    return undefined;
  }
}
