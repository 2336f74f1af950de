import type { Grant } from '../grants/grant.ts';
import { cleanLine, cleanLines } from '../text/clean.ts';
import type { Crowdsec } from './crowdsec.ts';

export interface HubItem {
  /** `collections`, `parsers`, `scenarios`, ... */
  kind: string;
  name: string;
  version: string;
  description: string;
  enabled: boolean;
  /** Changed by hand: an upgrade leaves it alone. */
  tainted: boolean;
  behind: boolean;
  /** Of its file there; empty where it is not installed. */
  path: string;
}

/** What is installed; with `all` also what the hub has. Throws `failed.crowdsec` where 1.4 cannot reach the hub, which it does even for that. */
export async function hubItems(crowdsec: Crowdsec, { all }: { all: boolean }, signal: AbortSignal): Promise<HubItem[]> {
  const json = await crowdsec.readJson(['hub', 'list', ...(all ? ['--all'] : [])], 'list what is installed', signal);
  const kinds = typeof json === 'object' && json !== null ? Object.entries(json as Record<string, unknown>) : [];
  return kinds.flatMap(([kind, items]) =>
    (Array.isArray(items) ? (items as Record<string, unknown>[]) : []).map((item) => {
      const text = (name: string) => (typeof item[name] === 'string' ? cleanLine(item[name]) : '');
      const status = text('status').split(',');
      return {
        kind,
        name: text('name'),
        version: text('local_version'),
        description: text('description'),
        enabled: status.includes('enabled'),
        tainted: status.includes('tainted'),
        behind: status.includes('update-available'),
        path: typeof item['local_path'] === 'string' ? item['local_path'] : '',
      };
    }),
  );
}

export async function installCollection(crowdsec: Crowdsec, grant: Grant, name: string): Promise<void> {
  await crowdsec.change(grant, ['collections', 'install', name], `install ${name}`);
}

export async function removeCollection(crowdsec: Crowdsec, grant: Grant, name: string): Promise<void> {
  await crowdsec.change(grant, ['collections', 'remove', name], `remove ${name}`);
}

/** Fetches the hub's index. */
export async function updateHub(crowdsec: Crowdsec, grant: Grant): Promise<void> {
  await crowdsec.change(grant, ['hub', 'update'], 'fetch the index of the hub');
}

/** What an upgrade would do, line by line; undefined before 1.6.5, which cannot tell. */
export async function upgradePlan(crowdsec: Crowdsec, signal: AbortSignal): Promise<string[] | undefined> {
  const answer = await crowdsec.cscli.read(['hub', 'upgrade', '--dry-run'], signal);
  if (answer.exitCode !== 0) {
    const refusal = crowdsec.refusal(answer, 'plan an upgrade');
    if (refusal.code === 'refused.version') return undefined;
    throw refusal;
  }
  // Its pictures are of two columns on some terminals, and of none on others.
  const lines = answer.stdout.replace(/\p{Extended_Pictographic}\uFE0F?[^\S\n]*/gu, '');
  return cleanLines(lines.trim()).filter((line) => line !== '' && !/^Dry run/.test(line));
}

/** @returns what it says of it, for reading */
export async function upgradeHub(crowdsec: Crowdsec, grant: Grant): Promise<string[]> {
  const { stdout, stderr } = await crowdsec.change(grant, ['hub', 'upgrade'], 'upgrade what came from the hub');
  return cleanLines(`${stdout}\n${stderr}`.trim()).filter((line) => line !== '');
}
