import { describe, expect, it } from 'vitest';
import { catalogEntry } from '../../../test/doubles/container-facts.ts';
import { PreflightFixture } from '../../../test/doubles/preflight-fixture.ts';
import { wholeCatalog } from '../../../test/doubles/whole-catalog.ts';
import type { CatalogEntry } from '../../catalog/catalog.ts';
import { Fault } from '../../faults/fault.ts';
import type { Deployment } from '../model.ts';

const { entries } = await wholeCatalog();
const fixture = (id: string) => new PreflightFixture(entries.find((entry) => entry.id === id) ?? expect.fail(`no ${id}`), entries);
const small = (more: Parameters<typeof catalogEntry>[2], others: readonly CatalogEntry[] = []) =>
  new PreflightFixture(catalogEntry('small', { app: { image: 'small', main: true } }, { group: 'productivity', ...more }), others);
const df = (...free: [kilobytes: number, mount: string][]) =>
  free.map(([kilobytes, mount]) => `/dev/x 99999999 1 ${kilobytes} 9% ${mount}\n`).join('');
const service = { name: 'app', image: 'team/app:1', before: undefined, change: 'create', why: '' } as const;

describe('room on the host', () => {
  it('too little blocks, little warns before something is pulled, and each filesystem is named once', async () => {
    const search = fixture('search-meta-engine');
    search.programs['sh -c'] = df([200_000, '/'], [200_000, '/']);
    expect(await search.reported()).toEqual(['blocking disk:/']);
    search.programs['sh -c'] = df([9_000_000, '/srv/a b'], [2_000_000, '/var']);
    expect(await search.reported()).toEqual([]);
    search.plan = { services: [{ ...service, present: false }] };
    expect(await search.reported()).toEqual(['warning disk:/var']);
    search.programs['sh -c'] = df([400_000, '/srv/a b'], [9_000_000, '/var']);
    expect((await search.finding('disk:/srv/a b'))?.message).toMatch(/^Only .* is free on \/srv\/a b \(local\)\.$/);
  });

  it('is asked for where the engine keeps its images, and compared with what the component needs', async () => {
    const one = small({ needs: { disk: '40GB', memory: '32GB' } });
    one.facts = { rootFolder: '/data/docker' };
    one.programs['sh -c'] = df([30_000_000, '/'], [30_000_000, '/data']);
    expect(await one.reported()).toEqual(['blocking disk:/data', 'warning memory']);
    expect(one.ran.find((line) => line.startsWith('sh -c'))).toMatch(/ df \/srv\/stack \/data\/docker$/);
    // Its data are part of the used space.
    one.deployments = [{ component: 'small', folder: '/srv/stack/small', compose: '', envText: '', env: {}, files: {}, record: undefined }];
    expect(await one.reported()).toEqual(['warning memory']);
  });
});

describe('devices', () => {
  it('/dev/dri that is missing is a warning that one key answers (R28)', async () => {
    const media = fixture('media-server');
    media.plan = { site: 'films.lan' };
    media.compose('services:\n  jellyfin:\n    image: jellyfin/jellyfin\n    devices: ["${DRI_DEVICE:-/dev/dri}:/dev/dri"]\n');
    expect(await media.reported()).toEqual([]);
    delete media.devices['/dev/dri'];
    expect(await media.finding('device:/dev/dri')).toMatchObject({
      level: 'warning',
      rule: 'R28',
      remedy: { kind: 'set', values: { DRI_DEVICE: '/dev/null' } },
    });
    media.values = { DRI_DEVICE: '/dev/null' };
    media.devices['/dev/null'] = 5;
    expect(await media.reported()).toEqual([]);
  });

  it('any other that is missing blocks', async () => {
    const tunnel = small({});
    tunnel.compose('services:\n  app:\n    image: small\n    devices: ["/dev/net/tun:/dev/net/tun"]\n');
    expect(await tunnel.reported()).toEqual(['blocking device:/dev/net/tun']);
  });
});

describe('images', () => {
  const photos = catalogEntry(
    'photos',
    { app: { image: 'photos', main: true }, db: { image: 'team/postgres-vector' } },
    { group: 'productivity' },
  );
  const entry: CatalogEntry = {
    ...photos,
    services: photos.services.map((one) => (one.name === 'db' ? { ...one, irreplaceable: 'it has the vector-search extension' } : one)),
  };

  it('a standard database in place of the one with vector search is refused (R30)', async () => {
    const one = new PreflightFixture(entry);
    const compose = (image: string) => one.compose(`services:\n  app: {image: photos}\n  db: {image: ${image}}\n`);
    compose('postgres:16');
    expect(await one.finding('image:db')).toMatchObject({ level: 'blocking', rule: 'R30' });
    for (const image of ['team/postgres-vector:17', `team/postgres-vector@sha256:${'a'.repeat(64)}`, `sha256:${'a'.repeat(64)}`]) {
      compose(image);
      expect(await one.reported()).toEqual([]);
    }
  });

  it('of another architecture is named', async () => {
    const one = small({});
    one.engine.localImages.push({
      id: 'sha256:1',
      tags: ['small:latest'],
      digests: [],
      architecture: 'arm64',
      sizeBytes: 1,
      labels: {},
    });
    expect((await one.finding('architecture:app'))?.message).toContain('is for arm64, but the host is amd64');
    one.hostFacts = { architecture: 'arm64' };
    expect(await one.reported()).toEqual([]);
    const only = new PreflightFixture({
      ...one.entry,
      services: one.entry.services.map((each) => ({ ...each, architectures: ['amd64'] })),
    });
    only.hostFacts = { architecture: 'arm64' };
    expect(await only.reported()).toEqual(['blocking architecture:app']);
    // The operator may have an image for this host, whatever the catalog knows.
    only.engine.localImages.push({ id: 'sha256:2', tags: ['small:latest'], digests: [], architecture: 'arm64', sizeBytes: 1, labels: {} });
    expect(await only.reported()).toEqual([]);
  });
});

describe('downloads and library (R27)', () => {
  const holds = (id: string, targets: Record<string, 'downloads' | 'library'>) =>
    catalogEntry(
      id,
      { app: { image: id, main: true } },
      {
        group: 'media',
        volumes: Object.fromEntries(Object.entries(targets).map(([target, what]) => [target, { description: '', content: what }])),
      },
    );
  const films = holds('films', { '/downloads': 'downloads', '/movies': 'library' });
  const torrents = holds('torrents', { '/downloads': 'downloads' });
  const compose = (...volumes: string[]) => `services:\n  app:\n    image: x\n    volumes: ${JSON.stringify(volumes)}\n`;
  const client = (folder: string): Deployment => ({
    component: 'torrents',
    folder: '/srv/stack/torrents',
    compose: compose('${DOWNLOADS:-./dl}:/downloads'),
    envText: '',
    env: { DOWNLOADS: folder },
    files: {},
    record: undefined,
  });

  it('on one filesystem are fine; on two, files are copied', async () => {
    const one = new PreflightFixture(films, [torrents]);
    one.compose(compose('/data/dl:/downloads', '/data/films:/movies'));
    one.devices = { '/': 1, '/data': 2 };
    expect(await one.reported()).toEqual([]);
    one.devices = { '/': 1, '/data': 2, '/data/films': 3 };
    expect(await one.finding('filesystems:/movies')).toMatchObject({ level: 'warning', rule: 'R27' });
  });

  it('of the torrent client elsewhere are not found, and one key joins them', async () => {
    const one = new PreflightFixture(films, [torrents]);
    one.deployments = [client('/data/dl')];
    one.devices = { '/': 1 };
    one.compose(compose('${DOWNLOADS:-./downloads}:/downloads', './films:/movies'));
    expect(await one.finding('downloads-apart:torrents')).toMatchObject({ rule: 'R27', remedy: { values: { DOWNLOADS: '/data/dl' } } });
    one.values = { DOWNLOADS: '/data/dl/' };
    expect(await one.reported()).toEqual([]);
  });

  it('in an engine volume lie where the engine says', async () => {
    const one = new PreflightFixture(films, [torrents]);
    one.compose(compose('dl:/downloads', '/data/films:/movies'));
    one.engine.volumeList.push({ name: 'films_dl', labels: {}, mountpoint: '/var/lib/docker/volumes/films_dl/_data' });
    one.devices = { '/var/lib/docker/volumes/films_dl/_data': 4, '/data': 2 };
    expect(await one.reported()).toEqual(['warning filesystems:/movies']);
    one.devices = {};
    expect(await one.reported()).toEqual(['warning unknown:storage']);
  });
});

describe('files that nobody delivers', () => {
  const overlay = () => {
    const one = fixture('overlay-mesh');
    one.devices['/dev/net/tun'] = 5;
    return one;
  };
  const own = '/srv/stack/overlay-mesh/files';

  it('hold a first deployment back until they lie there, and one key makes them', async () => {
    const one = overlay();
    expect(await one.finding('before-start:certificates')).toMatchObject({
      level: 'blocking',
      message: expect.stringMatching(new RegExp(`Missing: ${own}/ca.crt, ${own}/host.crt, ${own}/host.key\\.$`)),
      remedy: { kind: 'flow', flow: 'overlay-sign', options: { install: true } },
    });
    for (const name of ['ca.crt', 'host.crt', 'host.key']) one.devices[`${own}/${name}`] = 1;
    expect(await one.reported()).toEqual([]);
  });

  it('are looked for where the settings and the compose file have them', async () => {
    const one = overlay();
    one.compose('services:\n  nebula:\n    image: x\n    volumes: ["/etc/mesh:/etc/nebula", "pki:/etc/nebula/pki"]\n');
    // A volume of the engine cannot be read from here.
    one.values = { PKI_CA: '/etc/nebula/pki/ca.crt', PKI_CERT: '/etc/nebula/nas.crt' };
    expect((await one.finding('before-start:certificates'))?.message).toMatch(/Missing: \/etc\/mesh\/nas\.crt, \/etc\/mesh\/host\.key\.$/);
  });

  it('do not hold back a change of what is deployed', async () => {
    const one = overlay();
    one.plan = { kind: 'change' };
    expect(await one.reported()).toEqual(['warning before-start:certificates']);
  });
});

describe('the name of the site', () => {
  it.each([
    ['192.168.1.5 STREAM nas.lan\n', []],
    ['10.9.9.9 STREAM x\n', ['warning dns']],
    // Debian's name for the machine itself.
    ['127.0.1.1 STREAM x\n', []],
    [2, ['warning dns']],
    [new Promise<never>(() => {}), ['warning unknown:dns']],
  ])('answered with %j', async (answer, expected) => {
    const rss = fixture('rss-reader');
    rss.plan = { site: 'news.lan' };
    rss.programs['getent ahosts'] = answer;
    expect(await rss.reported()).toEqual(expected);
  });
});

describe('rootless engines', () => {
  const proxy = (kind: 'docker' | 'podman') => {
    const one = fixture('reverse-proxy');
    one.facts = { kind, rootless: true };
    one.texts['/proc/sys/net/ipv4/ip_unprivileged_port_start'] = '1024\n';
    one.programs = {
      ...one.programs,
      'loginctl show-user 1000': 'Linger=yes\n',
      'systemctl --user show':
        'UnitFileState=enabled\nExecStart={ argv[]=podman start --all --filter restart-policy=always --filter restart-policy=unless-stopped }\n',
    };
    return one;
  };

  it('may not use ports below the limit of the host', async () => {
    const one = proxy('podman');
    expect((await one.finding('low-ports'))?.message).toBe(
      'A rootless engine cannot use the ports 80 and 443: the host reserves ports below 1024 for root.',
    );
    one.texts['/proc/sys/net/ipv4/ip_unprivileged_port_start'] = '80\n';
    expect(await one.reported()).toEqual([]);
    one.facts = { kind: 'podman', rootless: false };
    one.programs['systemctl show'] = one.programs['systemctl --user show'] ?? '';
    one.texts['/proc/sys/net/ipv4/ip_unprivileged_port_start'] = '1024\n';
    expect(await one.reported()).toEqual([]);
  });

  it('of Docker have no network of the host to give (R16)', async () => {
    expect(await proxy('docker').reported()).toEqual(['warning host-network', 'warning low-ports']);
  });

  it('an old podman-compose has none to give either', async () => {
    const one = proxy('podman');
    one.facts = { kind: 'podman', rootless: false };
    const tool = { kind: 'podman-compose', generation: 2, argv: ['podman-compose'], env: {} } as const;
    one.input = { composeTool: { ...tool, version: '1.0.3' } };
    expect(await one.finding('host-network')).toMatchObject({ level: 'blocking', advice: expect.stringContaining('Docker Compose v2') });
    one.input = { composeTool: { ...tool, version: '1.3.0' } };
    expect(await one.finding('host-network')).toBeUndefined();
  });

  it('Podman without systemd never finds a container healthy, and compose would wait for that', async () => {
    const one = small({});
    one.facts = { kind: 'podman' };
    one.programs['systemctl show'] = 'UnitFileState=enabled\nExecStart={ argv[]=podman start --all --filter should-start-on-boot=true }\n';
    one.compose('services:\n  app:\n    image: small\n    depends_on: {db: {condition: service_healthy}}\n  db:\n    image: small\n');
    expect((await one.finding('health-checks'))?.message).toMatch(/does not have, so db would never become healthy/);
    for (const [version, waits] of [
      ['1.0.6', false],
      ['1.2.0', false],
      ['1.3.0', true],
      ['1.10.1', true],
    ] as const) {
      one.input = { composeTool: { kind: 'podman-compose', generation: 2, version, argv: ['podman-compose'], env: {} } };
      expect((await one.finding('health-checks')) !== undefined, version).toBe(waits);
    }
    one.devices['/run/systemd/system'] = 1;
    expect(await one.finding('health-checks')).toBeUndefined();
  });

  it('Podman brings containers back after a restart only with linger and its service, both one key away (R5)', async () => {
    const one = proxy('podman');
    one.texts['/proc/sys/net/ipv4/ip_unprivileged_port_start'] = '0\n';
    one.programs['loginctl show-user 1000'] = 'Linger=no\n';
    one.programs['systemctl --user show'] = 'UnitFileState=disabled\nExecStart=\n';
    expect((await one.finding('linger'))?.remedy).toEqual({
      kind: 'run',
      label: 'Enable lingering',
      argv: ['loginctl', 'enable-linger'],
    });
    expect((await one.finding('restart-service'))?.remedy).toMatchObject({
      argv: ['systemctl', '--user', 'enable', 'podman-restart.service'],
    });
    one.programs['systemctl --user show'] =
      'UnitFileState=enabled\nExecStart={ argv[]=podman start --all --filter restart-policy=always }\n';
    expect(await one.reported()).toEqual(['warning linger', 'warning restart-policy']);
    delete one.programs['systemctl --user show'];
    expect((await one.finding('unknown:boot'))?.message).toBe(
      'Start after a reboot could not be checked: systemctl cannot be started: program not found.',
    );
  });
});

describe('preflight as a whole', () => {
  it('says what it could not find out, and asks on', async () => {
    const search = fixture('search-meta-engine');
    search.programs = {};
    search.engine.list = async () => {
      throw new Fault('unreachable.engine', 'The engine is unreachable.', 'Start it.');
    };
    expect(await search.reported()).toEqual(['warning unknown:disk', 'warning unknown:instances', 'warning unknown:ports']);
    expect((await search.finding('unknown:ports'))?.message).toBe('Host ports could not be checked: The engine is unreachable.');
  });

  it('without a compose command nothing can be applied', async () => {
    const rss = fixture('rss-reader');
    rss.input = { composeTool: undefined };
    expect(await rss.reported()).toContain('blocking no-compose');
  });

  it('puts what blocks first, and ends with the signal', async () => {
    const idp = fixture('idp-enterprise');
    expect((await idp.findings()).map(({ level }) => level)).toEqual(['blocking', 'warning']);
    await expect(idp.findings(AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
  });

  it('waits no longer than a quarter of a second for a name server that does not respond', async () => {
    const rss = fixture('rss-reader');
    rss.plan = { site: 'news.lan' };
    rss.programs['getent ahosts'] = new Promise<never>(() => {});
    const began = performance.now();
    await rss.findings();
    expect(performance.now() - began).toBeLessThan(1_000);
  });
});
