import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { catalogEntry, composeLabels, containerDetail } from '../../test/doubles/container-facts.ts';
import { CatalogIndex, componentIds, groupContainers } from './grouping.ts';

const index = new CatalogIndex([
  catalogEntry('sso-portal', {
    portal: { image: 'authelia/authelia', main: true },
    redis: { image: 'redis' },
    db: { image: 'postgres', optional: true },
  }),
  catalogEntry('rss-reader', { reader: { image: 'miniflux/miniflux', main: true }, db: { image: 'postgres' } }),
  catalogEntry('reverse-proxy', { caddy: { image: 'caddy', main: true } }),
]);

function service(project: string, name: string, image: string, dependsOn: string[] = []) {
  return containerDetail({ name: `${project}-${name}-1`, image, labels: composeLabels(project, name, dependsOn) });
}

function shape(groups: ReturnType<typeof groupContainers>) {
  return groups
    .map((group) => `${group.project}/${group.name}: ${group.members.map((member) => member.service + (member.main ? '*' : '')).join(' ')}`)
    .sort();
}

describe('grouping', () => {
  test('a catalog component and what it depends on are one row', () => {
    const groups = groupContainers(
      [service('news', 'reader', 'miniflux/miniflux:2.2', ['db']), service('news', 'db', 'postgres:16')],
      index,
    );
    expect(shape(groups)).toEqual(['news/rss-reader: reader* db']);
    expect(groups[0]?.members[1]?.known?.name).toBe('db');
  });

  test('a job that has the image of the main service is no component of its own', () => {
    const own = new CatalogIndex([
      catalogEntry('secrets-manager-path', {
        openbao: { image: 'openbao/openbao', main: true },
        storage: { image: 'openbao/openbao' },
      }),
    ]);
    const groups = groupContainers(
      [service('vault', 'storage', 'openbao/openbao:latest'), service('vault', 'openbao', 'openbao/openbao:latest', ['storage'])],
      own,
    );
    expect(shape(groups)).toEqual(['vault/secrets-manager-path: storage openbao*']);
  });

  test('one big compose file is a row for each component in it', () => {
    const groups = groupContainers(
      [
        service('home', 'miniflux', 'docker.io/miniflux/miniflux', ['minifluxdb']),
        service('home', 'minifluxdb', 'postgres:16-alpine'),
        service('home', 'proxy', 'caddy:2', ['miniflux', 'authelia']),
        service('home', 'authelia', 'authelia/authelia', ['redis']),
        service('home', 'redis', 'redis:7'),
        service('home', 'grafana', 'grafana/grafana'),
      ],
      index,
    );
    expect(shape(groups)).toEqual([
      'home/grafana: grafana*',
      'home/reverse-proxy: proxy*',
      'home/rss-reader: miniflux* minifluxdb',
      'home/sso-portal: authelia* redis',
    ]);
  });

  test('without depends_on labels (podman-compose) the entry knows what serves it', () => {
    const labels = (name: string) => ({ 'io.podman.compose.project': 'news', 'io.podman.compose.service': name });
    const groups = groupContainers(
      [
        containerDetail({ name: 'news_reader_1', image: 'docker.io/miniflux/miniflux:latest', labels: labels('reader') }),
        containerDetail({ name: 'news_db_1', image: 'docker.io/library/postgres:16-alpine', labels: labels('db') }),
      ],
      index,
    );
    expect(shape(groups)).toEqual(['news/rss-reader: reader* db']);
  });

  test('a database that two components could mean stays on its own', () => {
    const groups = groupContainers(
      [
        service('home', 'miniflux', 'miniflux/miniflux'),
        service('home', 'authelia', 'authelia/authelia'),
        service('home', 'db', 'postgres'),
      ],
      index,
    );
    expect(shape(groups)).toEqual(['home/db: db*', 'home/rss-reader: miniflux*', 'home/sso-portal: authelia*']);
  });

  test('an unknown project is grouped by what depends on what', () => {
    const groups = groupContainers(
      [
        service('shop', 'web', 'shop/web', ['api']),
        service('shop', 'api', 'shop/api', ['pg']),
        service('shop', 'pg', 'postgres'),
        service('shop', 'mail', 'mailhog'),
      ],
      index,
    );
    expect(shape(groups)).toEqual(['shop/mail: mail*', 'shop/web: web* api pg']);
  });

  test('containers made by hand are matched too, and two of a kind are told apart', () => {
    const groups = groupContainers(
      [
        containerDetail({ name: 'edge', image: 'caddy:2.8' }),
        containerDetail({ name: 'test', image: 'caddy' }),
        containerDetail({ name: 'x', image: 'busybox' }),
      ],
      index,
    );
    expect(shape(groups)).toEqual(['/reverse-proxy@edge: edge*', '/reverse-proxy@test: test*', '/x: x*']);
  });

  test('one-off runs of compose are no components', () => {
    const once = containerDetail({ name: 'once', labels: { ...composeLabels('news', 'reader'), 'com.docker.compose.oneoff': 'True' } });
    expect(groupContainers([once], index)).toEqual([]);
  });

  test('hostile names and cycles lose nothing: every container is in exactly one group', () => {
    const name = fc.constantFrom('a', 'b', 'c', '\x1b[2J', '../x', '', 'ü');
    const container = fc.record({
      project: fc.constantFrom('', 'p', 'q', '\x1b]0;x\x07'),
      service: name,
      image: fc.constantFrom('caddy', 'postgres', 'miniflux/miniflux', 'redis', 'x', ':::', ''),
      dependsOn: fc.array(name, { maxLength: 3 }),
    });
    fc.assert(
      fc.property(fc.array(container, { maxLength: 12 }), (list) => {
        const containers = list.map((item, number) =>
          containerDetail({
            id: `id${number}`,
            name: `n${number}`,
            image: item.image,
            labels: item.project ? composeLabels(item.project, item.service, item.dependsOn) : {},
          }),
        );
        const groups = groupContainers(containers, index);
        const ids = groups.flatMap((group) => group.members.map((member) => member.container.id)).sort();
        expect(ids).toEqual(containers.map((one) => one.id).sort());
        const keys = groups.map((group) => `${group.project}/${group.name}`);
        expect(new Set(keys).size).toBe(keys.length);
        for (const group of groups) expect(group.members.filter((member) => member.main)).toHaveLength(1);
      }),
    );
  });
});

describe('names of components', () => {
  const lone = (name: string) => containerDetail({ name, image: 'caddy' });
  const names = (containers: ReturnType<typeof lone>[]) => {
    const groups = groupContainers(containers, index);
    return [...componentIds(groups).values()].sort();
  };

  test.each([
    ['one, whatever it is called', [service('edge', 'front', 'caddy')], ['reverse-proxy']],
    ['two projects', [service('a', 'front', 'caddy'), service('b', 'front', 'caddy')], ['reverse-proxy@a', 'reverse-proxy@b']],
    ['two containers by hand', [lone('one'), lone('two')], ['reverse-proxy@one', 'reverse-proxy@two']],
    ['a project and a container', [service('a', 'front', 'caddy'), lone('one')], ['reverse-proxy@a', 'reverse-proxy@one']],
    [
      'two services of one project',
      [service('a', 'front', 'caddy'), service('a', 'back', 'caddy')],
      ['reverse-proxy@a-back-1', 'reverse-proxy@a-front-1'],
    ],
    [
      'what was deployed from here keeps the plain name',
      [service('lab', 'front', 'caddy'), service('reverse-proxy', 'caddy', 'caddy')],
      ['reverse-proxy', 'reverse-proxy@lab'],
    ],
    ['what the catalog does not know', [service('a', 'web', 'x/y'), service('b', 'web', 'x/y')], ['web@a', 'web@b']],
  ])('%s', (_, containers, expected) => {
    expect(names(containers)).toEqual(expected);
    expect(names([...containers].reverse()), 'whichever the engine lists first').toEqual(expected);
  });

  test('hostile names and any mixture: each has one of its own', () => {
    const name = fc.constantFrom('a', 'b', 'caddy', 'reverse-proxy', 'a@b');
    fc.assert(
      fc.property(fc.array(fc.record({ project: fc.option(name), service: name, image: fc.constantFrom('caddy', 'x') })), (all) => {
        const containers = all.map(({ project, service: called, image }, number) =>
          containerDetail({
            id: `${number}`,
            name: `${called}-${number}`,
            image,
            labels: project === null ? {} : composeLabels(project, called),
          }),
        );
        const ids = names(containers);
        expect(new Set(ids).size).toBe(ids.length);
      }),
    );
  });
});
