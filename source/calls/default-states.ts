import type { CatalogEntry } from '../catalog/catalog.ts';

type ProbeState = NonNullable<CatalogEntry['probe']>['states'][number];

const silent: readonly ProbeState[] = [
  { when: '!ok && age < 120', state: 'starting', severity: 'busy', detail: 'Started {age} seconds ago.' },
  { when: '!ok', state: 'not answering', id: 'unreachable', severity: 'error', detail: '{failure}' },
];

/** R34: a component that requires a login or is overloaded is up. */
const answering: readonly ProbeState[] = [
  {
    when: 'status == 401 || status == 403',
    state: 'up, login needed',
    severity: 'ok',
    detail: 'It answers, and wants a login for this question.',
  },
  {
    when: 'status == 404',
    state: 'up, other path',
    severity: 'warning',
    detail: 'It answers, but not at this path; it is another version, or something else has this port.',
  },
  {
    when: 'status == 429 || status == 503',
    state: 'busy',
    severity: 'warning',
    detail: 'It turns requests away for now (status {status}).',
  },
  { when: 'status >= 500', state: 'failing', severity: 'error', detail: 'It answers with status {status}; its log says why.' },
];

/**
 * For responses that match none of a probe's own states, unless it sets `defaults: false`. For an opened port: only for a missing response;
 * for a call inside a container: none, because it is skipped in read-only mode.
 */
export function defaultStates({ probe, calls, product }: Pick<CatalogEntry, 'probe' | 'calls' | 'product'>): readonly ProbeState[] {
  if (!probe?.defaults) return [];
  const call = calls[probe.call];
  if (call?.tcp) return silent;
  if (!call?.http) return [];
  const detail = `Something answers on its port with status {status}, but not as ${product.name.replaceAll(/[{}]/g, '')} does.`;
  return [...silent, ...answering, { when: 'true', state: 'strange answer', severity: 'warning', detail }];
}
