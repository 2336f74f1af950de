import { join } from 'node:path';
import { Fault, messageOf } from '../../faults/fault.ts';
import { fileOf, fileWord } from '../../flows/named-file.ts';
import type { Grant } from '../../grants/grant.ts';
import { localFiles } from '../../hosts/local-files.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { shareNumber, shareProblem } from './client/key-share.ts';
import { pgpPublicKey } from './client/pgp-key.ts';
import type { ShareCounts } from './share-counts.ts';

const keyLimitBytes = 256 * 1024;

export type SealedShares = Awaited<ReturnType<typeof askPgpKeys>>;

/** Returns the holders' public keys, base64, from the files in `--pgp` or in the answers of prompts. Throws `usage.pgp`. */
export async function askPgpKeys(session: Session, named: readonly string[], { shares }: ShareCounts, id: string) {
  if (named.length > 0 && named.length !== shares) {
    throw new Fault(
      'usage.pgp',
      `${named.length === 1 ? 'One public key is' : `${named.length} public keys are`} named, for ${shares} shares.`,
      'Name one for each share, in the order of the holders.',
    );
  }
  const keys: string[] = [];
  for (let at = 0; at < shares; at++) {
    const path = await fileWord(session, named[at], {
      id: `pgp-${at + 1}`,
      label: `File with the public key of holder ${at + 1}`,
      help: 'As gpg --export writes it.',
    });
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
  throw new Fault('usage.pgp', `${cleanLine(path)}: ${problem}`, 'Nothing was made. Name another file.');
}

/**
 * Saves the encrypted shares in the action that creates them: the server returns them only once, and the run may be interrupted later.
 * Returns why they could not be saved; undefined if they were.
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

export async function handSealedOut(
  session: Session,
  sealing: SealedShares,
  { shares: sealed, unsaved }: { shares: readonly string[]; unsaved?: string | undefined },
  counts: ShareCounts,
): Promise<void> {
  const files = filesOf(sealing, sealed);
  if (unsaved !== undefined) {
    session.show({ kind: 'text', text: `They could not be saved: ${unsaved} Copy them from here:` });
    for (const [at, hex] of sealed.entries()) session.show({ kind: 'text', text: `Key share ${at + 1}, sealed: ${inBase64(hex)}` });
  }
  const proved = new Set<number | undefined>();
  // Cancelling skips only the remaining verifications: the root token still has to be handed out.
  let left = false;
  for (const [at, file] of files.entries()) {
    const typed: string | undefined = left ? '' : await opened(session, at + 1, file, counts, proved);
    left ||= typed === undefined;
    proved.add(shareNumber(typed ?? ''));
    session.show({
      kind: 'item',
      id: `share-${at + 1}`,
      title: `Key share ${at + 1} of ${counts.shares}`,
      state: !typed ? 'warning' : 'ok',
      evidence: !typed ? `not opened yet: ${cleanLine(file)}` : 'opened by its holder',
    });
  }
}

async function opened(
  session: Session,
  number: number,
  file: string,
  counts: ShareCounts,
  proved: ReadonlySet<number | undefined>,
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
