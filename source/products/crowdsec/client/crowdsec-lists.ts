import { Fault } from '../../../faults/fault.ts';
import type { Grant } from '../../../grants/grant.ts';
import { cleanLine } from '../../../text/clean.ts';
import { type JsonObject, objectsOf, textOf } from '../../../text/json-value.ts';
import type { Crowdsec } from './crowdsec.ts';

/** A program that enforces decisions. */
export type Bouncer = Awaited<ReturnType<typeof bouncersOf>>[number];
/** An engine that reads logs and reports to the local API. */
export type Machine = Awaited<ReturnType<typeof machinesOf>>[number];
export type Allowlist = Awaited<ReturnType<typeof allowlistsOf>>[number];

const text = (record: JsonObject, name: string): string => cleanLine(textOf(record[name]));

/** Go's zero time and a missing value both mean never. */
function time(record: JsonObject, name: string): number | undefined {
  const ms = Date.parse(textOf(record[name]));
  return Number.isNaN(ms) || ms < 0 ? undefined : ms;
}

export async function bouncersOf(crowdsec: Crowdsec, signal: AbortSignal) {
  return objectsOf(await crowdsec.readJson(['bouncers', 'list'], 'list bouncers', signal)).map((record) => {
    const pulled = time(record, 'last_pull');
    return {
      name: text(record, 'name'),
      type: text(record, 'type'),
      version: text(record, 'version'),
      address: text(record, 'ip_address'),
      // Old versions report the creation time for a bouncer that has never pulled.
      lastPullMs: pulled === time(record, 'created_at') ? undefined : pulled,
      revoked: record['revoked'] === true,
    };
  });
}

/** Returns the key, which is shown only once. */
export async function addBouncer(crowdsec: Crowdsec, grant: Grant, name: string): Promise<string> {
  const { stdout } = await crowdsec.change(grant, ['bouncers', 'add', name, '-o', 'raw'], `add the bouncer ${name}`);
  const key = stdout.trim();
  if (/^[\x21-\x7e]{8,}$/.test(key)) return key;
  throw new Fault(
    'failed.crowdsec',
    `The bouncer ${name} was added, but no key came with it.`,
    `Delete it and add it again: quarterdeck bouncers delete ${name}`,
  );
}

export async function machinesOf(crowdsec: Crowdsec, signal: AbortSignal) {
  return objectsOf(await crowdsec.readJson(['machines', 'list'], 'list machines', signal)).map((record) => ({
    name: text(record, 'machineId'),
    address: text(record, 'ipAddress'),
    version: text(record, 'version'),
    validated: record['isValidated'] === true,
    lastHeartbeatMs: time(record, 'last_heartbeat'),
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
      endsMs: time(item, 'expiration'),
    })),
  }));
}

export async function allowlisting(crowdsec: Crowdsec, value: string, signal: AbortSignal): Promise<string | undefined> {
  const { stdout } = await crowdsec.read(['allowlists', 'check', value], `look for ${value} in allowlists`, signal);
  return /is allowlisted by item (.+)/.exec(stdout)?.[1]?.trim();
}
