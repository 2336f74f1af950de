import type { Store } from './store.ts';

type Tree = Record<string, Record<string, number>>;

const count = (tree: Tree, key: string, inner: string): void => {
  const branch = tree[key] ?? {};
  branch[inner] = (branch[inner] ?? 0) + 1;
  tree[key] = branch;
};

/** What the process counted since its start. */
export class RequestCounts {
  readonly routes: Tree = {};
  readonly machines: Record<string, Tree> = {};
  readonly bouncers: Record<string, Tree> = {};
  readonly answers: Record<string, { NonEmpty: number; Empty: number }> = {};
  /** By source of log lines: lines read, parsed and not, poured to buckets. */
  readonly lines: Record<string, { reads: number; parsed: number; unparsed: number; pour: number }> = {};
  readonly buckets: Record<string, { instantiation: number; pour: number; overflow: number; underflow: number }> = {};

  route(path: string, method: string): void {
    count(this.routes, path, method);
  }
  machine(name: string, path: string, method: string): void {
    this.machines[name] ??= {};
    count(this.machines[name], path, method);
  }
  bouncer(name: string, path: string, method: string): void {
    this.bouncers[name] ??= {};
    count(this.bouncers[name], path, method);
  }
  answered(bouncer: string, some: boolean): void {
    this.answers[bouncer] ??= { NonEmpty: 0, Empty: 0 };
    const own = this.answers[bouncer];
    own[some ? 'NonEmpty' : 'Empty']++;
  }
  read(source: string, lines: number, parsed: number): void {
    this.lines[source] ??= { reads: 0, parsed: 0, unparsed: 0, pour: 0 };
    const own = this.lines[source];
    own.reads += lines;
    own.parsed += parsed;
    own.unparsed += lines - parsed;
    own.pour += parsed;
  }
  bucket(scenario: string, poured: number, overflowed: boolean): void {
    this.buckets[scenario] ??= { instantiation: 0, pour: 0, overflow: 0, underflow: 0 };
    const own = this.buckets[scenario];
    own.instantiation++;
    own.pour += poured;
    own[overflowed ? 'overflow' : 'underflow']++;
  }
}

const label = (value: string): string => `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;

/** The page at port 6060, in Prometheus' text form. */
export function prometheusText(store: Store, counts: RequestCounts, version: string): string {
  const rows: string[] = [];
  const family = (name: string, kind: string, help: string, series: readonly [labels: Record<string, string>, value: number][]) => {
    if (series.length === 0) return;
    rows.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`);
    for (const [labels, value] of series) {
      const inner = Object.entries(labels)
        .map(([key, text]) => `${key}=${label(text)}`)
        .join(',');
      rows.push(`${name}{${inner}} ${value}`);
    }
  };
  const alerts = new Map<string, number>();
  for (const alert of store.alerts) alerts.set(alert.scenario, (alerts.get(alert.scenario) ?? 0) + 1);
  family(
    'cs_alerts',
    'gauge',
    'Number of alerts (excluding CAPI).',
    [...alerts].map(([reason, value]) => [{ reason }, value]),
  );
  family('cs_active_decisions', 'gauge', 'Number of active decisions.', activeDecisions(store));
  family('cs_info', 'gauge', 'Information about Crowdsec.', [[{ version }, 1]]);
  family(
    'cs_filesource_hits_total',
    'counter',
    'Total lines that were read.',
    Object.entries(counts.lines).map(([source, own]) => [{ source }, own.reads]),
  );
  const perCaller = (tree: Record<string, Tree>, key: string): [Record<string, string>, number][] =>
    Object.entries(tree).flatMap(([name, routes]) =>
      Object.entries(routes).flatMap(([route, methods]) =>
        Object.entries(methods).map(([method, value]): [Record<string, string>, number] => [{ [key]: name, method, route }, value]),
      ),
    );
  family('cs_lapi_bouncer_requests_total', 'counter', 'Number of calls to each route per bouncer.', perCaller(counts.bouncers, 'bouncer'));
  const answers = Object.entries(counts.answers);
  family(
    'cs_lapi_decisions_ko_total',
    'counter',
    'Number of calls to /decisions that returned nothing.',
    answers.map(([bouncer, own]) => [{ bouncer }, own.Empty]),
  );
  family(
    'cs_lapi_decisions_ok_total',
    'counter',
    'Number of calls to /decisions that returned something.',
    answers.map(([bouncer, own]) => [{ bouncer }, own.NonEmpty]),
  );
  family('cs_lapi_machine_requests_total', 'counter', 'Number of calls to each route per machine.', perCaller(counts.machines, 'machine'));
  family(
    'cs_lapi_route_requests_total',
    'counter',
    'Number of calls to each route per method.',
    Object.entries(counts.routes).flatMap(([route, methods]) =>
      Object.entries(methods).map(([method, value]): [Record<string, string>, number] => [{ method, route }, value]),
    ),
  );
  return `${rows.join('\n')}\n`;
}

function activeDecisions(store: Store): [Record<string, string>, number][] {
  const now = store.now();
  const tally = new Map<string, number>();
  for (const decision of store.decisions()) {
    if (decision.untilMs <= now) continue;
    const key = JSON.stringify([decision.type, decision.origin, decision.scenario]);
    tally.set(key, (tally.get(key) ?? 0) + 1);
  }
  return [...tally].map(([key, value]) => {
    const [action, origin, reason] = JSON.parse(key) as [string, string, string];
    return [{ action, origin, reason }, value];
  });
}

/** What `cscli metrics -o json` gathers, by section, as it is named from 1.6 on. */
export function metricSections(store: Store, counts: RequestCounts): Record<string, unknown> {
  const decisions: Record<string, Record<string, Record<string, number>>> = {};
  for (const [labels, value] of activeDecisions(store)) {
    const { action = '', origin = '', reason = '' } = labels;
    const origins = decisions[reason] ?? {};
    decisions[reason] = origins;
    origins[origin] = { ...origins[origin], [action]: value };
  }
  const alerts: Record<string, number> = {};
  for (const alert of store.alerts) alerts[alert.scenario] = (alerts[alert.scenario] ?? 0) + 1;
  return {
    acquisition: Object.fromEntries(Object.entries(counts.lines).map(([source, { pour, ...own }]) => [source, { ...own, pour }])),
    alerts,
    'appsec-engine': {},
    'appsec-rule': {},
    bouncers: {},
    decisions,
    lapi: counts.routes,
    'lapi-bouncer': counts.bouncers,
    'lapi-decisions': counts.answers,
    'lapi-machine': counts.machines,
    parsers: Object.fromEntries(
      Object.keys(counts.lines).length === 0
        ? []
        : [
            [
              'crowdsecurity/sshd-logs',
              Object.values(counts.lines).reduce(
                (sum, own) => ({ hits: sum.hits + own.reads, parsed: sum.parsed + own.parsed, unparsed: sum.unparsed + own.unparsed }),
                { hits: 0, parsed: 0, unparsed: 0 },
              ),
            ],
          ],
    ),
    scenarios: counts.buckets,
    stash: {},
    whitelists: {},
  };
}
