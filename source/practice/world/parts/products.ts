import type { PracticeProduct } from '../../practice.ts';
import { days, hours, minutes, type Part } from '../part.ts';
import { toStderr, type Voice } from '../voice.ts';
import { htmlPage } from '../web.ts';

const second = (at: Date) => `${at.toISOString().slice(0, 19)}Z`;

/** Headplane asks for the nodes, a monitor for the health: beside what the product writes of itself. */
const meshTraffic: Voice = {
  everyMs: 40_000,
  happen: (at, random) => {
    const [path, bytes] = random.pick([
      ['/api/v1/node', 6_214],
      ['/api/v1/node', 6_214],
      ['/api/v1/user', 588],
      ['/health', 17],
    ]);
    const remote = `172.18.0.11:${random.between(33_000, 60_000)}`;
    return toStderr([
      `${second(at)} INF http request bytes=${bytes} elapsed=${(random.next() * 3 + 0.2).toFixed(6)} method=GET path=${path} proto=HTTP/1.1 remote=${remote} status=200`,
    ]);
  },
};

/** The firewall's bouncer asks what is new. */
const bouncerTraffic: Voice = {
  everyMs: 30_000,
  happen: (at, random) => {
    const stamp = at.toUTCString().replace('GMT', 'UTC');
    const asked = `\\"GET /v1/decisions/stream HTTP/1.1 200 ${(random.next() * 4 + 0.3).toFixed(6)}ms \\"crowdsec-firewall-bouncer/v0.0.34\\" \\"`;
    return [`time="${second(at)}" level=info msg="172.18.0.1 - [${stamp}] ${asked}"`];
  },
};

/** The product writes its own log. */
const silent: Voice = { everyMs: Number.POSITIVE_INFINITY, happen: () => [] };

export interface Products {
  secretsManager?: PracticeProduct;
  mesh?: PracticeProduct;
  intrusionPrevention?: PracticeProduct;
  cluster?: PracticeProduct;
  ssoPortal?: PracticeProduct;
  passwordVault?: PracticeProduct;
  tunnelUi?: PracticeProduct;
  /** Of the credentials file in its container. */
  intrusionPreventionLogin?: { login: string; password: string };
}

/** The components behind which a product stands that really does what it says. */
export function productParts({ secretsManager, mesh, intrusionPrevention, intrusionPreventionLogin }: Products): Part[] {
  return [
    {
      component: 'secrets-manager-path',
      project: 'secrets-manager-path',
      createdAgoMs: days(30),
      startedAgoMs: minutes(4),
      ...(secretsManager && { product: secretsManager }),
      plays: {
        openbao: {
          voice: silent,
          figures: { cpuPercent: [0.9, 0.6], memoryMb: [86, 6] },
          bootMs: 200,
          ends: { exitCode: 0, afterMs: 200 },
          processes: ['bao server -config=/openbao/config/server.hcl'],
        },
        storage: { voice: silent, figures: { cpuPercent: [0, 0], memoryMb: [1, 0] }, finished: true },
      },
    },
    {
      component: 'mesh-control-server',
      project: 'mesh-control-server',
      createdAgoMs: days(52),
      startedAgoMs: days(8),
      ...(mesh && { product: mesh }),
      values: { HEADSCALE_SERVER_URL: 'https://mesh.home.example.org', HEADSCALE_DNS_BASE_DOMAIN: 'mesh.internal' },
      plays: {
        control: {
          voice: meshTraffic,
          figures: { cpuPercent: [0.5, 0.4], memoryMb: [58, 5] },
          pages: { 8080: { '/health': { body: { status: 'pass' } }, '/version': { body: { version: 'v0.27.1' } } } },
          bootMs: 400,
          ends: { exitCode: 0, afterMs: 300 },
          processes: ['headscale serve'],
        },
        ui: {
          voice: {
            everyMs: 60_000,
            begin: (at) => [
              `${at.toISOString()} [server] INFO: Running Headplane 0.6.1`,
              `${at.toISOString()} [server] INFO: Listening on 0.0.0.0:3000`,
            ],
            happen: (at) => [`${at.toISOString()} [api] DEBUG: GET /api/v1/node -> 200`],
          },
          figures: { cpuPercent: [0.3, 0.2], memoryMb: [112, 9] },
          pages: {
            3000: {
              '/admin/healthz': { body: { status: 'OK' } },
              '/admin/': htmlPage('Headplane'),
              '/': { status: 302, headers: { Location: '/admin/' } },
            },
          },
          bootMs: 900,
          ends: { exitCode: 0, afterMs: 200 },
          processes: ['node /app/build/server/index.js'],
        },
      },
    },
    {
      component: 'intrusion-prevention',
      project: 'intrusion-prevention',
      createdAgoMs: days(25),
      startedAgoMs: hours(31),
      hostPorts: { 8080: 8088 },
      ...(intrusionPrevention && { product: intrusionPrevention }),
      plays: {
        crowdsec: {
          voice: bouncerTraffic,
          figures: { cpuPercent: [1.4, 1.1], memoryMb: [124, 14] },
          bootMs: 800,
          ends: { exitCode: 0, afterMs: 300 },
          processes: ['crowdsec -c /etc/crowdsec/config.yaml'],
          ...(intrusionPreventionLogin && {
            files: {
              '/etc/crowdsec/local_api_credentials.yaml': `url: http://0.0.0.0:8080\nlogin: ${intrusionPreventionLogin.login}\npassword: ${intrusionPreventionLogin.password}\n`,
            },
          }),
        },
      },
    },
  ];
}
