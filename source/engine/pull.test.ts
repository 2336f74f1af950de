import { expect, onTestFinished, test } from 'vitest';
import { type Answer, json, type Recording, serve } from '../../test/engine/recorded-engine.ts';
import { docker20, docker29, podman4 } from '../../test/engine/recordings.ts';
import { mintGrant } from '../grants/mint.ts';
import { openLocalHost } from '../hosts/local-host.ts';
import { openEngine } from './dockerode-engine.ts';
import type { PullProgress } from './engine.ts';

const signal = () => AbortSignal.timeout(10_000);
const digest = `sha256:${'ab'.repeat(32)}`;

async function engineOf(recording: Recording) {
  const recorded = await serve(recording);
  const engine = openEngine(recorded.address, openLocalHost());
  onTestFinished(async () => {
    engine.close();
    await recorded[Symbol.asyncDispose]();
  });
  const pull = async (reference: string): Promise<PullProgress[]> => {
    const reported: PullProgress[] = [];
    await engine.writer(mintGrant('test', 'operate', signal())).pull(reference, (progress) => reported.push(progress));
    return reported;
  };
  return { engine, recorded, pull };
}

function lines(...values: readonly object[]): Answer {
  return (_, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(values.map((value) => `${JSON.stringify(value)}\r\n`).join(''));
  };
}

test('one tag or one digest is asked for, never all tags (R82)', async () => {
  const { recorded, pull } = await engineOf(
    docker20({ 'POST /images/create': lines({ status: 'Status: Image is up to date for caddy:latest' }) }),
  );
  expect(await pull('caddy')).toEqual([{ fraction: 1, text: 'already present' }]);
  await pull('registry.lan:5000/team/app:2');
  await pull(`postgres:16@${digest}`);
  expect(
    recorded.requests.filter(({ path }) => path === '/images/create').map(({ query }) => [query.get('fromImage'), query.get('tag')]),
  ).toEqual([
    ['caddy', 'latest'],
    ['registry.lan:5000/team/app', '2'],
    ['postgres', digest],
  ]);
});

test.each([
  [
    'a status',
    docker20({ 'POST /images/create': json(404, { message: 'manifest for caddy:nope not found: manifest unknown: manifest unknown' }) }),
    'manifest unknown',
    'Check the name and the tag',
  ],
  [
    'a status of 500',
    docker20({
      'POST /images/create': json(500, {
        message: 'Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io: no such host',
      }),
    }),
    'no such host',
    'network, DNS',
  ],
  [
    'a line of the answer',
    docker20({
      'POST /images/create': lines(
        { status: 'Pulling from library/caddy', id: 'nope' },
        {
          errorDetail: { message: 'write /var/lib/docker/tmp/x: no space left on device' },
          error: 'write /var/lib/docker/tmp/x: no space left on device',
        },
      ),
    }),
    'no space left',
    'Free space',
  ],
  [
    'a line without the older field',
    docker29({
      'POST /images/create': lines({ errorDetail: { message: 'no matching manifest for linux/arm/v7 in the manifest list entries' } }),
    }),
    'linux/arm/v7',
    'for this architecture',
  ],
  [
    "Podman's line",
    podman4({
      'POST /images/create': lines({
        error:
          'initializing source docker://caddy:nope: reading manifest nope in docker.io/library/caddy: requested access to the resource is denied',
      }),
    }),
    'denied',
    'private image',
  ],
  [
    'a limit of the registry',
    docker20({ 'POST /images/create': json(500, { message: 'toomanyrequests: You have reached your pull rate limit' }) }),
    'toomanyrequests',
    'wait',
  ],
])('a failure that comes as %s is one fault, with the reason and what to do', async (_, recording, reason, remedy) => {
  const { pull } = await engineOf(recording);
  await expect(pull('caddy:nope')).rejects.toMatchObject({
    code: 'engine.pull',
    message: expect.stringMatching(new RegExp(`^caddy:nope cannot be pulled: .*${reason}`)),
    remedy: expect.stringContaining(remedy),
  });
});

test('an engine that dies in the middle is no failed pull', async () => {
  const { pull } = await engineOf(
    docker20({
      'POST /images/create': (_, response) => {
        response.writeHead(200, { 'Content-Length': '5000' });
        response.write('{"status":"Pulling fs layer","progressDetail":{},"id":"a"}\r\n', () => response.destroy());
      },
    }),
  );
  await expect(pull('caddy')).rejects.toMatchObject({ code: 'unreachable.engine' });
});

test('what a registry says cannot write to the terminal', async () => {
  const { pull } = await engineOf(docker20({ 'POST /images/create': lines({ error: 'denied \u001b[2J\u0007 here\nand below' }) }));
  await expect(pull('caddy')).rejects.toMatchObject({ message: expect.not.stringMatching(/[\u001b\u0007\n]/) });
});

test('the digest at the registry: from Docker where it may ask, never from Podman', async () => {
  const path = 'GET /distribution/caddy%3Alatest/json';
  const said = { Descriptor: { mediaType: 'application/vnd.oci.image.index.v1+json', digest, size: 1 }, Platforms: [] };
  const ask = async (recording: Recording) => (await engineOf(recording)).engine.registryDigest('caddy', signal());
  expect(await ask(docker20({ [path]: said }))).toBe(digest);
  expect(await ask(docker20({ [path]: json(403, { message: 'blocked by the socket proxy' }) }))).toBeUndefined();
  expect(await ask(docker20({ [path]: json(401, { message: 'authentication required' }) }))).toBeUndefined();
  expect(await ask(docker20())).toBeUndefined();
  expect(await ask(podman4({ [path]: said }))).toBeUndefined();
  await expect(ask(docker20({ [path]: json(404, { message: 'manifest unknown' }) }))).rejects.toMatchObject({ code: 'engine.registry' });
  const away = json(500, { message: 'Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io: no such host' });
  await expect(ask(docker20({ [path]: away }))).rejects.toMatchObject({ code: 'unreachable.registry' });
});
