import { expect, test } from 'vitest';
import { tellingOf } from '../log-line-text.ts';
import { whoText } from './log-lead.ts';

test.each([
  ['gvmd', 16, 'vulnerabil…/gvmd'],
  ['gvmd', 30, 'vulnerability-scanner/gvmd    '],
  ['ospd-openvas', 16, 'vulnerability-s…'],
  ['vulnerability-scanner', 16, 'vulnerability-s…'],
])('whose a line is fits, and says the service as long as there is room: %s in %i columns', (service, columns, shown) => {
  expect(whoText({ component: 'nas/greenbone/vulnerability-scanner', service }, 'component', columns, '…')).toBe(shown);
});

test.each([
  ['nas/stack/password-vault', 'password-vault', 32, 'nas/password-vault              '],
  ['nas/stack/rss-reader', 'database', 22, 'nas/rss-read…/database'],
  ['nas/podman/stack/rss-reader', 'rss-reader', 22, 'nas/podman/rss-reader '],
  ['a-machine-far-away/stack/rss-reader', 'rss-reader', 22, 'a-machine-far-away/rs…'],
])(
  'of several hosts the host stands before the component, and stays longest: %s, %s in %i columns',
  (component, service, columns, shown) => {
    expect(whoText({ component, service }, 'host', columns, '…')).toBe(shown);
  },
);

test('what a line needs to be told apart is the host only where there are several', () => {
  expect(tellingOf(['nas/stack/vault'])).toBe('service');
  expect(tellingOf(['nas/stack/vault', 'nas/stack/sso'])).toBe('component');
  expect(tellingOf(['nas/stack/vault', 'shed/stack/vault'])).toBe('host');
  expect(tellingOf(['nas/stack/vault', 'nas/podman/stack/vault'])).toBe('host');
  expect(tellingOf(['nas//vault', 'shed//vault'])).toBe('host');
});
