import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { planJson } from '../../source/stack/plan/plan-text.ts';
import { planOf } from '../doubles/deployed-stack.ts';

/** What stands in a member of a value, for lists in their first item. */
function keysOf(value: unknown): unknown {
  if (Array.isArray(value)) return [keysOf(value[0])];
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, keysOf(member)]));
}

test('docs/json.md shows a plan as the program prints it', () => {
  const text = readFileSync(join(import.meta.dirname, '../../docs/json.md'), 'utf8');
  const shown: unknown = JSON.parse(/```json plan\n([\s\S]*?)```/.exec(text)?.[1] ?? '');
  const plan = planOf('rss-reader', '/home/ada/stack', [{ path: 'rss-reader/.env', before: '', after: 'WEB_PORT=8384\n' }], {
    ports: [{ service: 'reader', name: 'web', address: '127.0.0.1', host: 8384, container: 8080, protocol: 'tcp', fixed: false }],
    secrets: [{ variable: 'DB_PASSWORD', label: 'password', what: 'keep', version: 'le04ya' }],
    networks: [{ name: 'quarterdeck-model-runtime', exists: true }],
    volumes: ['rss-reader_db'],
    notes: ['what to know'],
  });
  const findings = [{ id: 'port-taken:web', level: 'blocking' as const, message: 'm', advice: 'a', rule: 'R88' }];
  expect(keysOf(shown)).toEqual(keysOf(planJson(plan, findings, false)));
});
