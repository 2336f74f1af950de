import { describe, expect, test } from 'vitest';
import { serve } from '../../test/engine/recorded-engine.ts';
import { docker20, imageId, webId } from '../../test/engine/recordings.ts';
import { openLocalHost } from '../hosts/local-host.ts';
import { openEngine } from './dockerode-engine.ts';
import { makersLabels } from './image-labels.ts';

const project = 'com.docker.compose.project';
const service = 'com.docker.compose.service';
const number = 'com.docker.compose.container-number';

describe('labels are claims', () => {
  test('what the image carries too is no claim of whoever made the container', () => {
    expect(makersLabels({ [project]: 'vault', [service]: 'db', note: 'mine' }, { [project]: 'vault', [service]: 'db' })).toEqual({
      note: 'mine',
    });
  });

  test('also when an image carries all that compose would write', () => {
    const all = { [project]: 'vault', [service]: 'db', [number]: '1' };
    expect(makersLabels(all, all)).toEqual({});
  });

  test("another value than the image has is the maker's", () => {
    expect(makersLabels({ [project]: 'mine' }, { [project]: 'vault' })).toEqual({ [project]: 'mine' });
  });

  test('compose writes project and service into images it builds: a container that it made of one keeps them', () => {
    const built = { [project]: 'app', [service]: 'web', 'com.docker.compose.version': '2.40.3', title: 'x' };
    expect(makersLabels({ ...built, [number]: '1', 'com.docker.compose.oneoff': 'False' }, built)).toEqual({
      [project]: 'app',
      [service]: 'web',
      'com.docker.compose.version': '2.40.3',
      [number]: '1',
      'com.docker.compose.oneoff': 'False',
    });
  });

  test('and a plain run of that image makes no member of the project', () => {
    expect(makersLabels({ [project]: 'app', [service]: 'web' }, { [project]: 'app', [service]: 'web' })).toEqual({});
  });
});

test('images are asked for once, and again when one is new', async () => {
  const newId = `sha256:${'b'.repeat(64)}`;
  let images: object[] = [{ Id: imageId, Labels: { [project]: 'p1' }, RepoTags: ['a:1'] }];
  const container = (id: string, ImageID: string) => ({
    Id: id,
    Names: [`/${id}`],
    ImageID,
    Labels: { [project]: 'p1' },
    State: 'running',
    Status: 'Up',
  });
  let containers = [container(webId, imageId)];
  const later: Parameters<typeof docker20>[0] = {
    'GET /containers/json': (_, response) => response.end(JSON.stringify(containers)),
    'GET /images/json': (_, response) => response.end(JSON.stringify(images)),
  };
  await using recorded = await serve(docker20(later));
  const engine = openEngine(recorded.address, openLocalHost());
  const signal = AbortSignal.timeout(5_000);
  const asked = () => recorded.requests.filter(({ path }) => path.startsWith('/images/')).map(({ path }) => path);

  expect((await engine.list(signal))[0]?.labels).toEqual({});
  await engine.list(signal);
  expect(asked()).toEqual(['/images/json']);

  images = [...images, { Id: newId, Labels: null }];
  containers = [...containers, container('other', newId), container('orphan', `sha256:${'c'.repeat(64)}`)];
  expect((await engine.list(signal)).map(({ labels }) => labels)).toEqual([{}, { [project]: 'p1' }, { [project]: 'p1' }]);
  await engine.list(signal);
  // The image of the orphan is missing from the list: it is looked up individually, once.
  expect(asked()).toEqual(['/images/json', '/images/json', `/images/${encodeURIComponent(`sha256:${'c'.repeat(64)}`)}/json`]);
  engine.close();
});
