import { expect, test } from 'vitest';
import { declaredServices } from './compose-services.ts';

test('services with their images, profiles and dependencies, in both spellings', () => {
  const text = `
services:
  reader: {image: miniflux/miniflux, depends_on: {db: {condition: service_healthy}}}
  db: {image: postgres, depends_on: [cache]}
  debug: {image: busybox, profiles: [tools]}
  built: {build: .}
`;
  expect(declaredServices(text)).toEqual([
    { name: 'reader', image: 'miniflux/miniflux', profiles: false, dependsOn: ['db'] },
    { name: 'db', image: 'postgres', profiles: false, dependsOn: ['cache'] },
    { name: 'debug', image: 'busybox', profiles: true, dependsOn: [] },
    { name: 'built', image: '', profiles: false, dependsOn: [] },
  ]);
});

test.each([
  ['nothing', ''],
  ['no map', '- a\n- b\n'],
  ['no YAML', 'services: [\n'],
  ['services that are none', 'services: 7\n'],
  [
    'aliases without end',
    `a: &a [${'x,'.repeat(9)}x]\nb: &b [${'*a,'.repeat(9)}*a]\nc: &c [${'*b,'.repeat(9)}*b]\nservices: {d: {image: *c}}\n`,
  ],
])('a file that cannot be read declares nothing: %s', (_, text) => {
  expect(declaredServices(text)).toEqual([]);
});
