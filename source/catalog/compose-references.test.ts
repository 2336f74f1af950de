import { afterEach, describe, expect, it } from 'vitest';
import { catalogFolder, soundComponent, soundCompose } from '../../test/doubles/catalog-folder.ts';
import { loadFolder } from './load-folder.ts';

const removals: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const remove of removals.splice(0)) await remove();
});

const justified = ['extends', 'build', 'include', 'privileged'].map((key) => `${key}: for a test`).join(', ');

/** Problems reported for compose.yaml with this replacement, as `line:column message remedy`. */
async function reported(from: string, to: string, files: Record<string, string> = {}, wanted = 'error'): Promise<string[]> {
  expect(soundCompose.split(from), `"${from}" must be there once`).toHaveLength(2);
  const made = await catalogFolder({
    'notes/component.yaml': soundComponent.replace(
      '\nvolumes:\n',
      `\njustifies: {secrets: s, configs: c, networks: n, ${justified}}\nvolumes:\n`,
    ),
    'notes/compose.yaml': soundCompose.replace(from, () => to),
    ...files,
  });
  removals.push(made.remove);
  const { problems } = await loadFolder(made.folder, { own: true });
  return problems.flatMap(({ level, file, line, column, message, remedy }) =>
    level === wanted && file.endsWith('compose.yaml') ? [`${line}:${column} ${message} ${remedy}`] : [],
  );
}

const app = '    depends_on: [db]\n';
const also = (lines: string) => [app, `${app}    ${lines}\n`] as const;
const bottom = 'volumes:\n  data: {}\n';

describe('what compose.yaml names', () => {
  it.each([
    [
      'a circle',
      'image: postgres:16-alpine',
      'image: postgres:16-alpine\n    depends_on: [app]',
      /^5:5 Services depend on each other: app, db, app\. Remove one/,
    ],
    ['itself', '[db]', '[app, db]', /^5:5 "app" depends on itself\. Remove one/],
    [
      'a condition that there is not',
      '[db]',
      '{db: {condition: service_helthy}}',
      /^5:34 "condition" must be one of service_started, .* Did you mean "service_healthy"\?$/,
    ],
    [
      'the network of a service that is not there',
      ...also('network_mode: service:dbb'),
      /^6:19 Unknown service "dbb"\. Did you mean "db"\?$/,
    ],
    [
      'a volume that is not declared',
      'data: {}',
      'dat: {}',
      /^13:9 "data" is not defined under the top-level volumes\. Did you mean "dat"\?$/,
    ],
    [
      'no volumes at all',
      bottom,
      '',
      /^13:9 "data" is not defined under the top-level volumes\. Add it to compose\.yaml: volumes: \{data: \{\}\}\.$/,
    ],
    [
      'volumes in a list',
      'volumes:\n  data: {}',
      'volumes: [data]',
      /^17:10 "volumes" must be a map of names to values, or compose rejects the whole file\. Use a map/,
    ],
    ['a network that is not declared', ...also('networks: [default, inner]'), /^6:25 "inner" is not defined under the top-level networks/],
    ['a secret that is not declared', ...also('secrets: [{source: pw}]'), /^6:15 "pw" is not defined under the top-level secrets/],
    [
      'a mount of another type',
      '- data:/data',
      '- {type: volum, source: data, target: /data}',
      /^13:16 "type" must be one of bind, .* Did you mean "volume"\?$/,
    ],
    [
      'a mount at no place',
      '- data:/data',
      '- data:/data\n      - data:more',
      /^14:9 The container path "more" is not absolute\. Use an absolute path: \/more\.$/,
    ],
    ['two mounts at one place', '- data:/data', '- data:/data\n      - ./other:/data', /^14:9 \/data is mounted twice\. Keep/],
    ['what another service has', ...also('extends: {service: db}'), /^6:5 "extends" is not supported.* anchor/],
    ['what is built', ...also('build: ./app'), /^6:5 Images are not built.* Remove build/],
    ['another compose file', bottom, `${bottom}include: [other.yaml]\n`, /^19:1 "include" is not supported/],
    [
      'an env_file that does not come along',
      ...also('env_file: app.env'),
      /^6:15 app\.env is not deployed; .* Move the file to \.\/files\/app\.env\.$/,
    ],
    [
      'an env_file that is not there',
      ...also('env_file: [.env, {path: ./files/app.env}]'),
      /^6:29 files\/app\.env is missing from this folder\. Add it\.$/,
    ],
    ['a secret file that does not come along', bottom, `${bottom}secrets:\n  pw: {file: ./pw.txt}\n`, /^20:14 pw\.txt is not deployed/],
    [
      'a misspelt key',
      app,
      '    dependson: [db]\n',
      /^5:5 "dependson" is not a usual service key in this catalog\. Did you mean "depends_on"\?$/,
    ],
    [
      'an address that is none',
      'WEB_BIND:-127.0.0.1',
      'WEB_BIND:-127.0.0.999',
      /^7:9 Invalid port: "127\.0\.0\.999" is not a valid IP address/,
    ],
    ['a service without anything', 'volumes:\n  data', '  more:\nvolumes:\n  data', /^17:8 The service "more" is empty\. Add an image/],
  ])('is told where it is %s', async (_, from, to, expected) => {
    expect(await reported(from, to)).toContainEqual(expect.stringMatching(expected));
  });

  it.each([
    ['SIGNUP: "${SIGNUP:-true}"', 'SIGNUP: on', '10:15', 'on'],
    ['SIGNUP: "${SIGNUP:-true}"', 'SIGNUP: 2026-01-01', '10:15', '2026-01-01'],
    ['- data:/data', '- data:/data\n    devices: [22:22]', '14:15', '22:22'],
  ])('is a warning where older programs read another value: %s becomes %s', async (from, to, position, written) => {
    expect(await reported(from, to, {}, 'warning')).toEqual([
      `${position} Docker Compose reads "${written}" as a string, but Python-based compose programs do not. Quote it: "${written}".`,
    ]);
  });

  it.each(['app', 'y', '1000:1000', '127.0.0.1:22:22', './a:/a', '8300:80'])('is no warning that %s is text', async (written) => {
    expect(await reported('SIGNUP: "${SIGNUP:-true}"', `SIGNUP: ${written}`, {}, 'warning')).toEqual([]);
  });

  it.each([
    ['files that come along', ...also('env_file: [./files/app.env, .env, /etc/app.env, {path: ./no.env, required: false}]')],
    ['networks that are declared', app, `${app}    networks: {default: {}}\n`],
    [
      'volumes of all kinds',
      '- data:/data',
      '- data:/data\n      - /srv/a:/a\n      - ~/b:/b\n      - ./c:/c\n      - /anonymous\n      - {type: bind, source: d, target: /d}\n      - {type: tmpfs, target: /e}',
    ],
    ['a database before it that is well', '[db]', '{db: {condition: service_healthy}}'],
  ])('may be %s', async (_, from, to) => {
    expect(await reported(from, to, { 'notes/files/app.env': '' })).toEqual([]);
  });
});
