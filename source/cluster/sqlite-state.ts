import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import { cleanLine } from '../text/clean.ts';
import { lastWords, type NodeWay } from './node-way.ts';

/** Where k3s keeps its state without etcd, and what nothing is restored without. */
export const sqliteState = {
  database: '/var/lib/rancher/k3s/server/db/state.db',
  token: '/var/lib/rancher/k3s/server/token',
  folder: '/var/backups/k3s',
} as const;

export interface SqliteCopy {
  file: string;
  /** Rows of what is the cluster's state. */
  rows: number;
}

/** False for a server whose state is in a database elsewhere. */
export async function hasSqlite(way: NodeWay, signal: AbortSignal): Promise<boolean> {
  return (await way.read(['test', '-f', sqliteState.database], signal)).exitCode === 0;
}

/** The requests, for the audit and for who takes it by hand: a copy that SQLite itself makes is whole although k3s writes meanwhile. */
export function copyCommands(file: string): string[][] {
  return [
    ['mkdir', '-p', '-m', '700', sqliteState.folder],
    ['sqlite3', sqliteState.database, `.backup '${file}'`],
    ['cp', '-p', sqliteState.token, `${file}.token`],
  ];
}

/** Throws `failed.snapshot`. */
export async function copySqlite(grant: Grant, way: NodeWay, file: string): Promise<SqliteCopy> {
  for (const argv of copyCommands(file)) {
    const outcome = await way.run(grant, argv);
    if (outcome.exitCode !== 0)
      throw new Fault({
        code: 'failed.snapshot',
        message:
          outcome.exitCode === 127
            ? `There is no ${argv[0]} on that node.`
            : `${argv[0]} failed (${outcome.exitCode}): ${cleanLine(lastWords(outcome))}`,
        remedy:
          'Install sqlite3 there (apt-get install sqlite3), or stop k3s, copy /var/lib/rancher/k3s/server/db and its token, and start it again.',
      });
  }
  return verifyCopy(way, file, grant.signal);
}

/** Reads the copy as SQLite does. Throws `failed.snapshot`. */
export async function verifyCopy(way: NodeWay, file: string, signal: AbortSignal): Promise<SqliteCopy> {
  // Otherwise it makes an empty one where there is none.
  const outcome = await way.read(['sqlite3', '-readonly', file, 'pragma integrity_check; select count(*) from kine;'], signal);
  const [verdict = '', count = ''] = outcome.stdout.trim().split('\n');
  const rows = Number(count);
  if (outcome.exitCode !== 0 || verdict !== 'ok' || !(rows > 0))
    throw new Fault({
      code: 'failed.snapshot',
      message: `The copy ${cleanLine(file)} is not whole: ${cleanLine(outcome.exitCode === 0 && verdict !== 'ok' ? verdict : lastWords(outcome)) || 'it holds nothing'}.`,
      remedy: 'Take it again.',
    });
  return { file, rows };
}
