import { createHash } from 'node:crypto';
import { link, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Host } from '../hosts/host.ts';
import { openLocalHost } from '../hosts/local-host.ts';
import { findEngines } from './find-engines.ts';

let root: string;
let servers: Server[];
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'qd-find-'));
  servers = [];
});
afterEach(async () => {
  for (const server of servers) server.close();
  await rm(root, { recursive: true, force: true });
});

async function socket(path: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  const server = createServer();
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return path;
}

async function file(path: string, content: object | string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
}

/** This machine with `root` as its root folder and its own environment; the real one may have engines. */
function hostIn(env: Record<string, string> = {}): Host {
  const local = openLocalHost({ env: { HOME: `${root}/home`, ...env } });
  const inside = (path: string) => (path.startsWith(root) ? path : `${root}${path}`);
  return {
    ...local,
    facts: async (signal) => ({ ...(await local.facts(signal)), uid: 1000, platform: 'linux' }),
    files: {
      ...local.files,
      read: (path, options) => local.files.read(inside(path), options),
      facts: (path, signal) => local.files.facts(inside(path), signal),
      list: (path, signal) => local.files.list(inside(path), signal),
    },
  };
}

const find = (env?: Record<string, string>) => findEngines(hostIn(env), AbortSignal.timeout(5_000));
const urls = async (env?: Record<string, string>) => (await find(env)).map(({ url }) => url.replace(root, ''));

describe('without a choice', () => {
  test('every socket that exists, Docker first; XDG_RUNTIME_DIR missing is /run/user/<uid>', async () => {
    await socket(`${root}/run/podman/podman.sock`);
    await socket(`${root}/run/user/1000/podman/podman.sock`);
    await socket(`${root}/run/user/1000/docker.sock`);
    await socket(`${root}/var/run/docker.sock`);
    expect(await find()).toEqual([
      { url: 'unix:///var/run/docker.sock', origin: 'default Docker socket' },
      { url: 'unix:///run/user/1000/docker.sock', origin: 'rootless Docker socket' },
      { url: 'unix:///run/podman/podman.sock', origin: 'Podman socket' },
      { url: 'unix:///run/user/1000/podman/podman.sock', origin: 'rootless Podman socket' },
    ]);
  });

  test('XDG_RUNTIME_DIR, Docker Desktop and Colima', async () => {
    await socket(`${root}/rt/docker.sock`);
    await socket(`${root}/home/.docker/run/docker.sock`);
    await socket(`${root}/home/.colima/default/docker.sock`);
    expect(await urls({ XDG_RUNTIME_DIR: `${root}/rt` })).toEqual([
      'unix:///rt/docker.sock',
      'unix:///home/.docker/run/docker.sock',
      'unix:///home/.colima/default/docker.sock',
    ]);
  });

  test('podman-docker links one socket to the other: one engine', async () => {
    await socket(`${root}/run/podman/podman.sock`);
    await mkdir(`${root}/var/run`, { recursive: true });
    await symlink(`${root}/run/podman/podman.sock`, `${root}/var/run/docker.sock`);
    await mkdir(`${root}/home/.docker/run`, { recursive: true });
    await link(`${root}/run/podman/podman.sock`, `${root}/home/.docker/run/docker.sock`);
    expect(await urls()).toEqual(['unix:///var/run/docker.sock']);
  });

  test('a plain file in its place is no engine', async () => {
    await file(`${root}/var/run/docker.sock`, '');
    await expect(find()).rejects.toMatchObject({ code: 'unreachable.noEngine' });
  });

  test('none: a short sentence, and where it looked as its cause', async () => {
    await expect(find()).rejects.toMatchObject({
      code: 'unreachable.noEngine',
      remedy: expect.stringMatching(/^[^/]*DOCKER_HOST[^/]*--verbose[^/]*$/),
      cause: expect.objectContaining({
        message: expect.stringMatching(/\/var\/run\/docker\.sock.*\/run\/user\/1000\/docker\.sock.*\/run\/podman\/podman\.sock/),
      }),
    });
  });

  test('CONTAINER_HOST takes the place of the usual Podman sockets, not of Docker', async () => {
    await socket(`${root}/var/run/docker.sock`);
    await socket(`${root}/run/podman/podman.sock`);
    expect(await find({ CONTAINER_HOST: 'unix:///elsewhere/podman.sock' })).toEqual([
      { url: 'unix:///var/run/docker.sock', origin: 'default Docker socket' },
      { url: 'unix:///elsewhere/podman.sock', origin: 'CONTAINER_HOST' },
    ]);
  });
});

describe('DOCKER_HOST', () => {
  beforeEach(() => socket(`${root}/var/run/docker.sock`));

  test('counts alone, also when nothing is there: the connection says why', async () => {
    expect(await find({ DOCKER_HOST: 'unix:///nowhere/docker.sock', DOCKER_CONTEXT: 'nas' })).toEqual([
      { url: 'unix:///nowhere/docker.sock', origin: 'DOCKER_HOST' },
    ]);
  });

  test('beside CONTAINER_HOST', async () => {
    expect(await urls({ DOCKER_HOST: 'tcp://10.0.0.2:2375', CONTAINER_HOST: 'unix:///p.sock' })).toEqual([
      'tcp://10.0.0.2:2375',
      'unix:///p.sock',
    ]);
  });

  test('both naming one socket are one', async () => {
    expect(await urls({ DOCKER_HOST: 'unix:///var/run/docker.sock', CONTAINER_HOST: 'unix:///var/run/docker.sock' })).toEqual([
      'unix:///var/run/docker.sock',
    ]);
  });

  test('with TLS', async () => {
    expect(await find({ DOCKER_HOST: 'tcp://10.0.0.2:2376', DOCKER_TLS_VERIFY: '1', DOCKER_CERT_PATH: '/certs' })).toEqual([
      { url: 'tcp://10.0.0.2:2376', origin: 'DOCKER_HOST', tls: { folder: '/certs', verify: true } },
    ]);
    expect(await find({ DOCKER_HOST: 'nas:2376', DOCKER_TLS_VERIFY: '1' })).toEqual([
      { url: 'tcp://nas:2376', origin: 'DOCKER_HOST', tls: { folder: `${root}/home/.docker`, verify: true } },
    ]);
  });

  test('ssh is not for here', async () => {
    await expect(find({ DOCKER_HOST: 'ssh://me@nas' })).rejects.toMatchObject({
      code: 'unreachable.remoteEngine',
      remedy: expect.stringContaining('ssh -N -L'),
    });
  });

  test.each(['unix://docker.sock', 'npipe:////./pipe/docker_engine', 'tcp://', '://x'])('%s is no address', async (text) => {
    await expect(find({ DOCKER_HOST: text })).rejects.toMatchObject({ code: 'config.dockerHost', message: expect.stringContaining(text) });
  });

  test('an empty one is none', async () => expect(await urls({ DOCKER_HOST: '' })).toEqual(['unix:///var/run/docker.sock']));
});

describe('contexts', () => {
  const digest = createHash('sha256').update('nas').digest('hex');
  const metaOf = (docker: object) =>
    file(`${root}/home/.docker/contexts/meta/${digest}/meta.json`, { Name: 'nas', Metadata: {}, Endpoints: { docker } });
  beforeEach(() => socket(`${root}/var/run/docker.sock`));

  test('the current one of the configuration', async () => {
    await file(`${root}/home/.docker/config.json`, { currentContext: 'nas' });
    await metaOf({ Host: 'unix:///nas.sock', SkipTLSVerify: false });
    expect(await find()).toEqual([{ url: 'unix:///nas.sock', origin: 'context "nas"' }]);
  });

  test('DOCKER_CONTEXT before the configuration, with its certificates', async () => {
    await file(`${root}/home/.docker/config.json`, { currentContext: 'other' });
    await metaOf({ Host: 'tcp://10.0.0.2:2376', SkipTLSVerify: true });
    await file(`${root}/home/.docker/contexts/tls/${digest}/docker/ca.pem`, 'x');
    expect(await find({ DOCKER_CONTEXT: 'nas' })).toEqual([
      {
        url: 'tcp://10.0.0.2:2376',
        origin: 'context "nas"',
        tls: { folder: `${root}/home/.docker/contexts/tls/${digest}/docker`, verify: false },
      },
    ]);
  });

  test('default is the usual place', async () => {
    await file(`${root}/home/.docker/config.json`, { currentContext: 'default' });
    expect(await urls()).toEqual(['unix:///var/run/docker.sock']);
  });

  test('one that does not exist is said', async () => {
    await expect(find({ DOCKER_CONTEXT: 'gone' })).rejects.toMatchObject({
      code: 'config.dockerContext',
      message: expect.stringContaining('"gone"'),
    });
  });

  test('a broken configuration says nothing, a broken context is said', async () => {
    await file(`${root}/home/.docker/config.json`, '{');
    expect(await urls()).toEqual(['unix:///var/run/docker.sock']);
    await file(`${root}/home/.docker/contexts/meta/${digest}/meta.json`, '{');
    await expect(find({ DOCKER_CONTEXT: 'nas' })).rejects.toMatchObject({ code: 'config.dockerContext' });
    await metaOf({});
    await expect(find({ DOCKER_CONTEXT: 'nas' })).rejects.toMatchObject({
      code: 'config.dockerContext',
      message: expect.stringContaining('no Docker host'),
    });
  });
});
