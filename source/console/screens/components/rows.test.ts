import { describe, expect, test } from 'vitest';
import { minute, sampleComponent, sampleSnapshot } from '../../../../test/doubles/console/sample-fleet.ts';
import { componentRows, isWell, matchingComponents, matchingPorts, namesOf, selectedIn } from './rows.ts';

const { components, ports } = sampleSnapshot();
const vault = (project: string, host = 'nas') =>
  sampleComponent({
    id: 'password-vault',
    group: 'security',
    kind: '',
    product: '',
    image: 'x',
    state: 'running',
    agoMs: minute,
    project,
    host,
  });

describe('rows', () => {
  test('keep the order of the fleet below one heading per group', () => {
    const rows = componentRows(components, '');
    expect(rows.flatMap((row) => (row.kind === 'component' ? [row.component.id] : []))).toEqual(components.map(({ id }) => id));
    expect(rows.filter((row) => row.kind === 'group')).toHaveLength(new Set(components.map(({ group }) => group)).size);
  });

  test('headings count the whole group while a filter hides parts of it', () => {
    const [heading, ...rest] = componentRows(components, 'jellyfin');
    expect(heading).toMatchObject({ kind: 'group', title: 'Media', well: 2, total: 3 });
    expect(rest).toHaveLength(1);
  });

  test('a job that ended well is well, a component that wants something is not', () => {
    const states = Object.fromEntries(components.map((component) => [component.id, isWell(component)]));
    expect(states).toMatchObject({ 'backup-job': true, 'media-server': true, 'password-vault': false, 'ldap-directory': false });
  });
});

describe('a filter', () => {
  test.each([
    ['jellyfin', 'media-server'],
    ['single sign', 'sso-portal'],
    ['sealed', 'secrets-manager-path'],
    ['mdsrv', 'media-server'],
  ])('"%s" finds %s', (filter, id) => {
    expect(matchingComponents(components, filter).map((component) => component.id)).toContain(id);
  });

  test('finds ports by number, owner, exposure and by being in conflict', () => {
    expect(matchingPorts(ports, '8200').map(({ owner }) => owner)).toEqual(['secrets-manager-path']);
    expect(matchingPorts(ports, 'conflict')).toHaveLength(2);
    expect(matchingPorts(ports, 'loopback').every(({ exposure }) => exposure === 'loopback')).toBe(true);
  });
});

test('the selection goes by key, then by place, then to the last', () => {
  const rows = componentRows(components, '');
  expect(selectedIn(rows, components[3]?.key, 0)?.id).toBe(components[3]?.id);
  expect(selectedIn(rows, 'gone', 3)?.id).toBe(components[3]?.id);
  expect(selectedIn(rows, 'gone', 999)?.id).toBe(components.at(-1)?.id);
  expect(selectedIn([], 'gone', 0)).toBeUndefined();
});

test('components with the same name are told apart by project, container or host', () => {
  const names = (list: ReturnType<typeof vault>[]) => [...namesOf(list).values()];
  expect(names([vault('a'), vault('b')])).toEqual(['password-vault (a)', 'password-vault (b)']);
  expect(names([vault('a'), vault('a', 'pi')])).toEqual(['password-vault (nas)', 'password-vault (pi)']);
  expect(names([vault('a')])).toEqual(['password-vault']);
});
