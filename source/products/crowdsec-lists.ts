import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import { cleanLine } from '../text/clean.ts';
import type { Crowdsec } from './crowdsec.ts';

/** Who enforces decisions. */
export interface Bouncer {
  name: string;
  type: string;
  version: string;
  address: string;
  lastPullMs: number | undefined;
  revoked: boolean;
}

/** Who reads logs and reports to the local API. */
export interface Machine {
  name: string;
  address: string;
  version: string;
  validated: boolean;
  lastHeartbeatMs: number | undefined;
}

export interface Allowlist {
  name: string;
  description: string;
  /** Kept in CrowdSec's console on the web: it cannot be changed here. */
  managed: boolean;
  items: readonly { value: string; description: string; endsMs: number | undefined }[];
}

type Json = Record<string, unknown>;
const text = (record: Json, name: string): string => (typeof record[name] === 'string' ? cleanLine(record[name]) : '');

/** Go's zero time, and nothing at all, mean never. */
function time(record: Json, name: string): number | undefined {
  const ms = Date.parse(typeof record[name] === 'string' ? record[name] : '');
  return Number.isNaN(ms) || ms < 0 ? undefined : ms;
}

function records(json: unknown): Json[] {
  return Array.isArray(json) ? json.filter((one): one is Json => typeof one === 'object' && one !== null) : [];
}

export async function bouncersOf(crowdsec: Crowdsec, signal: AbortSignal): Promise<Bouncer[]> {
  return records(await crowdsec.readJson(['bouncers', 'list'], 'list bouncers', signal)).map((record) => {
    const pulled = time(record, 'last_pull');
    return {
      name: text(record, 'name'),
      type: text(record, 'type'),
      version: text(record, 'version'),
      address: text(record, 'ip_address'),
      // Old versions give the moment of its making to one that has never pulled.
      lastPullMs: pulled === time(record, 'created_at') ? undefined : pulled,
      revoked: record['revoked'] === true,
    };
  });
}

/** Its key, which is told this once. */
export async function addBouncer(crowdsec: Crowdsec, grant: Grant, name: string): Promise<string> {
  const { stdout } = await crowdsec.change(grant, ['bouncers', 'add', name, '-o', 'raw'], `add the bouncer ${name}`);
  const key = stdout.trim();
  if (/^[\x21-\x7e]{8,}$/.test(key)) return key;
  throw new Fault({
    code: 'failed.crowdsec',
    message: `The bouncer ${name} was added, but no key came with it.`,
    remedy: `Delete it and add it again: quarterdeck bouncers delete ${name}`,
  });
}

export async function deleteBouncer(crowdsec: Crowdsec, grant: Grant, name: string): Promise<void> {
  await crowdsec.change(grant, ['bouncers', 'delete', name], `delete the bouncer ${name}`);
}

export async function machinesOf(crowdsec: Crowdsec, signal: AbortSignal): Promise<Machine[]> {
  return records(await crowdsec.readJson(['machines', 'list'], 'list machines', signal)).map((record) => ({
    name: text(record, 'machineId'),
    address: text(record, 'ipAddress'),
    version: text(record, 'version'),
    validated: record['isValidated'] === true,
    lastHeartbeatMs: time(record, 'last_heartbeat'),
  }));
}

/** cscli ends well also where there was no such machine: whoever wants to know looks again. */
export async function deleteMachine(crowdsec: Crowdsec, grant: Grant, name: string): Promise<void> {
  await crowdsec.change(grant, ['machines', 'delete', name], `delete the machine ${name}`);
}

export async function validateMachine(crowdsec: Crowdsec, grant: Grant, name: string): Promise<void> {
  await crowdsec.change(grant, ['machines', 'validate', name], `let the machine ${name} in`);
}

/** Throws `refused.version` before 1.6.6. */
export async function allowlistsOf(crowdsec: Crowdsec, signal: AbortSignal): Promise<Allowlist[]> {
  return records(await crowdsec.readJson(['allowlists', 'list'], 'list allowlists', signal)).map((record) => ({
    name: text(record, 'name'),
    description: text(record, 'description'),
    managed: record['console_managed'] === true,
    items: records(record['items']).map((item) => ({
      value: text(item, 'value'),
      description: text(item, 'description'),
      endsMs: time(item, 'expiration'),
    })),
  }));
}

/** Which lists have it, in CrowdSec's words; undefined where none has. */
export async function allowlisting(crowdsec: Crowdsec, value: string, signal: AbortSignal): Promise<string | undefined> {
  const answer = await crowdsec.cscli.read(['allowlists', 'check', value], signal);
  if (answer.exitCode !== 0) throw crowdsec.refusal(answer, `look for ${value} in allowlists`);
  return /is allowlisted by item (.+)/.exec(answer.stdout)?.[1]?.trim();
}

export async function createAllowlist(crowdsec: Crowdsec, grant: Grant, name: string, description: string): Promise<void> {
  await crowdsec.change(grant, ['allowlists', 'create', name, '--description', description], `create the allowlist ${name}`);
}

export async function deleteAllowlist(crowdsec: Crowdsec, grant: Grant, name: string): Promise<void> {
  await crowdsec.change(grant, ['allowlists', 'delete', name], `delete the allowlist ${name}`);
}

export async function addToAllowlist(
  crowdsec: Crowdsec,
  grant: Grant,
  { name, values, comment, expiration }: { name: string; values: readonly string[]; comment: string; expiration: string | undefined },
): Promise<void> {
  const words = [
    'allowlists',
    'add',
    name,
    ...values,
    ...(comment === '' ? [] : ['--comment', comment]),
    ...(expiration === undefined ? [] : ['--expiration', expiration]),
  ];
  await crowdsec.change(grant, words, `put ${values.join(', ')} on the allowlist ${name}`);
}

export async function removeFromAllowlist(crowdsec: Crowdsec, grant: Grant, name: string, values: readonly string[]): Promise<void> {
  await crowdsec.change(grant, ['allowlists', 'remove', name, ...values], `take ${values.join(', ')} off the allowlist ${name}`);
}
