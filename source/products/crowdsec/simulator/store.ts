import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { spanOf } from '../../../text/address-span.ts';

/** Which release is simulated; they differ in many answers. */
export type Dialect = '1.4.6' | '1.7.8';

export interface Decision {
  id: number;
  origin: string;
  scenario: string;
  scope: string;
  value: string;
  type: string;
  untilMs: number;
}

export type AlertSource = Record<'scope' | 'value', string> & Partial<Record<'as_name' | 'as_number' | 'cn' | 'ip' | 'range', string>>;

export interface Alert {
  id: number;
  uuid: string;
  machine: string;
  kind: string;
  createdMs: number;
  startMs: number;
  eventsCount: number;
  message: string;
  scenario: string;
  source: AlertSource;
  /** What the events have in common: the log, its service, the address. */
  meta: Readonly<Record<string, string>>;
  decisions: Decision[];
}

export type Bouncer = ReturnType<typeof newBouncer>;
export type Machine = ReturnType<typeof newMachine>;

export interface Allowlist {
  id: string;
  name: string;
  description: string;
  createdMs: number;
  updatedMs: number;
  consoleManaged: boolean;
  items: { value: string; description: string; createdMs: number; untilMs?: number }[];
}

/** The store adds what is left out. */
export type NewAlert = Pick<Alert, 'machine' | 'message' | 'scenario' | 'source'> & Partial<Omit<Alert, 'id' | 'uuid' | 'decisions'>>;

const hashOf = (key: string): string => createHash('sha512').update(key).digest('hex');

/** What the database holds; it outlives a restart of the container. Newest alerts last. */
export class Store {
  readonly alerts: Alert[] = [];
  readonly bouncers: Bouncer[] = [];
  readonly machines: Machine[] = [];
  readonly allowlists: Allowlist[] = [];
  #lastAlert = 0;
  #lastDecision = 0;

  addAlert(alert: NewAlert, decisions: readonly Omit<Decision, 'id'>[]): Alert {
    const stored: Alert = {
      kind: 'crowdsec',
      createdMs: Date.now(),
      startMs: Date.now(),
      eventsCount: 1,
      meta: {},
      ...alert,
      id: ++this.#lastAlert,
      uuid: randomUUID(),
      decisions: decisions.map((decision) => ({ ...decision, id: ++this.#lastDecision })),
    };
    this.alerts.push(stored);
    return stored;
  }

  addMachine(login: string, password: string, validated: boolean): Machine {
    const machine = newMachine(login, password, validated);
    this.machines.push(machine);
    return machine;
  }

  addBouncer(name: string): string {
    const key = randomBytes(16).toString('hex');
    this.bouncers.push(newBouncer(name, key));
    return key;
  }

  bouncerWith(key: string): Bouncer | undefined {
    return this.bouncers.find(({ keyHash }) => keyHash === hashOf(key));
  }

  decisions(): Decision[] {
    return this.alerts.flatMap(({ decisions }) => decisions.filter(({ untilMs }) => untilMs > Date.now()));
  }

  /** Ends decisions now, as deleting them does: their alerts remain. Returns how many. */
  expire(matches: (decision: Decision) => boolean): number {
    const ended = this.decisions().filter(matches);
    for (const decision of ended) decision.untilMs = Date.now();
    return ended.length;
  }

  /** The allowlist items that let this address or range through, as CrowdSec names them; undefined when none does. */
  allowlisting(value: string): string | undefined {
    const items = this.allowlists.flatMap((list) =>
      list.items
        .filter((item) => (item.untilMs ?? Infinity) > Date.now() && overlap(item.value, value))
        .map((item) => `${item.value} from ${list.name}${item.description === '' ? '' : ` (${item.description})`}`),
    );
    return items.length === 0 ? undefined : items.join(', ');
  }
}

/** Keeps of the key its SHA-512 alone, as the real one does. */
function newBouncer(name: string, key: string) {
  const lastPullMs = undefined as number | undefined;
  return { name, keyHash: hashOf(key), createdMs: Date.now(), lastPullMs, address: '', type: '', version: '' };
}

function newMachine(login: string, password: string, validated: boolean) {
  return { login, password, validated, createdMs: Date.now(), lastHeartbeatMs: Date.now(), address: '127.0.0.1', version: '' };
}

/** Whether one contains the other. A range is let through by an item inside it too: banning it would ban the item. */
function overlap(one: string, other: string): boolean {
  return contains(one, other) || contains(other, one);
}

export function contains(outer: string, inner: string): boolean {
  const [around, within] = [spanOf(outer), spanOf(inner)];
  return (
    around !== undefined &&
    within !== undefined &&
    around.family === within.family &&
    around.first <= within.first &&
    around.last >= within.last
  );
}
