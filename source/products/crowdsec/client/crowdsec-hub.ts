import { cleanLine, cleanLines } from '../../../text/clean.ts';
import { objectOf, objectsOf, textOf } from '../../../text/json-value.ts';
import type { Crowdsec } from './crowdsec.ts';

export type HubItem = Awaited<ReturnType<typeof hubItems>>[number];

/** With `all` also what the hub offers. Throws `failed.crowdsec` if 1.4 cannot reach the hub, even for installed items. */
export async function hubItems(crowdsec: Crowdsec, { all }: { all: boolean }, signal: AbortSignal) {
  const json = await crowdsec.readJson(['hub', 'list', ...(all ? ['--all'] : [])], 'list what is installed', signal);
  return Object.entries(objectOf(json) ?? {}).flatMap(([kind, items]) =>
    objectsOf(items).map((item) => {
      const text = (name: string) => cleanLine(textOf(item[name]));
      const status = text('status').split(',');
      return {
        // `collections`, `parsers`, `scenarios`, ...
        kind,
        name: text('name'),
        version: text('local_version'),
        description: text('description'),
        enabled: status.includes('enabled'),
        // Changed by hand: an upgrade skips it.
        tainted: status.includes('tainted'),
        behind: status.includes('update-available'),
        // Empty if the item is not installed.
        path: textOf(item['local_path']),
      };
    }),
  );
}

/** Returns the changes that an upgrade would make, line by line; undefined before 1.6.5, which cannot report them. */
export async function upgradePlan(crowdsec: Crowdsec, signal: AbortSignal): Promise<string[] | undefined> {
  const answer = await crowdsec.cscli.read(['hub', 'upgrade', '--dry-run'], signal);
  if (answer.exitCode !== 0) {
    const refusal = crowdsec.refusal(answer, 'plan an upgrade');
    if (refusal.code === 'refused.version') return undefined;
    throw refusal;
  }
  // Its emoji are two columns wide on some terminals, and missing on others.
  const lines = answer.stdout.replace(/\p{Extended_Pictographic}\uFE0F?[^\S\n]*/gu, '');
  return cleanLines(lines.trim()).filter((line) => line !== '' && !/^Dry run/.test(line));
}
