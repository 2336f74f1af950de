import { rfc3339 } from './go-words.ts';
import { takeAlerts } from './intake.ts';
import type { RequestCounts } from './metrics.ts';
import type { Dialect } from './queries.ts';
import type { AlertSource, Store } from './store.ts';

export interface Scene {
  store: Store;
  dialect: Dialect;
  machine: string;
  log(level: string, message: string): void;
  counts: RequestCounts;
  signal: AbortSignal;
}

interface Intruder {
  ip: string;
  cn: string;
  as: string;
  number: string;
  range: string;
}

/** Addresses that are reserved for examples, with places that are invented. */
const intruders: readonly Intruder[] = [
  { ip: '203.0.113.7', cn: 'NL', as: 'Example Hosting', number: '64500', range: '203.0.113.0/24' },
  { ip: '203.0.113.66', cn: 'NL', as: 'Example Hosting', number: '64500', range: '203.0.113.0/24' },
  { ip: '198.51.100.23', cn: 'BR', as: 'Example Telecom', number: '64501', range: '198.51.100.0/25' },
  { ip: '198.51.100.200', cn: 'US', as: 'Example Cloud', number: '64502', range: '198.51.100.128/25' },
  { ip: '192.0.2.44', cn: 'FR', as: 'Example Net', number: '64503', range: '192.0.2.0/24' },
  { ip: '2001:db8:5::bad', cn: 'DE', as: 'Example Six', number: '64504', range: '2001:db8:5::/48' },
];

interface Scenario {
  name: string;
  version: string;
  events: number;
  capacity: number;
  leakspeed: string;
  service: string;
  file: string;
}

const scenarios: readonly Scenario[] = [
  { name: 'crowdsecurity/ssh-bf', version: '0.3', events: 6, capacity: 5, leakspeed: '10s', service: 'ssh', file: '/var/log/auth.log' },
  {
    name: 'crowdsecurity/ssh-slow-bf',
    version: '0.4',
    events: 11,
    capacity: 10,
    leakspeed: '1m0s',
    service: 'ssh',
    file: '/var/log/auth.log',
  },
  {
    name: 'crowdsecurity/http-probing',
    version: '0.4',
    events: 11,
    capacity: 10,
    leakspeed: '10s',
    service: 'http',
    file: '/var/log/caddy/access.log',
  },
  {
    name: 'crowdsecurity/http-sensitive-files',
    version: '0.4',
    events: 5,
    capacity: 4,
    leakspeed: '5s',
    service: 'http',
    file: '/var/log/caddy/access.log',
  },
];

const pick = <T>(from: readonly T[], index: number): T => from[index % from.length] as T;

const sourceOf = (intruder: Intruder): AlertSource => ({
  as_name: intruder.as,
  as_number: intruder.number,
  cn: intruder.cn,
  ip: intruder.ip,
  range: intruder.range,
  scope: 'Ip',
  value: intruder.ip,
});

const alertOf = (intruder: Intruder, scenario: Scenario, stopMs: number, tookMs: number) => ({
  capacity: scenario.capacity,
  decisions: [],
  events: [0, 1].map((index) => ({
    meta: [
      { key: 'datasource_path', value: scenario.file },
      { key: 'datasource_type', value: 'file' },
      { key: 'service', value: scenario.service },
      { key: 'source_ip', value: intruder.ip },
      { key: 'timestamp', value: rfc3339(stopMs - tookMs * (1 - index)) },
    ],
    timestamp: rfc3339(stopMs - tookMs * (1 - index)),
  })),
  events_count: scenario.events,
  labels: null,
  leakspeed: scenario.leakspeed,
  message: `Ip ${intruder.ip} performed '${scenario.name}' (${scenario.events} events over ${tookMs / 1000}s) at ${rfc3339(stopMs)}`,
  remediation: true,
  scenario: scenario.name,
  scenario_hash: '4441dcff07020f6690d998b7101e642359ba405c2abb83565bbbdcee36de280f',
  scenario_version: scenario.version,
  simulated: false,
  source: sourceOf(intruder),
  start_at: rfc3339(stopMs - tookMs),
  stop_at: rfc3339(stopMs),
});

function raise(scene: Scene, intruder: Intruder, scenario: Scenario, tookMs: number): void {
  const now = scene.store.now();
  const alert = alertOf(intruder, scenario, now, tookMs);
  scene.counts.read(`file:${scenario.file}`, scenario.events + 4, scenario.events);
  scene.counts.bucket(scenario.name, scenario.events, true);
  scene.log('info', alert.message);
  takeAlerts(scene.store, [alert], scene.machine, scene.dialect, scene.log);
}

/** What happened in the last two days: the older bans are over, the newest still hold. */
export function seedHistory(store: Store, machine: string): void {
  const now = store.now();
  const clock = store.now;
  for (let index = 0; index < 14; index++) {
    const agoMs = (14 - index) * 3.4 * 3_600_000 - 3_000_000;
    const stopMs = now - agoMs;
    store.now = () => stopMs;
    takeAlerts(
      store,
      [alertOf(pick(intruders, index * 5), pick(scenarios, index * 3), stopMs, 3000 + index * 700)],
      machine,
      '1.7.8',
      () => {},
    );
  }
  store.now = clock;
}

/** One alert of the central API with this many decisions, as a pull of the shared block list leaves it. At most 131,072. */
export function subscribeBlocklist(store: Store, count: number): void {
  const now = store.now();
  const names = [
    'crowdsecurity/ssh-bf',
    'crowdsecurity/http-probing',
    'crowdsecurity/http-backdoors-attempts',
    'crowdsecurity/http-bad-user-agent',
  ];
  const message = `update : +${count}/-0 IPs`;
  store.addAlert(
    {
      machine: 'N/A',
      kind: 'capi',
      startMs: now,
      stopMs: now,
      capacity: 0,
      eventsCount: 0,
      leakspeed: '',
      message,
      remediation: true,
      scenario: message,
      scenarioHash: '',
      scenarioVersion: '',
      simulated: false,
      source: { scope: 'crowdsecurity/community-blocklist', value: '' },
      events: [],
    },
    // Addresses that are reserved for measuring networks: nobody has them.
    Array.from({ length: Math.min(count, 131_072) }, (_, index) => ({
      origin: 'CAPI',
      scenario: pick(names, index),
      scope: 'Ip',
      value: `198.${18 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`,
      type: 'ban',
      simulated: false,
      untilMs: now + 86_400_000 + (index % 3600) * 60_000,
    })),
  );
}

const pullEveryMs = 10_000;

/** The bouncer asks for decisions again and again, as that of a firewall does, until the function that this gives is called. */
export function pullOn(store: Store, address: string): () => void {
  const pull = () => {
    const [bouncer] = store.bouncers;
    if (!bouncer) return;
    Object.assign(bouncer, { lastPullMs: store.now(), address, type: 'crowdsec-firewall-bouncer', version: 'v0.0.34' });
  };
  pull();
  const timer = setInterval(pull, pullEveryMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** An alert now and then, until `signal` or the function that it gives. */
export function liveOn(scene: Scene): () => void {
  let timer: NodeJS.Timeout | undefined;
  let turn = Math.floor(Math.random() * 100);
  const next = () => {
    timer = setTimeout(
      () => {
        turn++;
        raise(scene, pick(intruders, turn * 7), pick(scenarios, turn * 3), 2000 + (turn % 9) * 1300);
        next();
      },
      25_000 + Math.random() * 65_000,
    );
    timer.unref();
  };
  const stop = () => clearTimeout(timer);
  if (!scene.signal.aborted) {
    next();
    scene.signal.addEventListener('abort', stop, { once: true });
  }
  return stop;
}

/** A burst: every intruder at once with the first blow, then a few more within seconds. */
export function attack(scene: Scene): void {
  if (scene.signal.aborted) return;
  intruders.forEach((intruder, index) => {
    raise(scene, intruder, pick(scenarios, index), 900 + index * 150);
  });
  let left = 18;
  const blow = () => {
    if (scene.signal.aborted) return;
    raise(scene, pick(intruders, left * 5), pick(scenarios, left), 400 + left * 60);
    left--;
    if (left > 0) setTimeout(blow, 250 + left * 20).unref();
  };
  setTimeout(blow, 300).unref();
}
