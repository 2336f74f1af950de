import { expect, it } from 'vitest';
import { catalogEntry } from '../../../test/doubles/container-facts.ts';
import { PreflightFixture } from '../../../test/doubles/preflight-fixture.ts';

function fixture(enforce: string | undefined, labels: string) {
  const one = new PreflightFixture(catalogEntry('small', { app: { image: 'small', main: true } }, { group: 'productivity' }));
  one.compose(
    'services:\n  app:\n    image: small\n    volumes: ["./files/a.conf:/a.conf:ro", "/srv/films:/films:ro", "data:/data", "/etc/localtime:/etc/localtime:ro"]\n',
  );
  one.devices = { ...one.devices, '/srv/films': 1, '/srv/stack': 1, '/etc/localtime': 1 };
  one.facts = { kind: 'podman' };
  if (enforce !== undefined) one.texts['/sys/fs/selinux/enforce'] = enforce;
  one.programs['stat -c'] = labels;
  return { one, asked: () => one.ran.find((line) => line.startsWith('stat -c')) };
}

const shut = 'system_u:object_r:var_t:s0 /srv/films\nsystem_u:object_r:container_file_t:s0 /srv/stack\n';

it('folders of the host that are not labelled for containers are named on Podman, where SELinux is enforced (R13)', async () => {
  const { one, asked } = fixture('1\n', shut);
  expect(await one.finding('selinux')).toMatchObject({
    level: 'warning',
    message: expect.stringContaining('/srv/films is not labelled'),
    advice: expect.stringContaining("chcon -R -t container_file_t '/srv/films'."),
  });
  expect(asked()).toMatch(/ -- \/srv\/films \/srv\/stack$/);
});

it.each([
  ['it is off', '0\n', shut],
  ['there is none', undefined, shut],
  ['all are labelled', '1', shut.replace('var_t', 'container_file_t')],
  ['a folder is not there yet', '1', ''],
])('nothing is said where %s', async (_, enforce, labels) => {
  expect(await fixture(enforce, labels).one.finding('selinux')).toBeUndefined();
});

it('nothing is asked for Docker, which labels only where its daemon is told to', async () => {
  const { one, asked } = fixture('1', shut);
  one.facts = { kind: 'docker' };
  expect(await one.finding('selinux')).toBeUndefined();
  expect(asked()).toBeUndefined();
});
