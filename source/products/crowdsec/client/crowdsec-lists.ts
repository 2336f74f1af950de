import { Fault } from '../../../faults/fault.ts';
import type { Grant } from '../../../grants/grant.ts';
import { cleanLine, cleanLines } from '../../../text/clean.ts';
import { type JsonObject, objectOf, objectsOf, textOf, timeOf } from '../../../text/json-value.ts';
import type { Crowdsec } from './crowdsec.ts';

/** A program that enforces decisions. */
export type Bouncer = Awaited<ReturnType<typeof bouncersOf>>[number];
/** An engine that reads logs and reports to the local API. */
export type Machine = Awaited<ReturnType<typeof machinesOf>>[number];
export type Allowlist = Awaited<ReturnType<typeof allowlistsOf>>[number];
export type HubItem = Awaited<ReturnType<typeof hubItems>>[number];

const text = (record: JsonObject, name: string): string => cleanLine(textOf(record[name]));

export async function bouncersOf(crowdsec: Crowdsec, signal: AbortSignal) {
  return objectsOf(await crowdsec.readJson(['bouncers', 'list'], 'list bouncers', signal)).map((record) => {
    const pulled = timeOf(record['last_pull']);
    return {
      name: text(record, 'name'),
      type: text(record, 'type'),
      version: text(record, 'version'),
      address: text(record, 'ip_address'),
      // Old versions report the creation time for a bouncer that has never pulled.
      lastPullMs: pulled === timeOf(record['created_at']) ? undefined : pulled,
      revoked: record['revoked'] === true,
    };
  });
}

/** Returns the key, which is shown only once. */
export async function addBouncer(crowdsec: Crowdsec, grant: Grant, name: string): Promise<string> {
  const { stdout } = await crowdsec.change(grant, ['bouncers', 'add', name, '-o', 'raw'], `add the bouncer ${name}`);
  const key = stdout.trim();
  if (/^[\x21-\x7e]{8,}$/.test(key)) return key;
  const message = `The bouncer ${name} was added, but CrowdSec returned no key.`;
  throw new Fault('failed.crowdsec', message, `Delete the bouncer and add it again: quarterdeck bouncers delete ${name}`);
}

export async function machinesOf(crowdsec: Crowdsec, signal: AbortSignal) {
  return objectsOf(await crowdsec.readJson(['machines', 'list'], 'list machines', signal)).map((record) => ({
    name: text(record, 'machineId'),
    address: text(record, 'ipAddress'),
    version: text(record, 'version'),
    validated: record['isValidated'] === true,
    lastHeartbeatMs: timeOf(record['last_heartbeat']),
  }));
}

/** Throws `refused.version` before 1.6.6. */
export async function allowlistsOf(crowdsec: Crowdsec, signal: AbortSignal) {
  return objectsOf(await crowdsec.readJson(['allowlists', 'list'], 'list allowlists', signal)).map((record) => ({
    name: text(record, 'name'),
    description: text(record, 'description'),
    // Managed in CrowdSec's web console: it cannot be changed here.
    managed: record['console_managed'] === true,
    items: objectsOf(record['items']).map((item) => ({
      value: text(item, 'value'),
      description: text(item, 'description'),
      endsMs: timeOf(item['expiration']),
    })),
  }));
}

export async function allowlisting(crowdsec: Crowdsec, value: string, signal: AbortSignal): Promise<string | undefined> {
  const { stdout } = await crowdsec.read(['allowlists', 'check', value], `check the allowlists for ${value}`, signal);
  return /is allowlisted by item (.+)/.exec(stdout)?.[1]?.trim();
}

/** With `all` also what the hub offers. Throws `failed.crowdsec` if 1.4 cannot reach the hub, even for installed items. */
export async function hubItems(crowdsec: Crowdsec, { all }: { all: boolean }, signal: AbortSignal) {
  const json = await crowdsec.readJson(['hub', 'list', ...(all ? ['--all'] : [])], 'list the installed items', signal);
  return Object.entries(objectOf(json) ?? {}).flatMap(([kind, items]) =>
    objectsOf(items).map((item) => {
      const status = text(item, 'status').split(',');
      return {
        // `collections`, `parsers`, `scenarios`, ...
        kind,
        name: text(item, 'name'),
        version: text(item, 'local_version'),
        description: text(item, 'description'),
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
