/** What the health pages tell; a check that fails takes readiness with it. */
export interface ApiHealth {
  failing: Set<string>;
}

const hooks = [
  'start-apiserver-admission-initializer',
  'generic-apiserver-start-informers',
  'priority-and-fairness-config-consumer',
  'rbac/bootstrap-roles',
  'scheduling/bootstrap-system-priority-classes',
  'apiservice-registration-controller',
  'kube-apiserver-autoregistration',
];
const common = ['ping', 'log', 'etcd'];
const checks: Readonly<Record<string, readonly string[]>> = {
  healthz: [...common, ...hooks.map((name) => `poststarthook/${name}`), 'autoregister-completion'],
  livez: [...common, ...hooks.map((name) => `poststarthook/${name}`), 'autoregister-completion'],
  readyz: [
    ...common,
    'etcd-readiness',
    'informer-sync',
    ...hooks.map((name) => `poststarthook/${name}`),
    'autoregister-completion',
    'shutdown',
  ],
};

/** `/healthz`, `/livez` and `/readyz`, with `?verbose`, `?exclude=` and one check below them; undefined for other paths. */
export function healthPage(
  { failing }: ApiHealth,
  [page = '', ...rest]: readonly string[],
  query: URLSearchParams,
): { code: number; type: string; text: string } | undefined {
  const all = checks[page];
  if (all === undefined) return undefined;
  const type = 'text/plain; charset=utf-8';
  const one = rest.join('/');
  if (one !== '' && !all.includes(one)) return { code: 404, type, text: '404 page not found\n' };
  const excluded = query.getAll('exclude');
  const own = (one === '' ? all : [one]).filter((name) => !excluded.includes(name));
  const bad = own.some((name) => failing.has(name));
  if (!bad && !query.has('verbose')) return { code: 200, type, text: 'ok' };
  const lines = own.map((name) => (failing.has(name) ? `[-]${name} failed: reason withheld` : `[+]${name} ok`));
  return { code: bad ? 500 : 200, type, text: `${lines.join('\n')}\n${page} check ${bad ? 'failed' : 'passed'}\n` };
}
