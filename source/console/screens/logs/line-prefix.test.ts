import { expect, test } from 'vitest';
import { sourceNamingOf, sourceText } from './line-prefix.ts';

test.each([
  ['gvmd', 16, 'vulnerabil…/gvmd'],
  ['gvmd', 30, 'vulnerability-scanner/gvmd    '],
  ['ospd-openvas', 16, 'vulnerability-s…'],
  ['vulnerability-scanner', 16, 'vulnerability-s…'],
])('subject a line is fits, and says the service as long as there is room: %s in %i columns', (service, columns, shown) => {
  expect(sourceText({ component: 'nas/greenbone/vulnerability-scanner', service }, 'component', columns, '…')).toBe(shown);
});

test.each([
  ['nas/stack/password-vault', 'password-vault', 32, 'nas/password-vault              '],
  ['nas/stack/rss-reader', 'database', 22, 'nas/rss-read…/database'],
  ['nas/podman/stack/rss-reader', 'rss-reader', 22, 'nas/podman/rss-reader '],
  ['a-machine-far-away/stack/rss-reader', 'rss-reader', 22, 'a-machine-far-away/rs…'],
])(
  'of several hosts the host stands before the component, and stays longest: %s, %s in %i columns',
  (component, service, columns, shown) => {
    expect(sourceText({ component, service }, 'host', columns, '…')).toBe(shown);
  },
);

test('what a line needs to be told apart is the host only where there are several', () => {
  expect(sourceNamingOf(['nas/stack/vault'])).toBe('service');
  expect(sourceNamingOf(['nas/stack/vault', 'nas/stack/sso'])).toBe('component');
  expect(sourceNamingOf(['nas/stack/vault', 'shed/stack/vault'])).toBe('host');
  expect(sourceNamingOf(['nas/stack/vault', 'nas/podman/stack/vault'])).toBe('host');
  expect(sourceNamingOf(['nas//vault', 'shed//vault'])).toBe('host');
});
