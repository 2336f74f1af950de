import { describe, expect, it } from 'vitest';
import { YamlDocument } from '../yaml/document.ts';
import { readCompose } from './compose-file.ts';

const read = (text: string) => readCompose(new YamlDocument(text));

describe('readCompose', () => {
  it('reads both forms of environment, dependencies, mounts and command', () => {
    const { compose, problems } = read(`
services:
  app:
    image: team/app:\${TAG:-latest}
    restart: unless-stopped
    command: [serve, --port, "80"]
    environment: {A: "\${A:-1}", B: plain, C: }
    depends_on: {db: {condition: service_healthy}}
    volumes:
      - data:/data
      - /srv/media:/media:ro
      - {type: bind, source: ./files, target: /files, read_only: true}
      - /anonymous
    devices: ["/dev/dri:/dev/dri"]
    cap_add: [NET_ADMIN]
  db:
    image: postgres:16
    environment: ["POSTGRES_PASSWORD=\${DB_PASSWORD:?kept}", PASSED]
    depends_on: []
    profiles: [database]
    network_mode: host
volumes:
  data: {}
`);
    expect(problems).toEqual([]);
    const app = compose.services.get('app');
    expect(app).toMatchObject({
      image: 'team/app:latest',
      restart: 'unless-stopped',
      command: ['serve', '--port', '80'],
      dependsOn: ['db'],
      devices: ['/dev/dri:/dev/dri'],
      capAdd: ['NET_ADMIN'],
    });
    expect(app?.mounts.map(({ source, target, readOnly }) => [source, target, readOnly])).toEqual([
      ['data', '/data', false],
      ['/srv/media', '/media', true],
      ['./files', '/files', true],
      ['', '/anonymous', false],
    ]);
    expect([...(app?.environment ?? [])].map(([name, { value }]) => [name, value])).toEqual([
      ['A', '${A:-1}'],
      ['B', 'plain'],
      ['C', '${C}'],
    ]);
    const db = compose.services.get('db');
    expect(db).toMatchObject({ profiles: ['database'], networkMode: 'host' });
    expect([...(db?.environment.keys() ?? [])]).toEqual(['POSTGRES_PASSWORD', 'PASSED']);
    expect([...compose.variables.keys()]).toEqual(['TAG', 'A', 'DB_PASSWORD']);
    expect(Object.keys(compose.written)).toEqual(['services', 'volumes']);
  });

  it.each([
    ['1.20', '1.20'],
    ['TRUE', 'TRUE'],
    ['0x1F', '0x1F'],
    ['12345678901234567890', '12345678901234567890'],
  ])('says to put %s into quotes as it was meant', (written, meant) => {
    const { problems } = read(`services: {app: {image: a, environment: {A: ${written}}}}`);
    expect(problems.map(({ remedy }) => remedy)).toEqual([`Quote it: "${meant}".`]);
  });

  it.each([
    ['services: {app: {image: a, ports: ["x:y"]}}', 'services.app.ports[0]'],
    ['services: {app: {image: a, depends_on: [bd]}}', 'services.app.depends_on'],
    ['services: {app: {image: a, environment: {A: true}}}', 'services.app.environment.A'],
    ['services: {app: {image: a, environment: {PUID: 1000}}}', 'services.app.environment.PUID'],
    ['services: {app: {image: a, volumes: [{source: x}]}}', 'services.app.volumes[0]'],
    ['services: {app: {image: "a:${TAG"}}', 'services.app.image'],
    ['services: [app]', 'services'],
    ['volumes: {}', 'services'],
    ['- x', 'services'],
  ])('names the field of %s', (text, field) => {
    const { problems } = read(text);
    expect(problems.map((problem) => problem.field)).toContain(field);
    for (const { message, remedy } of problems) expect(`${message} ${remedy}`).toMatch(/^["A-Z].*[.?]$/);
  });
});
