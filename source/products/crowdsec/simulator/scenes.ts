import { rfc3339 } from './go-words.ts';
import type { AlertSource, Store } from './store.ts';

export interface Scene {
  store: Store;
  machine: string;
  log(message: string): void;
  signal: AbortSignal;
}

/** Addresses that are reserved for examples, with places that are invented. */
const intruders: readonly AlertSource[] = [
  ['203.0.113.7', 'NL', 'Example Hosting', '64500', '203.0.113.0/24'],
  ['203.0.113.66', 'NL', 'Example Hosting', '64500', '203.0.113.0/24'],
  ['198.51.100.23', 'BR', 'Example Telecom', '64501', '198.51.100.0/25'],
  ['198.51.100.200', 'US', 'Example Cloud', '64502', '198.51.100.128/25'],
  ['192.0.2.44', 'FR', 'Example Net', '64503', '192.0.2.0/24'],
  ['2001:db8:5::bad', 'DE', 'Example Six', '64504', '2001:db8:5::/48'],
].map(([ip = '', cn = '', as_name = '', as_number = '', range = '']) => ({ as_name, as_number, cn, ip, range, scope: 'Ip', value: ip }));

const scenarios = [
  { name: 'crowdsecurity/ssh-bf', events: 6, service: 'ssh', file: '/var/log/auth.log' },
  { name: 'crowdsecurity/ssh-slow-bf', events: 11, service: 'ssh', file: '/var/log/auth.log' },
  { name: 'crowdsecurity/http-probing', events: 11, service: 'http', file: '/var/log/caddy/access.log' },
  { name: 'crowdsecurity/http-sensitive-files', events: 5, service: 'http', file: '/var/log/caddy/access.log' },
];

const pick = <T>(from: readonly T[], index: number): T => from[index % from.length] as T;

/** An alert and the ban for four hours that the default profile decides. */
function raise(
  { store, machine, log }: Omit<Scene, 'signal'>,
  intruder: number,
  scenario: number,
  tookMs: number,
  atMs = Date.now(),
): void {
  const source = pick(intruders, intruder);
  const { name, events, service, file } = pick(scenarios, scenario);
  const message = `Ip ${source.value} performed '${name}' (${events} events over ${tookMs / 1000}s) at ${rfc3339(atMs)}`;
  const meta = { datasource_path: file, datasource_type: 'file', service, source_ip: source.value, timestamp: rfc3339(atMs - tookMs) };
  store.addAlert({ machine, createdMs: atMs, startMs: atMs - tookMs, eventsCount: events, message, scenario: name, source, meta }, [
    { origin: 'crowdsec', scenario: name, scope: 'Ip', value: source.value, type: 'ban', untilMs: atMs + 4 * 3_600_000 },
  ]);
  log(message);
  log(`(${machine}/crowdsec) ${name} by ip ${source.value} (${source.cn}/${source.as_number}) : 4h ban on Ip ${source.value}`);
}

/** What happened in the last two days: the older bans are over, the newest still hold. */
export function seedHistory(store: Store, machine: string): void {
  for (let index = 0; index < 14; index++) {
    const atMs = Date.now() - (14 - index) * 3.4 * 3_600_000 + 3_000_000;
    raise({ store, machine, log: () => {} }, index * 5, index * 3, 3000 + index * 700, atMs);
  }
}

/** One alert of the central API with this many decisions, as a pull of the shared block list leaves it. At most 65,536. */
export function subscribeBlocklist(store: Store, count: number): void {
  const message = `update : +${count}/-0 IPs`;
  store.addAlert(
    { machine: 'N/A', message, scenario: message, source: { scope: 'crowdsecurity/community-blocklist', value: '' } },
    // Addresses that are reserved for measuring networks: nobody has them.
    Array.from({ length: count }, (_, index) => ({
      origin: 'CAPI',
      scenario: pick(scenarios, index).name,
      scope: 'Ip',
      value: `198.18.${(index >> 8) & 255}.${index & 255}`,
      type: 'ban',
      untilMs: Date.now() + 86_400_000 + (index % 3600) * 60_000,
    })),
  );
}

const pullEveryMs = 10_000;
const pullsUntilAlert = 6;

/** Until `signal`: an alert a minute, and the bouncer of a firewall that queries for decisions again and again. */
export function live(scene: Scene, address: string): void {
  let count = Math.floor(Math.random() * 100) * pullsUntilAlert;
  const pull = () => {
    const [bouncer] = scene.store.bouncers;
    if (bouncer) Object.assign(bouncer, { lastPullMs: Date.now(), address, type: 'crowdsec-firewall-bouncer', version: 'v0.0.34' });
    const turn = ++count / pullsUntilAlert;
    if (Number.isInteger(turn)) raise(scene, turn * 7, turn * 3, 2000 + (turn % 9) * 1300);
  };
  pull();
  const pulls = setInterval(pull, pullEveryMs).unref();
  scene.signal.addEventListener('abort', () => clearInterval(pulls));
}

/** A burst: every intruder at once, then more blows within seconds. */
export function attack(scene: Scene): void {
  for (let blow = 0; blow < 24; blow++) {
    const strike = () => {
      if (!scene.signal.aborted) raise(scene, blow, blow * 5, 900 + blow * 60);
    };
    setTimeout(strike, Math.max(0, blow - intruders.length) * 400).unref();
  }
}
