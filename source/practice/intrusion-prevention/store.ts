import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { type AddressSpan, spanOf } from './address-span.ts';

export interface Decision {
  id: number;
  uuid: string;
  origin: string;
  scenario: string;
  scope: string;
  value: string;
  type: string;
  simulated: boolean;
  createdMs: number;
  untilMs: number;
}

export interface AlertSource {
  as_name?: string;
  as_number?: string;
  cn?: string;
  ip?: string;
  latitude?: number;
  longitude?: number;
  range?: string;
  scope: string;
  value: string;
}

export interface AlertEvent {
  meta: readonly { key: string; value: string }[];
  timestampMs: number;
}

export interface Alert {
  id: number;
  uuid: string;
  machine: string;
  kind: string;
  createdMs: number;
  startMs: number;
  stopMs: number;
  capacity: number;
  eventsCount: number;
  leakspeed: string;
  message: string;
  remediation: boolean;
  scenario: string;
  scenarioHash: string;
  scenarioVersion: string;
  simulated: boolean;
  source: AlertSource;
  events: readonly AlertEvent[];
  decisions: Decision[];
}

export interface Bouncer {
  id: number;
  name: string;
  /** SHA-512 of the key, hex: all that the real one keeps too. */
  keyHash: string;
  createdMs: number;
  updatedMs: number;
  lastPullMs?: number;
  address: string;
  type: string;
  version: string;
}

export interface Machine {
  id: number;
  login: string;
  password: string;
  validated: boolean;
  createdMs: number;
  updatedMs: number;
  lastPushMs?: number;
  lastHeartbeatMs?: number;
  address: string;
  version: string;
}

export interface AllowlistItem {
  value: string;
  description: string;
  createdMs: number;
  /** Undefined: never. */
  untilMs?: number;
}

export interface Allowlist {
  id: string;
  name: string;
  description: string;
  createdMs: number;
  updatedMs: number;
  consoleManaged: boolean;
  items: AllowlistItem[];
}

export const hashOfKey = (key: string): string => createHash('sha512').update(key).digest('hex');

/** What the database holds; it outlives a restart of the container. Newest alerts last. */
export class Store {
  readonly alerts: Alert[] = [];
  readonly bouncers: Bouncer[] = [];
  readonly machines: Machine[] = [];
  readonly allowlists: Allowlist[] = [];
  #lastAlert = 0;
  #lastDecision = 0;
  #lastBouncer = 0;
  #lastMachine = 0;
  readonly #spans = new WeakMap<Decision, { span: AddressSpan | undefined }>();
  /** Rewritten by whoever plays the container: the database has no clock of its own. */
  now: () => number = Date.now;

  addAlert(
    alert: Omit<Alert, 'id' | 'uuid' | 'createdMs' | 'decisions'>,
    decisions: readonly Omit<Decision, 'id' | 'uuid' | 'createdMs'>[],
  ): Alert {
    const createdMs = this.now();
    const stored: Alert = {
      ...alert,
      id: ++this.#lastAlert,
      uuid: randomUUID(),
      createdMs,
      decisions: decisions.map((decision) => ({ ...decision, id: ++this.#lastDecision, uuid: randomUUID(), createdMs })),
    };
    this.alerts.push(stored);
    return stored;
  }

  addMachine(login: string, password: string, validated: boolean, address = '127.0.0.1'): Machine {
    const now = this.now();
    const machine: Machine = {
      id: ++this.#lastMachine,
      login,
      password,
      validated,
      createdMs: now,
      updatedMs: now,
      address,
      version: '',
    };
    this.machines.push(machine);
    return machine;
  }

  /** Makes a key where none is given; it is the only time that it is seen. */
  addBouncer(name: string, key = randomBytes(16).toString('hex')): string {
    const now = this.now();
    this.bouncers.push({
      id: ++this.#lastBouncer,
      name,
      keyHash: hashOfKey(key),
      createdMs: now,
      updatedMs: now,
      address: '',
      type: '',
      version: '',
    });
    return key;
  }

  *decisions(): Generator<Decision> {
    for (const alert of this.alerts) yield* alert.decisions;
  }

  /** What addresses a decision is about; undefined for a country, a user name, an AS. */
  spanOf(decision: Decision): AddressSpan | undefined {
    let known = this.#spans.get(decision);
    if (known === undefined) {
      known = { span: /^(?:ip|range)$/i.test(decision.scope) ? spanOf(decision.value) : undefined };
      this.#spans.set(decision, known);
    }
    return known.span;
  }

  /** Ends decisions now, as deleting them does: their alerts remain. Gives how many were still active. */
  expire(wanted: (decision: Decision) => boolean): number {
    const now = this.now();
    let count = 0;
    for (const decision of this.decisions()) {
      if (decision.untilMs <= now || !wanted(decision)) continue;
      decision.untilMs = now;
      count++;
    }
    return count;
  }

  /** Removes alerts with their decisions. Gives how many. */
  removeAlerts(doomed: ReadonlySet<Alert>): number {
    const before = this.alerts.length;
    let kept = 0;
    for (const alert of this.alerts) if (!doomed.has(alert)) this.alerts[kept++] = alert;
    this.alerts.length = kept;
    return before - kept;
  }
}
