import type { CatalogEntry } from '../../../source/catalog/catalog.ts';
import { stateId } from '../../../source/catalog/state.ts';
import type { ContainerDetail } from '../../../source/engine/engine.ts';
import type {
  ComponentView,
  EngineView,
  FindingView,
  FleetSnapshot,
  PortView,
  ProbeView,
  ServiceStateId,
  ServiceView,
  SetupTaskView,
  Severity,
} from '../../../source/fleet/model.ts';

/** The moment the samples are seen: 20 November 2026, 14:03:07 UTC. */
export const sampleNowMs = Date.UTC(2026, 10, 20, 14, 3, 7);

export const minute = 60_000;
export const hour = 60 * minute;
export const day = 24 * hour;

const severities: Readonly<Record<ServiceStateId, Severity>> = {
  healthy: 'ok',
  running: 'ok',
  unhealthy: 'warning',
  starting: 'busy',
  restarting: 'error',
  stopped: 'off',
  failed: 'error',
  killed: 'error',
  completed: 'off',
  paused: 'off',
  created: 'off',
  removing: 'busy',
  missing: 'warning',
  unknown: 'unknown',
};

interface Sample {
  id: string;
  group: string;
  kind: string;
  product: string;
  speaks?: string;
  image: string;
  state: ServiceStateId;
  agoMs: number;
  project?: string;
  detail?: string;
  probe?: Partial<Omit<ProbeView, 'state'>> & { label: string; id?: string; severity: Severity };
  findings?: FindingView[];
  deployed?: boolean;
  setupTasks?: SetupTaskView[];
  /** Days since the last backup; `none` where there is none. */
  backupDays?: number | 'none';
  services?: { name: string; image: string; state: ServiceStateId; detail?: string }[];
  restarts?: number;
  exitCode?: number;
  url?: string;
  known?: boolean;
  origin?: string;
  host?: string;
}

export function sampleComponent(sample: Sample): ComponentView {
  const host = sample.host ?? 'nas';
  const project = sample.project ?? sample.id;
  const key = `${host}/${project}/${sample.id}`;
  const sinceMs = sampleNowMs - sample.agoMs;
  const service = (name: string, image: string, state: ServiceStateId, main: boolean, detail: string): ServiceView => ({
    key: `${host}/${project}/${name}`,
    name,
    containerId: state === 'missing' ? undefined : `id-${project}-${name}`,
    containerName: `${project}-${name}-1`,
    image,
    state,
    severity: severities[state],
    detail,
    health: state === 'healthy' || state === 'unhealthy' ? state : 'none',
    sinceMs,
    exitCode: sample.exitCode,
    restarts: main ? (sample.restarts ?? 0) : 0,
    ports: [],
    tty: false,
    main,
  });
  const { label = '', id = stateId(label), severity = 'ok', ...probed } = sample.probe ?? {};
  const said = label === '' ? undefined : { id, label, severity };
  const probe: ProbeView | undefined = sample.probe && {
    state: said,
    detail: '',
    atMs: sampleNowMs - 4000,
    version: undefined,
    failure: undefined,
    ...probed,
  };
  return {
    key,
    host,
    project,
    id: sample.id,
    known: sample.known ?? true,
    group: sample.group,
    kind: sample.kind,
    product: sample.product,
    speaks: sample.speaks,
    state: said ?? { id: sample.state, label: sample.state, severity: severities[sample.state] },
    serviceState: sample.state,
    detail: probe?.detail || sample.detail || sample.state,
    health: 'none',
    sinceMs,
    restarts: sample.restarts ?? 0,
    services: [
      service(sample.services ? 'server' : sample.id, sample.image, sample.state, true, sample.detail ?? sample.state),
      ...(sample.services ?? []).map((other) => service(other.name, other.image, other.state, false, other.detail ?? other.state)),
    ],
    probe,
    findings: sample.findings ?? [],
    deployed: sample.deployed ?? false,
    setupTasks: sample.setupTasks ?? [],
    backup:
      sample.backupDays === undefined
        ? undefined
        : { atMs: sample.backupDays === 'none' ? undefined : sampleNowMs - sample.backupDays * day },
    origin: sample.origin ?? `docker compose in /srv/${project}`,
    url: sample.url,
  };
}

const components: Sample[] = [
  {
    id: 'password-vault',
    group: 'security',
    kind: 'Password vault server',
    product: 'Vaultwarden',
    image: 'vaultwarden/server:latest',
    state: 'healthy',
    agoMs: 12 * day,
    url: 'http://127.0.0.1:8180',
    probe: {
      ...{ label: 'sign-ups open', id: 'signups-open', severity: 'warning' },
      ...{ detail: 'Anyone who can reach it can create an account.', version: '1.34.3' },
    },
    findings: [
      {
        check: 'signups-open',
        level: 'warning',
        message: 'Anybody who reaches the page can make an account.',
        remedy: 'Set SIGNUPS_ALLOWED to "false" once your own account exists.',
      },
    ],
    deployed: true,
    backupDays: 9,
    setupTasks: [
      {
        id: 'first-account',
        title: 'Create the first account, then close signups',
        detail: '',
        done: false,
        by: 'observed',
        urgent: false,
      },
      {
        id: 'proxy',
        title: 'Give it a site at the reverse proxy',
        detail: 'Its page needs HTTPS: browsers refuse to encrypt without it.',
        done: false,
        by: 'hand',
        urgent: false,
      },
      { id: 'admin', title: 'Look at the admin panel once', detail: '', done: true, by: 'hand', urgent: false },
    ],
  },
  {
    id: 'sso-portal',
    group: 'security',
    kind: 'Single sign-on portal',
    product: 'Authelia',
    image: 'authelia/authelia:latest',
    state: 'unhealthy',
    agoMs: 3 * day,
    detail: 'the health check fails: connection refused (7 times in a row)',
    services: [
      { name: 'redis', image: 'redis:7-alpine', state: 'running' },
      { name: 'db', image: 'postgres:16-alpine', state: 'running' },
    ],
  },
  {
    id: 'secrets-manager-path',
    group: 'security',
    kind: 'Secrets manager with path-based access',
    product: 'OpenBao',
    speaks: 'vault',
    image: 'openbao/openbao:2.6.2',
    state: 'running',
    agoMs: 2 * minute,
    url: 'http://127.0.0.1:8200',
    restarts: 1,
    probe: { label: 'sealed 0/3', severity: 'warning', detail: 'sealed: 0 of 3 key shares given (5 exist)', version: '2.6.2' },
    findings: [
      {
        check: 'sealed',
        level: 'warning',
        message: 'Restarted two minutes ago, and it seals itself on every restart.',
        remedy: 'Unseal it with three of the five key shares.',
      },
      {
        check: 'audit-device',
        level: 'notice',
        message: 'No audit device is enabled.',
        remedy: 'Enable one after unsealing, so that accesses are recorded.',
      },
    ],
  },
  {
    id: 'vulnerability-scanner',
    group: 'security',
    kind: 'Vulnerability scanner',
    product: 'Greenbone',
    image: 'registry.community.greenbone.net/community/gvmd:stable',
    state: 'starting',
    agoMs: 12 * minute,
    probe: { label: 'loading feeds', severity: 'busy', detail: 'loading feeds: 12 of about 30 minutes' },
  },
  {
    id: 'intrusion-prevention',
    group: 'security',
    kind: 'Intrusion prevention',
    product: 'CrowdSec',
    image: 'crowdsecurity/crowdsec:v1.7.3',
    state: 'healthy',
    agoMs: 9 * day,
  },
  {
    id: 'ldap-directory',
    group: 'security',
    kind: 'LDAP directory',
    product: 'LLDAP',
    image: 'lldap/lldap:stable',
    state: 'stopped',
    agoMs: 5 * hour,
    detail: 'stopped by the operator 5 hours ago',
    exitCode: 0,
  },
  {
    id: 'model-runtime',
    group: 'ai',
    kind: 'Model runtime',
    product: 'Ollama',
    image: 'ollama/ollama:0.13',
    state: 'running',
    agoMs: 20 * hour,
    probe: { label: '3 models', severity: 'ok', detail: '3 models, none loaded', version: '0.13.1' },
    url: 'http://127.0.0.1:11434',
  },
  {
    id: 'llm-proxy',
    group: 'ai',
    kind: 'Proxy for language models',
    product: 'LiteLLM',
    image: 'ghcr.io/berriai/litellm:main-stable',
    state: 'restarting',
    agoMs: 40_000,
    restarts: 17,
    detail: 'restarts in a loop: 17 times, last exit code 1, 40 seconds ago',
    exitCode: 1,
    services: [{ name: 'db', image: 'postgres:16-alpine', state: 'healthy' }],
  },
  {
    id: 'media-server',
    group: 'media',
    kind: 'Media server',
    product: 'Jellyfin',
    image: 'jellyfin/jellyfin:10.11',
    state: 'healthy',
    agoMs: 40 * day,
    url: 'http://192.168.1.10:8096',
    deployed: true,
  },
  {
    id: 'photo-library',
    group: 'media',
    kind: 'Photo library',
    product: 'Immich',
    image: 'ghcr.io/immich-app/immich-server:v2',
    state: 'healthy',
    agoMs: 40 * day,
    services: [
      { name: 'redis', image: 'valkey/valkey:8', state: 'healthy' },
      { name: 'database', image: 'ghcr.io/immich-app/postgres:16', state: 'healthy' },
      { name: 'migrate', image: 'ghcr.io/immich-app/immich-server:v2', state: 'completed', detail: 'ended well 40 days ago' },
    ],
  },
  {
    id: 'download-client',
    group: 'media',
    kind: 'Download client',
    product: 'qBittorrent',
    image: 'lscr.io/linuxserver/qbittorrent:latest',
    state: 'paused',
    agoMs: 26 * hour,
  },
  {
    id: 'mesh-control-server',
    group: 'vpn',
    kind: 'Mesh control server',
    product: 'Headscale',
    speaks: 'headscale',
    image: 'headscale/headscale:0.27',
    state: 'running',
    agoMs: 6 * day,
    probe: { label: '9 nodes', severity: 'ok', detail: '9 nodes, 7 online', version: '0.27.1' },
  },
  {
    id: 'file-sync',
    group: 'productivity',
    kind: 'File synchronisation',
    product: 'Syncthing',
    image: 'syncthing/syncthing:2',
    state: 'running',
    agoMs: 33 * day,
    url: 'http://127.0.0.1:8384',
  },
  {
    id: 'rss-reader',
    group: 'productivity',
    kind: 'Feed reader',
    product: 'Miniflux',
    image: 'miniflux/miniflux:latest',
    state: 'failed',
    agoMs: 2 * hour,
    detail: 'exited with code 137 (killed), 2 hours ago',
    exitCode: 137,
    services: [{ name: 'db', image: 'postgres:16-alpine', state: 'healthy' }],
  },
  {
    id: 'wiki',
    group: 'productivity',
    kind: 'Wiki',
    product: 'BookStack',
    image: 'lscr.io/linuxserver/bookstack:latest',
    state: 'missing',
    agoMs: 0,
    detail: 'declared, but there is no container',
  },
  {
    id: 'reverse-proxy',
    group: 'networking',
    kind: 'Reverse proxy',
    product: 'Caddy',
    image: 'caddy:2',
    state: 'healthy',
    agoMs: 61 * day,
    url: 'http://192.168.1.10',
  },
  {
    id: 'dns-filter',
    group: 'networking',
    kind: 'DNS filter',
    product: 'AdGuard Home',
    image: 'adguard/adguardhome:latest',
    state: 'running',
    agoMs: 61 * day,
  },
  {
    id: 'dns-filter-second',
    group: 'networking',
    kind: 'Second DNS filter',
    product: 'Pi-hole',
    image: 'pihole/pihole:latest',
    state: 'created',
    agoMs: 3 * minute,
    detail: 'created, never started',
  },
  {
    id: 'backup-job',
    group: 'other',
    kind: '',
    product: '',
    image: 'restic/restic:0.18',
    state: 'completed',
    agoMs: 7 * hour,
    detail: 'ended well 7 hours ago',
    known: false,
    project: '',
    origin: '',
    exitCode: 0,
  },
  {
    id: 'old-blog',
    group: 'other',
    kind: '',
    product: '',
    image: 'ghost:4',
    state: 'unknown',
    agoMs: 400 * day,
    known: false,
    project: '',
  },
];

function port(sample: Partial<PortView> & { port: number; owner: string }): PortView {
  const key = components.find((component) => component.id === sample.owner);
  return {
    host: 'nas',
    address: '127.0.0.1',
    protocol: 'tcp',
    exposure: 'loopback',
    component: key ? `nas/${key.project ?? key.id}/${key.id}` : undefined,
    service: undefined,
    containerPort: undefined,
    role: undefined,
    open: true,
    conflictWith: [],
    note: undefined,
    ...sample,
  };
}

const ports: PortView[] = [
  port({ address: '0.0.0.0', port: 22, owner: 'sshd', exposure: 'public', note: 'a program of the host, not of the engine' }),
  port({
    address: '0.0.0.0',
    port: 53,
    protocol: 'udp',
    owner: 'dns-filter',
    exposure: 'public',
    containerPort: 53,
    role: 'DNS',
    conflictWith: ['dns-filter-second'],
  }),
  port({
    address: '0.0.0.0',
    port: 53,
    protocol: 'udp',
    owner: 'dns-filter-second',
    exposure: 'public',
    containerPort: 53,
    role: 'DNS',
    open: false,
    conflictWith: ['dns-filter'],
  }),
  port({ address: '0.0.0.0', port: 80, owner: 'reverse-proxy', exposure: 'public', containerPort: 80, role: 'HTTP' }),
  port({
    address: '0.0.0.0',
    port: 443,
    owner: 'reverse-proxy',
    exposure: 'public',
    containerPort: 443,
    role: 'HTTPS',
    note: 'published on all addresses: the firewall of the host is not asked',
  }),
  port({ address: '::', port: 443, owner: 'reverse-proxy', exposure: 'public', containerPort: 443, role: 'HTTPS' }),
  port({ address: '192.168.1.10', port: 8096, owner: 'media-server', exposure: 'lan', containerPort: 8096, role: 'web page' }),
  port({ port: 8180, owner: 'password-vault', containerPort: 80, role: 'web vault, API and admin panel' }),
  port({ port: 8200, owner: 'secrets-manager-path', containerPort: 8200, role: 'API and page' }),
  port({ port: 8384, owner: 'file-sync', containerPort: 8384, role: 'page' }),
  port({ port: 9091, owner: 'sso-portal', containerPort: 9091, role: 'portal' }),
  port({ port: 11434, owner: 'model-runtime', containerPort: 11434, role: 'API' }),
  port({ address: '0.0.0.0', port: 41641, protocol: 'udp', owner: 'unknown', exposure: 'public' }),
];

export const sampleEngine: EngineView = {
  name: 'nas',
  machine: 'nas',
  hostKind: 'local',
  engine: {
    kind: 'docker',
    version: '28.5.1',
    apiVersion: '1.51',
    rootless: false,
    address: 'unix:///var/run/docker.sock',
    origin: 'default Docker socket',
    reachable: true,
  },
  link: { state: 'connected', sinceMs: sampleNowMs - day, message: undefined, remedy: undefined, retryAtMs: undefined },
  notes: ['Published ports bypass the host firewall: Docker writes its own rules in front of it.'],
};

export function sampleSnapshot(): FleetSnapshot {
  return { revision: 1, settled: true, engines: [sampleEngine], components: components.map(sampleComponent), ports };
}

/** What an inspect of any sample container answers. Holds secrets, so that tests can look for them on the screen. */
export function sampleDetail(id: string): ContainerDetail {
  const env: [string, string][] = [
    ['PATH', '/usr/local/sbin:/usr/local/bin'],
    ['ADMIN_TOKEN', 'sesame-open-0001'],
    ['SIGNUPS_ALLOWED', 'true'],
    ['DATABASE_URL', 'postgres://vault:hunter2hunter2@db:5432/vault'],
    ['DOMAIN', 'https://vault.lan'],
  ];
  const raw = {
    Id: id,
    Created: '2026-11-08T13:51:22.118Z',
    Name: '/password-vault',
    State: { Status: 'running', Running: true, Pid: 4711, ExitCode: 0 },
    Config: {
      Hostname: 'vault',
      Env: env.map(([name, value]) => `${name}=${value}`),
      Cmd: ['/start.sh', '--admin-token', 'sesame-open-0002'],
      Labels: { 'com.docker.compose.project': 'password-vault', 'backup.password': 'sesame-open-0003' },
    },
    HostConfig: { NetworkMode: 'password-vault_default', RestartPolicy: { Name: 'unless-stopped', MaximumRetryCount: 0 } },
    Mounts: Array.from({ length: 12 }, (_, index) => ({ Type: 'volume', Name: `data-${index}`, Destination: `/data/${index}`, RW: true })),
  };
  return {
    id,
    name: 'password-vault',
    image: 'vaultwarden/server:latest',
    imageId: 'sha256:1',
    createdMs: sampleNowMs - 12 * day,
    state: 'running',
    health: 'healthy',
    statusText: 'Up 12 days (healthy)',
    ports: [],
    labels: {},
    networkMode: 'bridge',
    networkAddresses: [],
    exitCode: undefined,
    startedMs: sampleNowMs - 12 * day,
    finishedMs: undefined,
    restartCount: 0,
    restartPolicy: 'unless-stopped',
    outOfMemory: false,
    error: '',
    stoppedByUser: undefined,
    tty: false,
    env,
    mounts: [],
    devices: [],
    healthOutputs: [],
    argv: [],
    networks: [],
    endpoints: [],
    exposed: [],
    raw,
  };
}

type Field = CatalogEntry['fields'][number];

function field(name: string, rest: Partial<Field>): Field {
  return { name, type: 'string', secret: false, required: false, excludes: [], target: 'environment', ...rest } as Field;
}

/** A catalog entry with a field of every fate. */
export function sampleEntry(id: string): CatalogEntry | undefined {
  if (id !== 'password-vault') return undefined;
  return {
    id,
    fields: [
      field('ADMIN_TOKEN', {
        type: 'secret-string',
        secret: true,
        required: true,
        generator: 'base64:48',
        description: 'admin panel credential',
      }),
      field('SIGNUPS_ALLOWED', {
        type: 'string-boolean',
        default: 'true',
        description: 'open registration',
        rule: 'must become "false" after the first account is created',
      }),
      field('WEBSOCKET_ENABLED', { type: 'string-boolean', default: 'true', description: 'notification websocket' }),
      field('DOMAIN', { type: 'url', required: true }),
      field('SMTP_HOST', { type: 'hostname', required: true }),
    ],
    calls: {},
    operations: [{ id: 'version', title: 'Show the version', call: 'version', right: 'read', consequences: [] }],
  } as Partial<CatalogEntry> as CatalogEntry;
}
