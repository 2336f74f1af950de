import { htmlPage } from '../../answers.ts';
import { days, hours, minutes, type PracticeComponent } from '../component.ts';
import type { LogTemplates } from '../log-templates.ts';

/** Headplane queries the nodes, a monitor the health: beside what the product writes of itself. */
const meshTraffic: LogTemplates = {
  everyMs: 40_000,
  stderr: true,
  entries: [
    '{{second}} INF http request bytes={{588..6214}} method=GET path={{/api/v1/node|/api/v1/node|/api/v1/user|/health}} proto=HTTP/1.1 status=200',
  ],
};

/** The firewall's bouncer queries what is new. */
const bouncerTraffic: LogTemplates = {
  everyMs: 30_000,
  entries: [
    'time="{{second}}" level=info msg="172.18.0.1 - \\"GET /v1/decisions/stream HTTP/1.1 200 {{1..4}}.{{100000..999999}}ms \\"crowdsec-firewall-bouncer/v0.0.34\\" \\""',
  ],
};

/** Components with a simulator that really does what it says. */
export const productComponents: readonly PracticeComponent[] = [
  {
    component: 'secrets-manager-path',
    past: { createdAgoMs: days(30), startedAgoMs: minutes(4) },
    services: {
      openbao: {
        figures: { cpuPercent: [0.9, 0.6], memoryMb: [86, 6] },
        processes: ['bao server -config=/openbao/config/server.hcl'],
      },
      storage: { finished: true },
    },
  },
  {
    component: 'mesh-control-server',
    past: { createdAgoMs: days(52), startedAgoMs: days(8) },
    values: { HEADSCALE_SERVER_URL: 'https://mesh.home.example.org', HEADSCALE_DNS_BASE_DOMAIN: 'mesh.internal' },
    services: {
      control: {
        log: meshTraffic,
        figures: { cpuPercent: [0.5, 0.4], memoryMb: [58, 5] },
        processes: ['headscale serve'],
      },
      ui: {
        log: {
          everyMs: 60_000,
          start: ['{{iso}} [server] INFO: Running Headplane 0.6.1', '{{iso}} [server] INFO: Listening on 0.0.0.0:3000'],
          entries: ['{{iso}} [api] DEBUG: GET /api/v1/node -> 200'],
        },
        figures: { cpuPercent: [0.3, 0.2], memoryMb: [112, 9] },
        pages: {
          3000: {
            '/admin/healthz': { body: { status: 'OK' } },
            '/admin/': htmlPage('Headplane'),
            '/': { status: 302, headers: { Location: '/admin/' } },
          },
        },
        processes: ['node /app/build/server/index.js'],
      },
    },
  },
  {
    component: 'intrusion-prevention',
    past: { createdAgoMs: days(25), startedAgoMs: hours(31) },
    hostPorts: { 8080: 8088 },
    services: {
      crowdsec: {
        log: bouncerTraffic,
        figures: { cpuPercent: [1.4, 1.1], memoryMb: [124, 14] },
        processes: ['crowdsec -c /etc/crowdsec/config.yaml'],
      },
    },
  },
];
