import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { catalogFolder, soundComponent, soundCompose } from '../../test/doubles/catalog-folder.ts';
import { readWidePorts } from './compile.ts';
import { lintRules } from './lint.ts';
import { loadFolder } from './load-folder.ts';

const removals: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const remove of removals.splice(0)) await remove();
});

type Edit = readonly [from: string, to: string];
interface Breach {
  component?: readonly Edit[];
  compose?: readonly Edit[];
  folder?: string;
  wide?: readonly string[];
}

function edited(text: string, edits: readonly Edit[] = []): string {
  return edits.reduce((so, [from, to]) => {
    expect(so, `"${from}" must be there`).toContain(from);
    return so.replace(from, () => to);
  }, text);
}

/** Findings of the lint for the valid entry with these edits, as `rule field`. */
async function lint({ component, compose, folder = 'productivity/notes', wide }: Breach) {
  const made = await catalogFolder({
    [`${folder}/component.yaml`]: edited(soundComponent, component),
    [`${folder}/compose.yaml`]: edited(soundCompose, compose),
  });
  removals.push(made.remove);
  const { problems } = await loadFolder(made.folder, { own: wide === undefined, widePorts: wide && new Set(wide) });
  for (const { message, remedy } of problems) expect(`${message} ${remedy}`).toMatch(/^["A-Z].*[.?]$/s);
  return problems.map(({ rule, field }) => `${rule} ${field}`);
}

const justified: Edit = ['\nvolumes:\n', '\njustifies: {ports.web: other machines synchronise with it}\nvolumes:\n'];
const open: Breach = {
  component: [['exposure: loopback, web: true', 'exposure: all, web: true'], justified],
  compose: [['${WEB_BIND:-127.0.0.1}', '${WEB_BIND:-0.0.0.0}']],
};
const onHost: Edit[] = [['    ports:\n      - "${WEB_BIND:-127.0.0.1}:${WEB_PORT:-8300}:80"\n', '    network_mode: host\n']];
const login: Edit = ['volumes:\n', 'auth: none unless accounts are on\nvolumes:\n'];
const aTag = ['image: notes/notes:latest', 'image: notes/notes:stable'] as const;

describe('the lint', () => {
  it('finds nothing in a sound entry', async () => {
    expect(await lint({})).toEqual([]);
  });

  const breaches: [title: string, breach: Breach, expected: string][] = [
    ['a page with a login of which nothing is said (R9)', { component: [login], wide: [] }, 'R9 auth'],
    [
      'a secret by a name that the compose program uses itself (R2)',
      {
        component: [['name: APP_SECRET,', 'name: DOCKER_SECRET,']],
        compose: [['APP_SECRET: "${APP_SECRET:?', 'DOCKER_SECRET: "${DOCKER_SECRET:?']],
      },
      'R2 fields[0].name',
    ],
    [
      'a page with a login that needs no HTTPS, without a reason (R9)',
      { component: [login, ['volumes:\n', 'sensitive: false\nvolumes:\n']], wide: [] },
      'R9 sensitive',
    ],
    [
      'a page without a login that needs HTTPS, without a reason (R9)',
      { component: [['volumes:\n', 'auth: "none; product: it never had one"\nsensitive: true\nvolumes:\n']], wide: [] },
      'R9 sensitive',
    ],
    ['a key that no compose program takes', { compose: [['data: {}', 'data: {drivr: local}']] }, 'shapes volumes.data.drivr'],
    [
      'a duration that is none',
      { compose: [['    depends_on: [db]\n', '    depends_on: [db]\n    healthcheck: {interval: 30 s}\n']] },
      'meaning services.app.healthcheck.interval',
    ],
    ['a default that differs from the one of compose.yaml', { compose: [['SIGNUP:-true', 'SIGNUP:-false']] }, 'defaults fields[1].default'],
    ['an entry in a folder that is no group (R1)', { folder: 'office/notes' }, 'R1 group'],
    ['an entry in the folder of another group (R1)', { folder: 'media/notes' }, 'R1 group'],
    ["an id that is not the folder's name (R1)", { folder: 'productivity/note' }, 'R1 id'],
    [
      'a placeholder left in compose.yaml (R2)',
      { compose: [['image: notes/notes:latest', 'image: notes/notes:latest\n    command: serve --url <base_url>']] },
      'R2 services.app.command',
    ],
    [
      'a braced placeholder left in compose.yaml (R2)',
      { compose: [['image: notes/notes:latest', 'image: notes/notes:latest\n    command: ["serve", "{base_url}"]']] },
      'R2 services.app.command[1]',
    ],
    ['a secret that is not marked (R2)', { component: [['type: secret-string, secret: true', 'type: secret-string']] }, 'R2 fields[0]'],
    ['a secret with a default (R2)', { component: [['generator: "hex:16"', 'default: changeme']] }, 'R2 fields[0].default'],
    [
      'a secret with a default in compose.yaml (R2)',
      { compose: [['${APP_SECRET:?kept by Quarterdeck}', '${APP_SECRET:-changeme}']] },
      'R2 services.app.environment.APP_SECRET',
    ],
    [
      'a secret written into compose.yaml (R2)',
      { compose: [['"${APP_SECRET:?kept by Quarterdeck}"', 'changeme']] },
      'R2 services.app.environment.APP_SECRET',
    ],
    ['an unusual key at the top (R3)', { compose: [['volumes:\n  data: {}', 'volumes:\n  data: {}\nnetworks: {x: {}}']] }, 'R3 networks'],
    ['a service without an image (R4)', { compose: [['    image: notes/notes:latest\n', '']] }, 'R4 services.app'],
    ['an image that is no reference (R4)', { compose: [['notes/notes:latest', 'Notes Image']] }, 'R4 services.app.image'],
    [
      'a service that does not restart (R4)',
      { compose: [['    image: notes/notes:latest\n    restart: unless-stopped', '    image: notes/notes:latest']] },
      'R4 services.app',
    ],
    [
      'another restart policy (R4)',
      { compose: [['    image: notes/notes:latest\n    restart: unless-stopped', '    image: notes/notes:latest\n    restart: always']] },
      'R4 services.app.restart',
    ],
    [
      'a key that no service here has (R4)',
      { compose: [['image: notes/notes:latest', 'image: notes/notes:latest\n    privileged: true']] },
      'R4 services.app.privileged',
    ],
    [
      'a build instead of an image (R4)',
      { compose: [['image: notes/notes:latest', 'image: notes/notes:latest\n    build: .']] },
      'R4 services.app.build',
    ],
    ['a loopback port that is published everywhere (R6)', { compose: [['${WEB_BIND:-127.0.0.1}:', '']] }, 'R6 services.app.ports[0]'],
    [
      'a loopback port on an address of the network (R6)',
      { compose: [['${WEB_BIND:-127.0.0.1}', '192.168.1.2']] },
      'R6 services.app.ports[0]',
    ],
    [
      'a wide port that the specification does not allow (R7)',
      { ...open, wide: ['notes 8300/udp', 'other 8300/tcp'] },
      'R7 ports.web.exposure',
    ],
    [
      'a wide port without a reason (R7)',
      { ...open, component: [['exposure: loopback, web: true', 'exposure: all, web: true']] },
      'R7 ports.web.exposure',
    ],
    ['a port that says wide and is not (R7)', { ...open, compose: [] }, 'R7 services.app.ports[0]'],
    [
      "published ports of a service on the host's network (R16)",
      { compose: [['image: notes/notes:latest', 'image: notes/notes:latest\n    network_mode: host']] },
      'R16 services.app.ports',
    ],
    [
      'a host-network port that no service has (R16)',
      { component: [['exposure: loopback, web: true', 'exposure: host-network, number: 3000']] },
      'R16 ports.web.exposure',
    ],
    [
      'a numbered port that nobody publishes (R16)',
      { component: [['web: true}\n', 'web: true}\n  side: {role: x, exposure: loopback, number: 99}\n']] },
      'R16 ports.side.number',
    ],
    ['a default of the wrong type (R17)', { component: [['default: dark', 'default: blue']] }, 'R17 fields[3].default'],
    ['an enum without values (R17)', { component: [['enum: [dark, light], ', '']] }, 'R17 fields[3]'],
    [
      'a pattern that is none (R17)',
      { component: [['{name: colours, type: string, ', '{name: colours, type: string, pattern: "(", ']] },
      'R17 fields[4].pattern',
    ],
    [
      'a string boolean that YAML may take for a boolean (R18)',
      { compose: [['"${SIGNUP:-true}"', '${SIGNUP:-true}']] },
      'R18 services.app.environment.SIGNUP',
    ],
    [
      'a default that is a boolean where a string is documented (R18)',
      { component: [['default: "true"', 'default: true']] },
      'R17 fields[1].default',
    ],
    [
      'two defaults that exclude each other (R21)',
      { component: [['{name: colours, type: string, ', '{name: colours, type: string, default: red, ']] },
      'R21 fields[3].default',
    ],
    [
      'two defaults of which one may be (R21)',
      {
        component: [
          ['{name: colours, type: string, ', '{name: colours, type: string, default: red, '],
          [', excludes: [colours]', ''],
          ['volumes:\n', 'oneOf: [[theme, colours]]\nvolumes:\n'],
        ],
      },
      'R21 oneOf[0]',
    ],
    ['a database that nobody runs (R29)', { compose: [['image: postgres:16-alpine', 'image: redis:7-alpine']] }, 'R29 fields[2]'],
    ['a service that does not wait for its database (R29)', { compose: [['    depends_on: [db]\n', '']] }, 'R29 services.app'],
    [
      'an open model without authentication (R42)',
      { ...open, folder: 'ai/notes', component: [...(open.component ?? []), ['group: productivity', 'group: ai']] },
      'R42 ports.web.exposure',
    ],
    [
      'a stage of the media chain whose folder nobody knows (R55)',
      { component: [['volumes:\n', 'chain: [{stage: download, does: fetches}]\nvolumes:\n']] },
      'R55 chain[0]',
    ],
    [
      'a stage of the media chain that is served twice (R55)',
      { component: [['volumes:\n', 'chain: [{stage: release, does: finds}, {stage: release, does: finds}]\nvolumes:\n']] },
      'R55 chain[1]',
    ],
    [
      'another major version than the specification pins (R82)',
      { compose: [['postgres:16-alpine', 'postgres:17-alpine']] },
      'R82 services.db.image',
    ],
    [
      'a version that only begins like the pinned one (R82)',
      { compose: [['postgres:16-alpine', 'postgres:160']] },
      'R82 services.db.image',
    ],
    [
      'a generator that makes another length than the exact one (R19)',
      { component: [['generator: "hex:16"', 'generator: "hex:32", length: 32']] },
      'R17 fields[0].generator',
    ],
    [
      'a generator whose secrets do not have the form (R19)',
      { component: [['generator: "hex:16"', 'generator: "base64:32", pattern: "^[a-z]+$"']] },
      'R17 fields[0].generator',
    ],
    [
      'a pinned image of another version in the built-in catalog, whatever the reason (R82)',
      {
        component: [['db: {role: database}', 'db: {role: database, tagReason: newer}']],
        compose: [['postgres:16-alpine', 'postgres:17-alpine']],
        wide: [],
      },
      'R82 services.db.image',
    ],
    ['a tag without a reason (R82)', { compose: [aTag] }, 'R82 services.app.image'],
    [
      'a job that would start for ever',
      { component: [['db: {role: database}', 'db: {role: database, oneShot: true}']] },
      'oneShot services.db.restart',
    ],
    [
      'an optional service that always starts',
      { component: [['db: {role: database}', 'db: {role: database, optional: true}']] },
      'optional services.db',
    ],
    [
      'a profile that nobody mentions',
      { compose: [['    image: postgres:16-alpine', '    image: postgres:16-alpine\n    profiles: [db]']] },
      'optional services.db',
    ],
    [
      'a multipart body without a file',
      { component: [['json: {text: <text>}', 'multipart: {text: <text>}']] },
      'multipart calls.add.inputs',
    ],
  ];
  it.each(breaches)('finds %s', async (_, breach, expected) => {
    expect(await lint(breach)).toContain(expected);
  });

  const allowed: [title: string, breach: Breach][] = [
    [
      'an unusual key with a reason (R3, R4)',
      {
        component: [['volumes:\n', 'justifies: {networks: shared with the proxy, privileged: no other way}\nvolumes:\n']],
        compose: [
          ['image: notes/notes:latest', 'image: notes/notes:latest\n    privileged: true'],
          ['  data: {}', '  data: {}\nnetworks: {x: {}}'],
        ],
      },
    ],
    [
      'a job that ends by itself (R4)',
      {
        component: [['db: {role: database}', 'db: {role: database}\n  migrate: {role: job, oneShot: true}']],
        compose: [['volumes:\n  data', '  migrate:\n    image: notes/notes:latest\n    restart: "no"\nvolumes:\n  data']],
      },
    ],
    ['a wide port that the specification lists (R7)', { ...open, wide: ['notes 8300/tcp'] }],
    ["a wide port of an operator's own with a reason (R7)", open],
    ["a login of an entry of one's own that does not say whether it wants HTTPS (R9)", { component: [login] }],
    [
      'what has a login and wants no HTTPS, with a reason (R9)',
      { component: [login, ['volumes:\n', 'sensitive: false\njustifies: {sensitive: it is a game}\nvolumes:\n']], wide: [] },
    ],
    [
      'a login on a page with TLS of its own (R9)',
      { component: [login, ['exposure: loopback, web: true', 'exposure: loopback, web: true, tls: true']], wide: [] },
    ],
    [
      "a service on the host's network (R16)",
      { component: [['exposure: loopback, web: true', 'exposure: host-network, number: 3000'], justified], compose: onHost },
    ],
    [
      'a tag with a reason (R82)',
      {
        component: [['app: {main: true, role: server}', 'app: {main: true, role: server, tagReason: upstream publishes no latest}']],
        compose: [aTag],
      },
    ],
    [
      "another version of a pinned image in one's own catalog, with a reason (R82)",
      {
        component: [['db: {role: database}', 'db: {role: database, tagReason: the extension wants it}']],
        compose: [['postgres:16-alpine', 'postgres:17-alpine']],
      },
    ],
    ['a secret of an exact length (R19)', { component: [['generator: "hex:16"', 'generator: "hex:16", length: 32']] }],
    ['minor versions of a pinned image (R82)', { compose: [['postgres:16-alpine', 'postgres:16.4']] }],
    ['a secret without a value until it is set (R2)', { compose: [['${APP_SECRET:?kept by Quarterdeck}', '${APP_SECRET:-}']] }],
  ];
  it.each(allowed)('allows %s', async (_, breach) => {
    expect(await lint(breach)).toEqual([]);
  });

  it('keeps the five administration ports of the specification on loopback (R8)', async () => {
    const rows = [
      ['siem', 55000],
      ['tunnel-server-ui', 51821],
      ['proxy-manager', 81],
      ['dynamic-proxy', 8080],
      ['load-balancer', 9000],
    ] as const;
    for (const [id, port] of rows) {
      const breach: Breach = {
        component: [['id: notes', `id: ${id}`], ...(open.component ?? [])],
        compose: [...(open.compose ?? []), ['8300', String(port)]],
        folder: id,
      };
      expect(await lint(breach), id).toContain('R8 services.app.ports[0]');
    }
  });

  it('wants media libraries read-only and /dev/dri for media servers (R28)', async () => {
    const component: Edit[] = [
      ['group: productivity', 'group: media'],
      ['kind: Note keeper', 'kind: Media server'],
      ['  /data: {description: everything}', '  /media: {description: library}'],
    ];
    const folder = 'media/notes';
    expect(await lint({ folder, component, compose: [['data:/data', 'data:/media']] })).toEqual(
      expect.arrayContaining(['R28 services.app.volumes[0]', 'R28 services.app']),
    );
    expect(await lint({ folder, component, compose: [['- data:/data', '- data:/media:ro\n    devices: [/dev/dri:/dev/dri]']] })).toEqual(
      [],
    );
  });

  it('wants them of a second media server too, and of libraries under other names (R28)', async () => {
    const component: Edit[] = [
      ['group: productivity', 'group: media'],
      ['kind: Note keeper', 'kind: Second media server'],
      ['  /data: {description: everything}', '  /movies: {description: library}'],
    ];
    expect(await lint({ folder: 'media/notes', component, compose: [['data:/data', 'data:/movies']] })).toEqual(
      expect.arrayContaining(['R28 services.app.volumes[0]', 'R28 services.app']),
    );
  });

  it('wants a database with vector search under a photo library that searches there, and says so (R30)', async () => {
    const photos = ['notes/notes:latest', 'ghcr.io/immich-app/immich-server:latest'] as const;
    const vector = ['postgres:16-alpine', 'ghcr.io/immich-app/postgres:16-vectorchord0.4.3'] as const;
    const reason = 'tagReason: the extensions';
    expect(await lint({ compose: [photos] })).toEqual(['R30 services.db.image']);
    const without: Edit[] = [['db: {role: database}', `db: {role: database, ${reason}}`]];
    expect(await lint({ component: without, compose: [photos, vector] })).toEqual(['R30 services.db']);
    const said: Edit[] = [['db: {role: database}', `db: {role: database, ${reason}, irreplaceable: it has the extension}`]];
    expect(await lint({ component: said, compose: [photos, vector] })).toEqual([]);
  });

  it('wants database, secret key and public base URL of kanban, wiki, RSS, notes and CMS, or a reason (R31)', async () => {
    const kinds = [
      'Kanban board',
      'Team wiki',
      'RSS reader',
      'Content management system (CMS)',
      'Collaborative Markdown notes',
      'Knowledge base',
      'Read-it-later app',
    ];
    for (const kind of kinds) expect(await lint({ component: [['kind: Note keeper', `kind: ${kind}`]] }), kind).toEqual(['R31 fields']);
    const wiki: Edit = ['kind: Note keeper', 'kind: Wiki'];
    const address: Edit = ['fields:\n', 'fields:\n  - {name: BASE_URL, type: url, target: config, audience: browser}\n'];
    expect(await lint({ component: [wiki, address] })).toEqual([]);
    const reason: Edit = ['volumes:\n', 'justifies: {public base URL: it takes the address that it is opened at}\nvolumes:\n'];
    expect(await lint({ component: [wiki, reason] })).toEqual([]);
    const keyless: Edit[] = [
      ['name: APP_SECRET', 'name: APP_PASSWORD'],
      [', secret: true, target: environment}', ', secret: true, target: environment}'],
    ];
    expect(
      await lint({ component: [wiki, address, ...keyless], compose: [['APP_SECRET: "${APP_SECRET', 'APP_PASSWORD: "${APP_PASSWORD']] }),
    ).toEqual(['R31 fields']);
  });

  it('wants one version for manager, indexer and dashboard (R83)', async () => {
    const compose: Edit[] = [
      ['notes/notes:latest', 'wazuh/wazuh-manager:4.13.1'],
      ['volumes:\n  data', '  indexer:\n    image: wazuh/wazuh-indexer:4.14.0\n    restart: unless-stopped\nvolumes:\n  data'],
    ];
    const component: Edit[] = [['db: {role: database}', 'db: {role: database}\n  indexer: {role: indexer}']];
    expect(await lint({ compose, component })).toContain('R83 services.indexer.image');
    expect(
      await lint({
        compose: [
          compose[0] as Edit,
          ['volumes:\n  data', '  indexer:\n    image: wazuh/wazuh-indexer:4.13.1\n    restart: unless-stopped\nvolumes:\n  data'],
        ],
        component,
      }),
    ).toEqual([]);
  });

  it('has a breach for every rule', () => {
    const text = readFileSync(new URL(import.meta.url), 'utf8');
    for (const { id } of lintRules) expect(text, id).toMatch(new RegExp(`['"]${id} `));
  });
});

describe('readWidePorts', () => {
  it('reads the annex of the port list (R7)', () => {
    const ports = readWidePorts(readFileSync('test/spec/port-conflicts.md', 'utf8'));
    expect(ports.size).toBe(47);
    for (const known of [
      'dns-filter-second 53/udp',
      'file-sync 22000/tcp',
      'reverse-proxy 443/udp',
      'traffic-analysis 3000/tcp',
      'dhcp-server 67/udp',
    ])
      expect(ports).toContain(known);
    expect(ports).not.toContain('dns-filter-second 3000/tcp');
  });
});
