import { json, type Recording } from './recorded-engine.ts';

/**
 * What engines were recorded saying. Docker 20.10.24 and Podman 4.3.1 side by side with one busybox image; Docker 29 after the changes
 * that the Engine API's history names for 1.44 to 1.52.
 */

export const memoryBytes = 25_276_510_208;
export const webId = '30a2efd889277a400dc84e88955d6f786da4d621b90df85da8de590a8ce61147';
export const jobId = '94a4f552b9e6eb5e398b2ab8ae72d6c00a965c3126aa362764cd8a85a92e0ae7';
export const imageId = 'sha256:a9b0e069d40caf598f779494c786f1073cd43018a5566e8749f74fe2e1e71601';

function refusesNewerThan(most: number) {
  return (version: string) => {
    const minor = Number(version.split('.')[1]);
    return minor > most
      ? { status: 400, body: { message: `client version ${version} is too new. Maximum supported API version is 1.${most}` } }
      : undefined;
  };
}

const endpoint = {
  IPAMConfig: null,
  Links: null,
  Aliases: null,
  NetworkID: '14dd',
  EndpointID: '',
  Gateway: '',
  IPAddress: '',
  IPPrefixLen: 0,
  GlobalIPv6Address: '',
};

export function docker20(answers: Recording['answers'] = {}, upgrades: Recording['upgrades'] = {}): Recording {
  return {
    headers: { 'Api-Version': '1.41', 'Docker-Experimental': 'false', Ostype: 'linux', Server: 'Docker/20.10.24+dfsg1 (linux)' },
    refuses: refusesNewerThan(41),
    upgrades,
    answers: {
      'GET /_ping': (_, response) => response.writeHead(200, { 'Content-Type': 'text/plain; charset=utf-8' }).end('OK'),
      'GET /info': {
        ServerVersion: '20.10.24+dfsg1',
        OperatingSystem: 'Debian GNU/Linux 12 (bookworm)',
        OSVersion: '12',
        MemTotal: memoryBytes,
        SecurityOptions: ['name=apparmor', 'name=seccomp,profile=default'],
        Swarm: { LocalNodeState: 'inactive', ControlAvailable: false },
      },
      'GET /images/json': [
        {
          Containers: -1,
          Created: 1795167971,
          Id: imageId,
          Labels: null,
          ParentId: '',
          RepoDigests: null,
          RepoTags: ['local/busybox:1'],
          SharedSize: -1,
          Size: 1982417,
          VirtualSize: 1982417,
        },
      ],
      'GET /containers/json': [
        {
          Id: webId,
          Names: ['/web'],
          Image: 'local/busybox:1',
          ImageID: imageId,
          Command: "sh -c 'while true; do sleep 1; done'",
          Created: 1795167986,
          Ports: [
            { IP: '0.0.0.0', PrivatePort: 80, PublicPort: 8180, Type: 'tcp' },
            { IP: '::', PrivatePort: 80, PublicPort: 8180, Type: 'tcp' },
            { PrivatePort: 443, Type: 'tcp' },
          ],
          Labels: { 'com.docker.compose.project': 'p1', 'com.docker.compose.service': 'web', 'com.docker.compose.container-number': '1' },
          State: 'running',
          Status: 'Up 14 minutes (healthy)',
          HostConfig: { NetworkMode: 'p1_default' },
          NetworkSettings: { Networks: { p1_default: { ...endpoint, IPAddress: '172.18.0.2', GlobalIPv6Address: 'fd00::2' } } },
          Mounts: [],
        },
        {
          Id: jobId,
          Names: ['/fails'],
          Image: 'local/busybox:1',
          ImageID: imageId,
          Command: "sh -c 'exit 7'",
          Created: 1795167986,
          Ports: [],
          Labels: {},
          State: 'exited',
          Status: 'Exited (7) Less than a second ago',
          HostConfig: { NetworkMode: 'none' },
          NetworkSettings: { Networks: { none: endpoint } },
          Mounts: [],
        },
      ],
      'GET /containers/nope/json': json(404, { message: 'No such container: nope' }),
      'POST /containers/nope/stop': json(404, { message: 'No such container: nope' }),
      ...answers,
    },
  };
}

/** Docker 29 speaks 1.44 to 1.52 and nothing else. */
export function docker29(answers: Recording['answers'] = {}): Recording {
  const base = docker20();
  return {
    headers: { 'Api-Version': '1.52', Ostype: 'linux', Server: 'Docker/29.0.1 (linux)' },
    refuses: (version) =>
      Number(version.split('.')[1]) < 44
        ? {
            status: 400,
            body: {
              message: `client version ${version} is too old. Minimum supported API version is 1.44, please upgrade your client to a newer version`,
            },
          }
        : refusesNewerThan(52)(version),
    answers: {
      ...base.answers,
      'GET /info': {
        ServerVersion: '29.0.1',
        OperatingSystem: 'Debian GNU/Linux 14 (forky)',
        OSVersion: '14',
        MemTotal: memoryBytes,
        SecurityOptions: ['name=seccomp,profile=builtin', 'name=rootless', 'name=cgroupns'],
        Swarm: { LocalNodeState: 'active', ControlAvailable: true },
      },
      'GET /images/json': [
        { Containers: 1, Created: 1795167971, Id: imageId, RepoTags: ['local/busybox:1'], SharedSize: -1, Size: 1982417 },
      ],
      'GET /containers/json': [
        {
          Id: webId,
          Names: ['/web'],
          Image: 'local/busybox:1',
          ImageID: imageId,
          Command: 'sh',
          Created: 1795167986,
          Ports: [],
          Labels: {},
          State: 'running',
          Status: 'Up 3 seconds (health: starting)',
          Health: { Status: 'starting', FailingStreak: 0 },
          HostConfig: { NetworkMode: 'host' },
          NetworkSettings: { Networks: { host: endpoint } },
        },
      ],
      ...answers,
    },
  };
}

export const podmanImageId = '65461e00cba3cfdb1ac0ed403a80b0d06c4000f4b7a32101af0a05dcd46d532f';

export function podman4(answers: Recording['answers'] = {}, upgrades: Recording['upgrades'] = {}): Recording {
  const compat = {
    ImageID: `sha256:${podmanImageId}`,
    Image: 'docker.io/local/busybox:latest',
    Created: 1795168030,
    Labels: {},
    Mounts: [],
    Name: '',
    Config: null,
    NetworkingConfig: null,
    Platform: null,
    AdjustCPUShares: false,
  };
  const own = { ImageID: podmanImageId, Labels: null, Networks: [], Namespaces: {}, Pod: '', Size: null };
  return {
    headers: { 'Api-Version': '1.41', 'Libpod-Api-Version': '4.3.1', Server: 'Libpod/4.3.1 (linux)', 'X-Reference-Id': '0xc000124060' },
    upgrades,
    answers: {
      'GET /_ping': (_, response) =>
        response
          .writeHead(200, {
            'Content-Type': 'text/plain; charset=utf-8',
            'Docker-Experimental': 'true',
            'Libpod-Buildah-Version': '1.28.2',
          })
          .end('OK'),
      'GET /libpod/info': {
        host: { security: { rootless: true }, distribution: { distribution: 'debian', version: '12' }, memTotal: memoryBytes },
        version: { APIVersion: '4.3.1', Version: '4.3.1' },
      },
      'GET /images/json': [
        {
          Id: `sha256:${podmanImageId}`,
          ParentId: '',
          RepoTags: ['docker.io/local/busybox:latest'],
          Created: 1795167971,
          Size: 1997895,
          SharedSize: 0,
          VirtualSize: 1997895,
          Labels: null,
          Containers: 0,
        },
      ],
      'GET /containers/json': [
        {
          ...compat,
          Id: 'aaaa',
          Names: ['/live'],
          Command: 'sh -c sleep 1',
          State: 'running',
          Status: 'Up Less than a second',
          Ports: [],
          NetworkSettings: { Networks: null },
        },
        {
          ...compat,
          Id: 'bbbb',
          Names: ['/ports'],
          Command: 'sleep 1000',
          State: 'running',
          Status: 'Up 14 minutes',
          Ports: [
            { PrivatePort: 8100, PublicPort: 18100, Type: 'tcp' },
            { PrivatePort: 53, PublicPort: 18053, Type: 'udp' },
            { IP: '127.0.0.1', PrivatePort: 80, PublicPort: 18080, Type: 'tcp' },
          ],
          NetworkSettings: { Networks: { podman: { ...endpoint, IPAddress: '10.88.0.5' } } },
        },
      ],
      'GET /libpod/containers/json': [
        { ...own, Id: 'aaaa', Names: ['live'], Ports: null, State: 'running', Status: 'starting' },
        {
          ...own,
          Networks: ['podman'],
          Id: 'bbbb',
          Names: ['ports'],
          State: 'running',
          Status: '',
          Ports: [
            { host_ip: '', container_port: 8100, host_port: 18100, range: 3, protocol: 'tcp' },
            { host_ip: '', container_port: 53, host_port: 18053, range: 1, protocol: 'udp' },
            { host_ip: '127.0.0.1', container_port: 80, host_port: 18080, range: 1, protocol: 'tcp' },
          ],
        },
      ],
      'GET /containers/aaaa/json': {
        Id: 'aaaa',
        Name: '/live',
        Created: '2026-11-20T09:47:09.976244719Z',
        Path: 'sh',
        Args: ['-c', 'sleep 1'],
        Image: `sha256:${podmanImageId}`,
        RestartCount: 0,
        State: {
          Status: 'running',
          Running: true,
          ExitCode: 0,
          Error: '',
          OOMKilled: false,
          StartedAt: '2026-11-20T09:47:10.142584449Z',
          FinishedAt: '0001-01-01T00:00:00Z',
          Health: { Status: '', FailingStreak: 0, Log: null },
        },
        HostConfig: {
          NetworkMode: 'host',
          RestartPolicy: { Name: '', MaximumRetryCount: 0 },
          CapAdd: ['CAP_NET_ADMIN'],
          Devices: [],
          PortBindings: {},
        },
        Mounts: [],
        Config: { Tty: false, Env: ['container=podman'], Image: 'docker.io/local/busybox:latest', Labels: null },
        NetworkSettings: { Ports: {}, Networks: {} },
      },
      'GET /containers/nope/json': json(404, {
        cause: 'no such container',
        message: 'no container with name or ID "nope" found: no such container',
        response: 404,
      }),
      'GET /libpod/containers/nope/json': json(404, {
        cause: 'no such container',
        message: 'no container with name or ID "nope" found: no such container',
        response: 404,
      }),
      'POST /containers/nope/stop': json(404, {
        cause: 'no such container',
        message: 'no container with name or ID "nope" found: no such container',
        response: 404,
      }),
      ...answers,
    },
  };
}
