import { beforeAll, describe, expect, test } from 'vitest';
import { containerDetail } from '../../test/doubles/container-facts.ts';
import { componentView, engineView, inState, serviceView, stateOf } from '../../test/doubles/fleet-double.ts';
import { wholeCatalog } from '../../test/doubles/whole-catalog.ts';
import type { CatalogEntry } from '../catalog/catalog.ts';
import type { ContainerDetail } from '../engine/engine.ts';
import { type MediaChain, readChain } from './media-chain.ts';
import type { ComponentView, FleetSnapshot } from './model.ts';

let entries: readonly CatalogEntry[];
beforeAll(async () => {
  ({ entries } = await wholeCatalog());
});

const bind = (source: string, target: string, readOnly = false) => ({ kind: 'bind', source, target, readOnly });
const net = { networkMode: 'media', networks: ['media'] };

type Play = Partial<ContainerDetail> & { view?: Partial<ComponentView> };

/** A chain without problems. */
const sound: Readonly<Record<string, Play>> = {
  'indexer-manager': { ...net },
  'movie-automation': {
    ...net,
    mounts: [bind('/srv/media/downloads', '/downloads'), bind('/srv/media/movies', '/movies'), bind('/srv/media', '/data')],
  },
  'torrent-client': { ...net, mounts: [bind('/srv/media/downloads', '/downloads'), bind('/srv/media', '/data')] },
  'media-server': { mounts: [bind('/srv/media', '/media', true)] },
};

async function look(plays: Readonly<Record<string, Play | undefined>>): Promise<MediaChain> {
  const there = Object.entries(plays).filter((play): play is [string, Play] => play[1] !== undefined);
  const details = new Map<string, ContainerDetail>();
  const components = there.map(([id, { view, ...facts }]) => {
    const detail = containerDetail({ name: id, ...facts });
    const host = view?.host ?? 'local';
    details.set(`${host} ${detail.id}`, detail);
    const services = [serviceView(id, { main: true, containerId: detail.id, containerName: id })];
    return componentView(id, { key: `${host}/${id}/${id}`, services, ...view });
  });
  const engines = [...new Set(components.map(({ host }) => host))].map((name) => engineView(name));
  const snapshot: FleetSnapshot = { revision: 1, settled: true, engines, components, ports: [] };
  return readChain(entries, snapshot, async (host, containerId) => details.get(`${host} ${containerId}`));
}

const reported = ({ findings }: MediaChain) =>
  findings.map(({ level, from, to, message }) => `${level} ${from}${to ? `>${to}` : ''}: ${message}`);

describe('the chain of media automation (R55)', () => {
  test('shows the five stages in order, with the component of each (R55)', async () => {
    const chain = await look(sound);
    expect(chain.stages.map(({ title, state, members }) => [title, state, members.map(({ id }) => id)])).toEqual([
      ['Release on an indexer', 'works', ['indexer-manager']],
      ['Download request', 'works', ['movie-automation']],
      ['Completed download', 'works', ['torrent-client']],
      ['Import and rename', 'works', ['movie-automation']],
      ['Library scan', 'works', ['media-server']],
    ]);
    expect(chain).toMatchObject({ whole: true, findings: [] });
  });

  test('flags each missing one, and says what could be deployed (R55)', async () => {
    const chain = await look({});
    expect(chain.stages.map(({ state }) => state)).toEqual(['missing', 'missing', 'missing', 'missing', 'missing']);
    expect(chain.whole).toBe(false);
    expect(reported(chain)[2]).toBe('error download: No component handles the stage "Completed download".');
    expect(chain.findings[2]?.remedy).toBe('Deploy one: quarterdeck deploy torrent-client');
    expect(chain.stages[1]?.candidates).toEqual(
      expect.arrayContaining(['movie-automation', 'tv-automation', 'music-automation', 'book-automation']),
    );
    expect(chain.stages[1]?.candidates).not.toContain('request-manager');
  });

  test('flags a stopped one where it first serves, and once (R55)', async () => {
    for (const state of ['stopped', 'failed', 'restarting', 'missing', 'paused', 'created'] as const) {
      const chain = await look({ ...sound, 'movie-automation': { ...sound['movie-automation'], view: inState(state) } });
      expect(chain.stages.map((fixture) => fixture.state)).toEqual(['works', 'stopped', 'works', 'stopped', 'works']);
      expect(reported(chain)).toEqual([`error request: movie-automation is not running (${state}).`]);
      expect(chain.whole).toBe(false);
    }
  });

  test('one of several that is stopped is flagged, though another runs', async () => {
    const chain = await look({ ...sound, 'tv-automation': { ...net, view: inState('stopped') } });
    expect(chain.stages[1]?.state).toBe('stopped');
    expect(reported(chain)).toContain('error request: tv-automation is not running (stopped).');
  });

  test('what only helps can be away: people who ask, subtitles', async () => {
    const chain = await look({ ...sound, 'request-manager': { view: inState('stopped') }, 'subtitle-automation': {} });
    expect(chain.stages[1]?.members.map(({ id, aside }) => [id, aside])).toEqual([
      ['movie-automation', false],
      ['request-manager', true],
    ]);
    expect(chain.stages[3]?.members.map(({ id }) => id)).toEqual(['movie-automation', 'subtitle-automation']);
    expect(reported(chain)).toEqual(['notice request: request-manager is not running (stopped).']);
    expect(chain.whole).toBe(true);
  });

  test('helpers alone serve no stage', async () => {
    expect((await look({ 'request-manager': {} })).stages[1]?.state).toBe('missing');
  });

  test('one that runs and says that it is not well breaks the chain; one whose engine is away is not known', async () => {
    const ill = await look({
      ...sound,
      'indexer-manager': { ...net, view: { state: stateOf('database error', 'error'), detail: 'It cannot read it.' } },
    });
    expect(ill.stages[0]?.state).toBe('troubled');
    expect(reported(ill)).toEqual(['error release: indexer-manager runs, but reports: It cannot read it.']);
    const away = await look({ ...sound, 'media-server': { view: inState('unknown', 'unknown') } });
    expect(away.stages[4]?.state).toBe('unknown');
    expect(away.whole).toBe(false);
  });

  test('a container of the same name that is not of the catalog serves nothing', async () => {
    expect((await look({ ...sound, 'torrent-client': { ...sound['torrent-client'], view: { known: false } } })).stages[2]?.state).toBe(
      'missing',
    );
  });
});

describe('between download and import (R27, R55)', () => {
  const importer = (mounts: ContainerDetail['mounts']) => look({ ...sound, 'movie-automation': { ...net, mounts } });

  test('another folder under the same path', async () => {
    const chain = await importer([bind('/mnt/other/downloads', '/downloads'), bind('/srv/media/movies', '/movies')]);
    expect(reported(chain)).toEqual([
      'error download>import: movie-automation cannot access the downloads of torrent-client: /downloads is /srv/media/downloads in torrent-client, but /mnt/other/downloads in movie-automation.',
    ]);
    expect(chain.whole).toBe(false);
  });

  test('no such folder at all; a volume of the engine is another folder than one of the host', async () => {
    expect(reported(await importer([bind('/srv/media/movies', '/movies')]))).toEqual([
      'error download>import: movie-automation cannot access the downloads of torrent-client: /downloads is /srv/media/downloads in torrent-client, but not mounted in movie-automation.',
    ]);
    const volume = { kind: 'volume', source: 'downloads', target: '/downloads', readOnly: false };
    expect(reported(await importer([volume, bind('/srv/media/movies', '/movies')]))[0]).toContain(
      'but the volume downloads in movie-automation.',
    );
    const both = await look({
      ...sound,
      'torrent-client': { ...net, mounts: [volume] },
      'movie-automation': { ...net, mounts: [volume, bind('/srv/media/movies', '/movies')] },
    });
    expect(both.findings).toEqual([]);
  });

  test('the same folder under another path', async () => {
    const chain = await importer([bind('/srv/media', '/library'), bind('/srv/media/movies', '/movies')]);
    expect(reported(chain)).toEqual([
      'warning download>import: movie-automation mounts the download folder of torrent-client at /library/downloads, but torrent-client reports the path /downloads.',
    ]);
    expect(chain.findings[0]?.remedy).toContain('remote path mapping from /downloads to /library/downloads');
  });

  test('one mount of all of it is the same as one of each, with a slash at its end too', async () => {
    const chain = await look({
      ...sound,
      'torrent-client': { ...net, mounts: [bind('/srv/media', '/data')] },
      'movie-automation': { ...net, mounts: [bind('/srv/media/', '/data/')] },
    });
    expect(chain.findings).toEqual([]);
  });

  test('a folder whose name only begins alike is another one', async () => {
    const chain = await importer([bind('/srv/media/downloads-old', '/downloads'), bind('/srv/media/movies', '/movies')]);
    expect(reported(chain)[0]).toMatch(/cannot access/);
  });

  test('mounted read-only on either side', async () => {
    const chain = await importer([bind('/srv/media/downloads', '/downloads', true), bind('/srv/media/movies', '/movies', true)]);
    expect(reported(chain)).toEqual([
      'warning download>import: movie-automation can only read the downloads of torrent-client, so it can copy them, but not hard-link or move them.',
      'error import>scan: movie-automation cannot write to the library, because /movies is mounted read-only.',
    ]);
    const client = await look({ ...sound, 'torrent-client': { ...net, mounts: [bind('/srv/media/downloads', '/downloads', true)] } });
    expect(reported(client)).toEqual([
      'error download>import: torrent-client cannot write its downloads, because /downloads is mounted read-only.',
    ]);
  });

  test('what the check of its own has found: two filesystems (R27)', async () => {
    const finding = { check: 'two-filesystems', level: 'warning' as const, message: 'They are two.', remedy: 'Make one.' };
    const chain = await look({ ...sound, 'movie-automation': { ...sound['movie-automation'], view: { findings: [finding] } } });
    expect(reported(chain)).toEqual(['warning download>import: movie-automation: They are two.']);
  });

  test('on another machine nobody can tell, and it is said', async () => {
    const chain = await look({ ...sound, 'torrent-client': { ...sound['torrent-client'], view: { host: 'nas' } } });
    expect(reported(chain)).toEqual([
      'notice download>import: torrent-client and movie-automation are on different machines, so it is unknown whether they share the same folder.',
    ]);
    expect(chain.whole).toBe(true);
  });
});

describe('between import and scan (R55)', () => {
  test('a server that sees another folder', async () => {
    const chain = await look({ ...sound, 'media-server': { mounts: [bind('/home/ada/media', '/media', true)] } });
    expect(reported(chain)).toEqual([
      'error import>scan: No media server scans /srv/media/movies, where movie-automation imports files: media-server has /home/ada/media.',
    ]);
  });

  test('one that scans music alone is none for films, and one of several is enough', async () => {
    const music = { mounts: [bind('/srv/media/music', '/music', true)] };
    expect(reported(await look({ ...sound, 'media-server': undefined, 'music-server': music }))[0]).toContain(
      'music-server has /srv/media/music.',
    );
    expect((await look({ ...sound, 'music-server': music })).findings).toEqual([]);
  });
});

describe('ways between stages (R14, R15, R55)', () => {
  test('no network in common, and ports on loopback alone (R14)', async () => {
    const chain = await look({ ...sound, 'indexer-manager': { networkMode: 'alone', networks: ['alone'] } });
    expect(reported(chain)).toEqual([
      'warning release>request: indexer-manager cannot exchange requests with movie-automation, because they share no network and containers cannot reach ports that are published on loopback.',
    ]);
  });

  test('published to the network is a way, in the directions in which they ask; the network of the host may be one', async () => {
    const port = (address: string) => [{ address, hostPort: 9696, containerPort: 9696, protocol: 'tcp' as const }];
    const alone = { networkMode: 'alone', networks: ['alone'] };
    const client = { ...sound['torrent-client'], ...alone };
    expect((await look({ ...sound, 'torrent-client': { ...client, ports: port('0.0.0.0') } })).findings).toEqual([]);
    expect(reported(await look({ ...sound, 'torrent-client': { ...client, ports: port('127.0.0.1') } }))).toHaveLength(1);
    // The manager writes into the automations and they query it: one direction is not enough.
    expect(reported(await look({ ...sound, 'indexer-manager': { ...alone, ports: port('0.0.0.0') } }))).toHaveLength(1);
    expect((await look({ ...sound, 'torrent-client': { ...client, networkMode: 'host', networks: ['host'] } })).findings).toEqual([]);
  });

  const routed: Play = { ...sound['torrent-client'], networkMode: 'container:vpn-client-gateway', networks: [] };
  const gateway: Play = { ...net };

  test('the download client goes through a gateway: its network counts (R15)', async () => {
    expect((await look({ ...sound, 'torrent-client': routed, 'vpn-client-gateway': gateway })).findings).toEqual([]);
    const apart = await look({ ...sound, 'torrent-client': routed, 'vpn-client-gateway': { networkMode: 'vpn', networks: ['vpn'] } });
    expect(reported(apart)).toHaveLength(1);
    expect(apart.findings[0]?.remedy).toContain('Add a network of vpn-client-gateway as external: quarterdeck edit ');
  });

  test('a gateway that is stopped, or whose tunnel is down (R15)', async () => {
    const stopped = await look({
      ...sound,
      'torrent-client': routed,
      'vpn-client-gateway': { ...gateway, view: inState('failed') },
    });
    expect(reported(stopped)).toEqual([
      'error download: torrent-client connects through vpn-client-gateway, which is not running (failed).',
    ]);
    const down = await look({
      ...sound,
      'torrent-client': routed,
      'vpn-client-gateway': { ...gateway, view: { state: stateOf('tunnel down', 'error'), detail: 'The tunnel is down.' } },
    });
    expect(reported(down)).toEqual([
      'error download: torrent-client connects through vpn-client-gateway, which reports: The tunnel is down.',
    ]);
    expect(down.whole).toBe(false);
  });

  test('a network that is gone (R15)', async () => {
    const service = serviceView('torrent-client', {
      main: true,
      containerId: 'id-of-torrent-client',
      cutOff: { why: 'the container whose network it used no longer exists', stale: true },
    });
    const chain = await look({ ...sound, 'torrent-client': { ...routed, view: { services: [service] } } });
    expect(reported(chain)[0]).toBe('error download: torrent-client has no network: the container whose network it used no longer exists.');
    expect(chain.findings[0]?.remedy).toContain('quarterdeck route torrent-client');
  });
});
