import { expect, test } from 'vitest';
import { hostDouble } from '../../test/doubles/live-engine.ts';
import { Fault } from '../faults/fault.ts';
import type { Host } from '../hosts/host.ts';
import type { EngineAddress, EngineFacts } from './engine.ts';
import { findComposeTool } from './find-compose.ts';

const signal = () => AbortSignal.timeout(5_000);
const address: EngineAddress = { url: 'unix:///run/user/1000/podman/podman.sock', origin: 'test' };

function facts(kind: EngineFacts['kind'], version: string): EngineFacts {
  return { kind, version, apiVersion: '1.41', rootless: false, operatingSystem: 'Debian' };
}

/** Returns a machine with these programs: the output of each, or its exit code. */
function hostWith(programs: Readonly<Record<string, string | number>>): { host: Host; asked: string[] } {
  const asked: string[] = [];
  const exec: Host['exec'] = async (argv) => {
    const command = argv.join(' ');
    asked.push(command);
    const printed = programs[command];
    if (printed === undefined) throw new Fault('unreachable.program', `${argv[0]} cannot be started.`, 'Install it.');
    const failed = typeof printed === 'number';
    return {
      exitCode: failed ? printed : 0,
      stdout: new TextEncoder().encode(failed ? 'Usage: docker [OPTIONS]' : printed),
      stderr: new Uint8Array(),
      cut: false,
    };
  };
  return { host: { ...hostDouble(), exec }, asked };
}

const plugin = 'docker compose version --short';
const standalone = 'docker-compose version --short';
const podmanCompose = 'podman-compose --version';
/** Output of Debian's 1.0.3. */
const podmanCompose1 =
  "['podman', '--version', '']\nusing podman version: 4.3.1\npodman-composer version  1.0.3\npodman --version \npodman version 4.3.1\nexit code: 0\n";
const newer = 'podman-compose version 1.3.0\npodman version 5.4.2\n';

test.each([
  ['docker', '28.5.2', { [plugin]: '2.40.3-3\n', [standalone]: '2.26.1-4\n' }, 'docker compose 2 2.40.3-3'],
  ['docker', '29.1.0', { [plugin]: 'v5.0.1\n' }, 'docker compose 2 v5.0.1'],
  ['docker', '20.10.24', { [plugin]: 1, [standalone]: '2.26.1-4\n' }, 'docker-compose 2 2.26.1-4'],
  ['docker', '20.10.24', { [standalone]: '1.29.2\n' }, 'docker-compose 1 1.29.2'],
  // It would request a version of the API that Docker 29 refuses.
  ['docker', '29.1.0', { [standalone]: '1.29.2\n' }, undefined],
  ['docker', '28.5.2', { [podmanCompose]: newer }, undefined],
  ['podman', '5.8.0', { [standalone]: '2.40.3-3\n', [podmanCompose]: newer }, 'docker-compose 2 2.40.3-3'],
  ['podman', '5.8.0', { [plugin]: '2.40.3\n', [podmanCompose]: newer }, 'docker compose 2 2.40.3'],
  ['podman', '4.3.1', { [standalone]: '1.29.2\n', [podmanCompose]: podmanCompose1 }, 'podman-compose 2 1.0.3'],
  // `docker` can be podman itself, whose compose command calls podman-compose.
  ['podman', '5.4.2', { [plugin]: '1.3.0\n', [podmanCompose]: newer }, 'podman-compose 2 1.3.0'],
  ['podman', '4.3.1', { [standalone]: '1.29.2\n' }, 'docker-compose 1 1.29.2'],
  ['podman', '4.3.1', { [standalone]: 'docker-compose: command not found\n' }, undefined],
] as const)('%s %s with %o: %s (R13)', async (kind, version, programs, expected) => {
  const { host, asked } = hostWith(programs as Readonly<Record<string, string | number>>);
  const tool = await findComposeTool(host, { facts: facts(kind, version), address }, signal());
  expect(tool && `${tool.argv.join(' ')} ${tool.generation} ${tool.version}`).toBe(expected?.replace(' v5', ' 5'));
  expect(tool?.kind).toBe(expected && (expected.startsWith('podman') ? 'podman-compose' : 'docker-compose'));
  // No program is run twice.
  expect(new Set(asked).size).toBe(asked.length);
});

test('its environment names this engine and undoes what the operator set for another', async () => {
  const { host } = hostWith({ [plugin]: '2.40.3', [podmanCompose]: newer });
  const environment = async (kind: EngineFacts['kind'], where: EngineAddress) =>
    (await findComposeTool(host, { facts: facts(kind, '27.0.0'), address: where }, signal()))?.env;
  const local = { url: 'unix:///run/docker.sock', origin: 'test' };
  expect(await environment('docker', local)).toEqual({
    DOCKER_HOST: 'unix:///run/docker.sock',
    DOCKER_CONTEXT: '',
    DOCKER_TLS: '',
    DOCKER_TLS_VERIFY: '',
    DOCKER_CERT_PATH: '',
  });
  const tls = { url: 'tcp://nas.lan:2376', origin: 'test', tls: { folder: '/home/op/certs', verify: true } };
  expect(await environment('docker', tls)).toMatchObject({
    DOCKER_HOST: 'tcp://nas.lan:2376',
    DOCKER_TLS_VERIFY: '1',
    DOCKER_CERT_PATH: '/home/op/certs',
  });
  const unverified = { ...tls, tls: { ...tls.tls, verify: false } };
  expect(await environment('docker', unverified)).toMatchObject({ DOCKER_TLS: '1', DOCKER_TLS_VERIFY: '' });
  const { host: podmanHost } = hostWith({ [podmanCompose]: newer });
  const tool = await findComposeTool(podmanHost, { facts: facts('podman', '5.4.2'), address }, signal());
  expect(tool?.env).toEqual({ CONTAINER_HOST: address.url, CONTAINER_CONNECTION: '' });
});

test('the Python docker-compose runs programs in containers by itself: where Podman is, there need be no docker command', async () => {
  const { host } = hostWith({ [standalone]: '1.29.2\n' });
  const tool = await findComposeTool(host, { facts: facts('podman', '4.3.1'), address }, signal());
  expect(tool?.env).toMatchObject({ DOCKER_HOST: address.url, COMPOSE_INTERACTIVE_NO_CLI: '1' });
});

test('a program that hangs does not count; a lost host is said', async () => {
  const late = new Fault('failed.limit', 'docker did not finish.', 'Run it.');
  const gone = new Fault('unreachable.host', 'The host is gone.', 'Look.');
  const failing = (fault: Fault): Host => ({ ...hostDouble(), exec: () => Promise.reject(fault) });
  expect(await findComposeTool(failing(late), { facts: facts('docker', '28.0.0'), address }, signal())).toBeUndefined();
  await expect(findComposeTool(failing(gone), { facts: facts('docker', '28.0.0'), address }, signal())).rejects.toBe(gone);
});

test.each([
  ['may use the socket', { 'test -w /run/user/1000/podman/podman.sock': '' }, 'docker-compose', undefined],
  [
    'is let through by sudo',
    { 'test -w /run/user/1000/podman/podman.sock': 1, 'sudo -n -E -- true': '' },
    'sudo -n -E -- docker-compose',
    undefined,
  ],
  [
    'is asked for a password',
    { 'test -w /run/user/1000/podman/podman.sock': 1, 'sudo -n -E -- true': 1 },
    'docker-compose',
    'docker-compose cannot reach the engine of nas: the login user has no access to /run/user/1000/podman/podman.sock, and cannot use sudo without a password.',
  ],
  [
    'has no sudo',
    { 'test -w /run/user/1000/podman/podman.sock': 1 },
    'docker-compose',
    expect.stringContaining('cannot reach the engine of nas'),
  ],
] as const)('on a machine whose engine only root may use, the login user %s', async (_, programs, argv, refused) => {
  const { host, asked } = hostWith({ ...programs, [standalone]: '2.26.1\n' });
  const find = (one: Host) => findComposeTool(one, { facts: facts('podman', '5.8.0'), address }, signal());
  const tool = await find({ ...host, name: 'nas', sudo: true });
  expect(tool?.argv.join(' ')).toBe(argv);
  expect(tool?.refused?.message).toEqual(refused);
  asked.length = 0;
  expect((await find(host))?.argv).toEqual(['docker-compose']);
  expect(asked.filter((command) => /sudo|test/.test(command))).toEqual([]);
});
