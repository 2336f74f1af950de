import type { Host } from '../hosts/host.ts';
import { findDamagedHalts } from './halted-journal.ts';
import { findDamagedRestores } from './restore-journal.ts';
import { findDamagedRuns } from './run-journal.ts';

/** Files and folders of interrupted changes, restores and backups from which it cannot be read how they stand. */
export async function findDamagedJournals(host: Host, stackFolder: string, signal: AbortSignal): Promise<string[]> {
  const found = await Promise.all([findDamagedRuns, findDamagedRestores, findDamagedHalts].map((find) => find(host, stackFolder, signal)));
  return found.flat();
}

/** One sentence, about a path that is cleaned. */
export const damagedSentence = (path: string) =>
  `Something was interrupted, and its journal is damaged: ${path}. It can be neither finished nor taken back.`;
