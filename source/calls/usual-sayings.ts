import type { CatalogEntry } from '../catalog/catalog.ts';

type Saying = NonNullable<CatalogEntry['probe']>['says'][number];

const silent: readonly Saying[] = [
  { when: '!ok && age < 120', word: 'starting', tone: 'busy', detail: 'Started {age} seconds ago.' },
  { when: '!ok', word: 'not answering', tone: 'bad', detail: '{failure}' },
];

/** R34: who asks for a login or has too much to do is up. */
const answering: readonly Saying[] = [
  {
    when: 'status == 401 || status == 403',
    word: 'up, login needed',
    tone: 'good',
    detail: 'It answers, and wants a login for this question.',
  },
  {
    when: 'status == 404',
    word: 'up, other path',
    tone: 'warn',
    detail: 'It answers, but not at this path; it is another version, or something else has this port.',
  },
  { when: 'status == 429 || status == 503', word: 'busy', tone: 'warn', detail: 'It turns requests away for now (status {status}).' },
  { when: 'status >= 500', word: 'failing', tone: 'bad', detail: 'It answers with status {status}; its log says why.' },
];

/**
 * What is said of every answer that a probe has no words of its own for, unless it says `usual: false`. Of a question over HTTP that is every answer, of an
 * opened port only that there is none, and of what is asked inside a container nothing: that may not be asked at all while nothing may be changed.
 */
export function usualSayings({ probe, calls, product }: Pick<CatalogEntry, 'probe' | 'calls' | 'product'>): readonly Saying[] {
  if (!probe?.usual) return [];
  const call = calls[probe.call];
  if (call?.tcp) return silent;
  if (!call?.http) return [];
  const detail = `Something answers on its port with status {status}, but not as ${product.name.replaceAll(/[{}]/g, '')} does.`;
  return [...silent, ...answering, { when: 'true', word: 'strange answer', tone: 'warn', detail }];
}
