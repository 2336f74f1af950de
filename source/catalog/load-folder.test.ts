import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { catalogFolder, soundComponent, soundCompose } from '../../test/doubles/catalog-folder.ts';
import { type LoadOptions, loadFolder } from './load-folder.ts';

const removals: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const remove of removals.splice(0)) await remove();
});

async function load(files: Record<string, string>, options: Partial<LoadOptions> = {}) {
  const { folder, remove } = await catalogFolder(files);
  removals.push(remove);
  const loaded = await loadFolder(folder, { own: false, ...options });
  return { folder, ...loaded, problems: loaded.problems.map((problem) => ({ ...problem, file: problem.file.slice(folder.length + 1) })) };
}

const position = 'productivity/notes';
const sound: Record<string, string> = { [`${position}/component.yaml`]: soundComponent, [`${position}/compose.yaml`]: soundCompose };

/** Replaces one piece of text; a test that replaces nothing would prove nothing. */
function broken(file: 'component' | 'compose', from: string, to: string): Record<string, string> {
  const path = `${position}/${file}.yaml`;
  const text = sound[path] ?? '';
  expect(text.split(from).length, `"${from}" must be there once`).toBe(2);
  return { ...sound, [path]: text.replace(from, () => to) };
}

/** Returns the position of a piece of text, counted independently of the code under test. */
function positionOf(text: string, piece: string): { line: number; column: number } {
  const before = text.slice(0, text.indexOf(piece));
  return { line: before.split('\n').length, column: before.length - before.lastIndexOf('\n') };
}

describe('loadFolder', () => {
  it('joins both files into one entry', async () => {
    const { entries, problems } = await load(sound);
    expect(problems).toEqual([]);
    expect(entries).toHaveLength(1);
    expect(entries[0]).toMatchObject({
      id: 'notes',
      folder: position,
      own: false,
      image: 'notes/notes:latest',
      ports: [
        {
          name: 'web',
          service: 'app',
          host: 8300,
          container: 80,
          protocol: 'tcp',
          exposure: 'loopback',
          role: 'web page',
          web: true,
          fixed: false,
          tls: false,
        },
      ],
      services: [
        {
          name: 'app',
          main: true,
          repositories: ['docker.io/notes/notes'],
          dependsOn: ['db'],
          mounts: [{ source: 'data', target: '/data', readOnly: false }],
        },
        { name: 'db', main: false, image: 'postgres:16-alpine', repositories: ['docker.io/library/postgres'] },
      ],
    });
    expect(entries[0]?.services[0]?.environment).toEqual({
      APP_SECRET: '${APP_SECRET:?kept by Quarterdeck}',
      SIGNUP: '${SIGNUP:-true}',
      DATABASE_URL: '${DATABASE_URL:?kept by Quarterdeck}',
    });
  });

  it('finds the files that compose.yaml mounts', async () => {
    const { problems } = await load({
      ...broken(
        'compose',
        '- data:/data',
        '- data:/data\n      - ./files/app.yml:/app.yml:ro\n      - ./files/sites:/sites:ro\n      - ./files/sites/deep/x:/x',
      ),
      [`${position}/files/app.yml`]: '',
      [`${position}/files/sites/deep/x`]: '',
    });
    expect(problems).toEqual([]);
  });

  it('reads anchors and merge keys as compose does, and tells what is wrong at an anchor once', async () => {
    const anchored = (compose: string) =>
      load(
        {
          'notes/component.yaml': soundComponent.replace('\nvolumes:\n', '\njustifies: {x-usual: what all share}\nvolumes:\n'),
          'notes/compose.yaml': compose,
        },
        { own: true },
      );
    const usual = soundCompose
      .replace('services:\n', 'x-usual: &usual\n  restart: unless-stopped\n  labels: {a: "1"}\nservices:\n')
      .replaceAll('    restart: unless-stopped\n', '    <<: *usual\n');
    expect(usual.split('<<: *usual')).toHaveLength(3);
    const sound = await anchored(usual);
    expect(sound.problems).toEqual([]);
    expect(sound.entries.map(({ id }) => id)).toEqual(['notes']);
    const { problems } = await anchored(usual.replace('{a: "1"}', '{a: "${A"}'));
    expect(problems).toMatchObject([{ line: 3, column: 15, message: 'The brace after the dollar sign is never closed.' }]);
  });

  it("reads a flat folder and a folder that is one component, for an operator's own catalog", async () => {
    const flat = await load({ 'notes/component.yaml': soundComponent, 'notes/compose.yaml': soundCompose }, { own: true });
    expect(flat.problems).toEqual([]);
    expect(flat.entries.map(({ id, own, folder }) => [id, own, folder])).toEqual([['notes', true, join(flat.folder, 'notes')]]);
    const single = await loadFolder(join(flat.folder, 'notes'), { own: true });
    expect(single.problems).toEqual([]);
    expect(single.entries.map(({ id }) => id)).toEqual(['notes']);
  });

  it('names ports that compose publishes without a variable', async () => {
    const { entries, problems } = await load(
      {
        'notes/component.yaml': soundComponent
          .replace('  web: {role: web page', '  web: {container: 80, role: web page')
          .replace('/notes, json', '/n, json'),
        'notes/compose.yaml': soundCompose.replace('${WEB_BIND:-127.0.0.1}:${WEB_PORT:-8300}:80', '127.0.0.1:8300:80'),
      },
      { own: true },
    );
    expect(problems).toEqual([]);
    expect(entries[0]?.ports).toMatchObject([{ name: 'web', host: 8300, container: 80 }]);
  });

  it('takes a range of ports for one port', async () => {
    const ranged = (annotation: string) =>
      load(
        {
          'notes/component.yaml': soundComponent.replace('  web: {role', `${annotation}  web: {role`),
          'notes/compose.yaml': soundCompose.replace(
            'WEB_PORT:-8300}:80"',
            (whole) => `${whole}\n      - "127.0.0.1:50000-50010:50000-50010/udp"`,
          ),
        },
        { own: true },
      );
    const { problems } = await ranged('');
    expect(problems).toMatchObject([
      {
        message: 'The port "app" (50000-50010/udp) is not described in component.yaml.',
        remedy: 'Add it under ports: app: {role: ..., exposure: loopback, container: 50000}.',
      },
    ]);
    const described = await ranged('  voice: {role: voice, exposure: loopback, container: 50000}\n');
    expect(described.problems).toEqual([]);
    expect(described.entries[0]?.ports.map(({ name, container }) => `${name} ${container}`)).toContain('voice 50010');
  });

  it('asks for no backup of what is in memory alone', async () => {
    const { problems } = await load(broken('compose', '- data:/data', '- data:/data\n      - {type: tmpfs, target: /scratch}'));
    expect(problems).toEqual([]);
  });

  it('refuses an entry that depends on itself', async () => {
    const { problems } = await load(broken('component', '\nvolumes:\n', '\ndependsOn: [notes]\nvolumes:\n'));
    expect(problems).toMatchObject([{ field: 'dependsOn[0]', message: 'The component depends on itself.' }]);
  });

  it('says where a colon is missing and which line is out of place', async () => {
    const colon = await load(broken('compose', '  app:\n', '  app\n'));
    expect(colon.problems).toMatchObject([{ line: 2, message: 'This line has no colon.', remedy: 'Use app: value, or remove the line.' }]);
    const moved = await load(broken('compose', '    image: notes', '   image: notes'));
    expect(moved.problems).toMatchObject([{ line: 4, remedy: 'Align this line with the lines around it, or remove the value above.' }]);
  });

  // The replaced text, its replacement, the text that the problem must point at, its field, the rule, message and remedy.
  const cases: [string, 'component' | 'compose', string, string, string, string, string | undefined, RegExp, RegExp][] = [
    [
      'a misspelt key',
      'component',
      'exposure: loopback',
      'exposuer: loopback',
      'exposuer',
      'ports.web.exposuer',
      undefined,
      /Unknown key "exposuer"/,
      /Did you mean "exposure"/,
    ],
    ['a missing key', 'component', 'kind: Note keeper\n', '', 'id: notes', 'kind', undefined, /"kind" is missing/, /Add it: text/],
    [
      'a wrong word',
      'component',
      'exposure: loopback',
      'exposure: loopbak',
      'loopbak',
      'ports.web.exposure',
      undefined,
      /cannot be "loopbak"/,
      /Did you mean "loopback"/,
    ],
    [
      'a wrong kind of value',
      'component',
      'web: true}',
      'web: "yes"}',
      '"yes"',
      'ports.web.web',
      undefined,
      /must be true or false/,
      /^Use true or false\.$/,
    ],
    [
      'a list where a map belongs',
      'component',
      'volumes:\n  /data: {description: everything}',
      'volumes: [/data]',
      '[/data]',
      'volumes',
      undefined,
      /must be a map/,
      /./,
    ],
    [
      'a bad name',
      'component',
      '  web: {role',
      '  Web_1: {role',
      'Web_1',
      'ports.Web_1',
      undefined,
      /"Web_1" is not allowed: use lowercase/,
      /Rename/,
    ],
    [
      'a wrong form',
      'component',
      'path: /health',
      'path: health',
      'health}',
      'calls.health.http.path',
      undefined,
      /is invalid/,
      /begin with \//,
    ],
    [
      'two kinds of call in one',
      'component',
      'exec: {service: app, argv: [notes, count]}',
      'exec: {service: app, argv: [x]}\n    tcp: {port: web}',
      'count:',
      'calls.count',
      undefined,
      /exactly one of http, exec/,
      /./,
    ],
    [
      'a key that is there twice',
      'component',
      'deploy: compose\n',
      'deploy: compose\nid: other\n',
      'id: other',
      '',
      undefined,
      /^"id" is set twice/,
      /Keep one/,
    ],
    [
      'a span of time in other words',
      'component',
      'probe:\n',
      'probe:\n  every: 1d\n',
      '1d',
      'probe.every',
      undefined,
      /is invalid: "1d"/,
      /^Use a number followed by s or m, such as 30s\.$/,
    ],
    [
      'a row of a list',
      'component',
      'method: stop}',
      'method: dump}',
      '{id: data, volume',
      'backup[0]',
      undefined,
      /^"backup\[0\]": method: dump requires/,
      /./,
    ],
    [
      'a second document',
      'component',
      'product: {name: Notes}',
      '---\nproduct: {name: Notes}',
      '---',
      '',
      undefined,
      /^This file has more than one document\.$/,
      /remove the --- line/,
    ],
    [
      'a way to make secrets that there is not',
      'component',
      'generator: "hex:16"',
      'generator: "hexx:16"',
      '"hexx:16"',
      'fields[0].generator',
      undefined,
      /is invalid: "hexx:16"/,
      /^Use base64:48 or hex:16.* or uuid\.$/,
    ],
    [
      'a service of a call that is not there',
      'component',
      'exec: {service: app, argv: [notes, count]}',
      'exec: {service: xxxxxxxx, argv: [notes, count]}',
      'xxxxxxxx',
      'calls.count.exec.service',
      'references',
      /Unknown service "xxxxxxxx"/,
      /^Use one of: app, db\.$/,
    ],
    ['broken YAML', 'component', 'product: {name: Notes}', 'product: {name: Notes', 'services:\n  app', '', undefined, /./, /./],
    [
      'broken YAML in compose.yaml',
      'compose',
      'image: notes/notes:latest',
      'image: "notes/notes:latest',
      'image',
      '',
      undefined,
      /quote/i,
      /./,
    ],
    [
      'a condition that cannot be read',
      'component',
      "'calls.count.ok && int",
      "'calls.count.ok && && int",
      '&& int',
      'checks[0].when',
      'expressions',
      /Invalid expression: Unexpected token/,
      /Fix/,
    ],
    [
      'an unknown variable',
      'component',
      "when: 'status == 200",
      "when: 'statsu == 200",
      'statsu',
      'probe.states[0].when',
      'expressions',
      /Unknown variable: statsu/,
      /Did you mean "status"/,
    ],
    [
      'a field that a number cannot have',
      'component',
      "when: 'status == 200",
      "when: 'status.code == 200",
      'status.code',
      'probe.states[0].when',
      'expressions',
      /status has no "code"/,
      /Fix/,
    ],
    [
      'a field that no response to a call has',
      'component',
      "when: 'calls.count.ok",
      "when: 'calls.count.okay",
      'calls.count.okay',
      'checks[0].when',
      'expressions',
      /calls has no "okay", only ok, status, json, text, headers, failure/,
      /Fix/,
    ],
    [
      'a check that looks at an answer of its own',
      'component',
      "when: 'calls.count.ok",
      "when: 'ok && calls.count.ok",
      'ok && calls',
      'checks[0].when',
      'expressions',
      /Unknown variable: ok/,
      /./,
    ],
    [
      'a condition that is none',
      'component',
      "int(calls.count.text) > 1000'",
      "int(calls.count.text) > 1000 ? 1 : 2'",
      'calls.count.ok',
      'checks[0].when',
      'expressions',
      /type int/,
      /Compare/,
    ],
    [
      'an answer nobody asked for',
      'component',
      'calls: [count]',
      'calls: []',
      'calls.count.ok',
      'checks[0].when',
      'expressions',
      /"count" is used here, but is never run/,
      /calls: \[count\]/,
    ],
    [
      'a template that never closes',
      'component',
      'loading {json.percent} %',
      'loading {json.percent %',
      '{json.percent %',
      'probe.states[0].state',
      'expressions',
      /never closed/,
      /double literal braces/,
    ],
    [
      'a template that shows a secret',
      'component',
      'message: There are many notes.',
      'message: The secret is {env.APP_SECRET}.',
      'env.APP_SECRET',
      'checks[0].message',
      'expressions',
      /would reveal the secret APP_SECRET/,
      /./,
    ],
    [
      'an unknown call',
      'component',
      'call: health',
      'call: helth',
      'helth',
      'probe.call',
      'references',
      /Unknown call "helth"/,
      /Did you mean "health"/,
    ],
    [
      'a probe that changes something',
      'component',
      'call: health',
      'call: add',
      'add\n',
      'probe.call',
      'call-users',
      /use only read-only calls/,
      /reads: true/,
    ],
    [
      'a probe that logs in',
      'component',
      'title: Is it up?',
      'title: Is it up?\n    auth: basic',
      'health\n  states',
      'probe.call',
      'call-users',
      /must not log in/,
      /auth: none/,
    ],
    [
      'a probe that logs in with a call that needs no credential',
      'component',
      'call: health\n  states',
      'call: health\n  withCredentials: [health]\n  states',
      'health]',
      'probe.withCredentials[0]',
      'call-users',
      /inputs are all credentials/,
      /list it in also/,
    ],
    [
      'an operation that claims to read',
      'component',
      'call: add, right: operate',
      'call: add, right: read',
      'read}',
      'operations[0].right',
      'call-users',
      /makes changes/,
      /operate/,
    ],
    [
      'a destruction that does not say of what',
      'component',
      'right: operate}',
      'right: destroy}',
      '{id: add-note',
      'operations[0]',
      'call-users',
      /lists no consequences/,
      /consequences/,
    ],
    [
      'an error that an unknown check finds',
      'component',
      'operations:\n',
      'errors:\n  - {condition: c, outcome: o, check: many-note}\noperations:\n',
      'many-note}',
      'errors[0].check',
      'references',
      /Unknown check "many-note"/,
      /Did you mean "many-notes"/,
    ],
    [
      'an unknown port',
      'component',
      'http: {method: GET, port: web',
      'http: {method: GET, port: wbe',
      'wbe',
      'calls.health.http.port',
      'references',
      /Unknown port "wbe"/,
      /Did you mean "web"/,
    ],
    [
      'an unknown service',
      'component',
      'exec: {service: app',
      'exec: {service: application',
      'application',
      'calls.count.exec.service',
      'references',
      /Unknown service "application"/,
      /app, db/,
    ],
    [
      'a placeholder nobody fills',
      'component',
      '{text: <text>}',
      '{text: <txet>}',
      '<txet>',
      'calls.add.http.json.text',
      'calls',
      /Unknown input "txet"/,
      /Did you mean "text"/,
    ],
    [
      'an input nobody uses',
      'component',
      '{text: <text>}',
      '{text: fixed}',
      'text: {type: string',
      'calls.add.inputs.text',
      'calls',
      /"text" is not used/,
      /<text>/,
    ],
    [
      'a secret among arguments',
      'component',
      'argv: [notes, count]}',
      'argv: [notes, <pin>]}\n    inputs: {pin: {type: secret-string, description: pin, secret: true}}',
      '<pin>',
      'calls.count.exec.argv[1]',
      'calls',
      /secret "pin" would be visible/,
      /stdin/,
    ],
    [
      'an unknown field among those excluded',
      'component',
      'excludes: [colours]',
      'excludes: [colors]',
      'colors',
      'fields[3].excludes[0]',
      'references',
      /Unknown field "colors"/,
      /Did you mean "colours"/,
    ],
    [
      'a field that nobody gets',
      'component',
      'name: SIGNUP,',
      'name: SIGNUPS,',
      '{name: SIGNUPS',
      'fields[1]',
      'fields',
      /sets SIGNUPS, but no service in compose\.yaml uses/,
      /Did you mean "SIGNUP"/,
    ],
    [
      'a variable that is no field',
      'compose',
      '"${SIGNUP:-true}"',
      '"${SIGNUP_ALLOWED:-true}"',
      '"${SIGNUP_ALLOWED',
      'services.app.environment.SIGNUP',
      'fields',
      /is not a declared field/,
      /Declare|Use one of/,
    ],
    [
      'a service without a description',
      'component',
      '  db: {role: database}\n',
      '',
      'db:',
      'services.db',
      'services',
      /"db" is not described/,
      /services: db/,
    ],
    [
      'a description without a service',
      'component',
      '  db: {role: database}\n',
      '  db: {role: database}\n  dbb: {role: x}\n',
      'dbb',
      'services.dbb',
      'services',
      /Unknown compose.yaml service "dbb"/,
      /Did you mean "db"/,
    ],
    [
      'no main service',
      'component',
      'app: {main: true, role: server}',
      'app: {role: server}',
      'services:',
      'services',
      'services',
      /No service is marked as main/,
      /main: true/,
    ],
    [
      'a port without a description',
      'compose',
      '${WEB_PORT:-8300}',
      '${WBE_PORT:-8300}',
      '"${WEB_BIND',
      'services.app.ports[0]',
      'ports',
      /"wbe" .* is not described/,
      /Did you mean "web"/,
    ],
    [
      'a description without a port',
      'component',
      'web: true}\n',
      'web: true}\n  metrics: {role: x, exposure: loopback}\n',
      'metrics',
      'ports.metrics',
      'ports',
      /compose\.yaml has no port named "metrics"/,
      /web|METRICS_PORT/,
    ],
    [
      'a mount that is not there',
      'component',
      '  /data: {description',
      '  /dta: {description',
      '/dta',
      'volumes./dta',
      'volumes',
      /Unknown compose.yaml mount "\/dta"/,
      /Did you mean "\/data"/,
    ],
    [
      'a mounted file that is not there',
      'compose',
      '- data:/data',
      '- data:/data\n      - ./files/app.yml:/app.yml:ro',
      './files/app.yml',
      'services.app.volumes[1]',
      'files',
      /files\/app\.yml is missing/,
      /^Add it\.$/,
    ],
    [
      'a mount that leaves its folder',
      'compose',
      '- data:/data',
      '- data:/data\n      - ../other:/other:ro',
      '../other',
      'services.app.volumes[1]',
      'files',
      /is outside the component folder/,
      /files\//,
    ],
    [
      'a volume that nobody backs up',
      'compose',
      '- data:/data',
      '- data:/data\n      - more:/more',
      'more:/more',
      'services.app.volumes[1]',
      'backup',
      /The volume "more" has no backup method/,
      /method: skip/,
    ],
    [
      'a backup of a volume that is not there',
      'component',
      'volume: data, method',
      'volume: dta, method',
      'dta',
      'backup[0].volume',
      'backup',
      /Unknown compose.yaml volume "dta"/,
      /Did you mean "data"/,
    ],
    [
      'a dump with a secret in its arguments',
      'component',
      'method: stop}',
      'method: dump, dump: [sh, -c, "mysqldump -p$DB_PASSWORD"], restore: [mysql]}',
      '"mysqldump -p$DB_PASSWORD"',
      'backup[0].dump[2]',
      'backup',
      /visible in the process arguments/,
      /environment/,
    ],
    [
      'a configuration file that is not there',
      'component',
      'volumes:\n',
      'configFile: {path: files/app.yml, form: YAML}\nvolumes:\n',
      'files/app.yml',
      'configFile.path',
      'files',
      /Unknown file "files\/app.yml"/,
      /./,
    ],
    [
      'two rules of a configuration file with one id',
      'component',
      'volumes:\n',
      "configFile:\n  path: app.yml\n  form: YAML\n  format: yaml\n  rules:\n    - {id: port, when: 'true', message: A., remedy: B.}\n    - {id: port, when: 'false', message: C., remedy: D.}\nvolumes:\n",
      "port, when: 'false'",
      'configFile.rules[1].id',
      'call-users',
      /"port" is used twice/,
      /Change one of the two ids/,
    ],
    [
      'a dependency on nothing',
      'compose',
      'depends_on: [db]',
      'depends_on: [bd]',
      '[bd]',
      'services.app.depends_on',
      undefined,
      /unknown service "bd"/,
      /Did you mean "db"/,
    ],
    [
      'a port that cannot be read',
      'compose',
      ':80"',
      ':web"',
      '"${WEB_BIND',
      'services.app.ports[0]',
      undefined,
      /"web" is not a valid container port/,
      /Use/,
    ],
  ];

  it.each(cases)('points at %s', async (_, file, from, to, pointsAt, field, rule, message, remedy) => {
    const files = broken(file, from, to);
    const { problems } = await load(files);
    const found = problems.find((problem) => problem.field === field && message.test(problem.message));
    expect(found, JSON.stringify(problems, null, 1)).toBeDefined();
    expect(found?.rule).toBe(rule);
    expect(found?.remedy).toMatch(remedy);
    expect(found?.remedy).toMatch(/^["A-Z].*[.?]$/);
    const text = files[found?.file ?? ''] ?? '';
    if (!/^(broken YAML)/.test(_)) expect({ line: found?.line, column: found?.column }).toEqual(positionOf(text, pointsAt));
    expect(found?.level).toBe('error');
  });

  it('loads the others when one folder is broken', async () => {
    const { entries, problems } = await load({
      ...sound,
      'productivity/empty/compose.yaml': 'services: {}\n',
      'productivity/rubbish/component.yaml': '\u0000\u0001{{{',
      'productivity/list/component.yaml': '- a\n- b\n',
      'productivity/nothing/component.yaml': '',
    });
    expect(entries.map(({ id }) => id)).toEqual(['notes']);
    for (const folder of ['empty', 'rubbish', 'list', 'nothing']) {
      expect(problems.filter(({ file }) => file === `productivity/${folder}/component.yaml`).length, folder).toBeGreaterThan(0);
    }
  });

  it('names one cause, not all that follows from it', async () => {
    const reported = async (files: Record<string, string>) =>
      (await load({ ...sound, ...files })).problems.map(({ message, remedy }) => `${message} ${remedy}`);
    expect(await reported({ [`${position}/component.yaml`]: soundComponent.replaceAll(/^ {2}/gm, '\t') })).toEqual([
      'Tabs are not allowed as indentation. Indent with spaces, here and below.',
    ]);
    expect(await reported({ [`${position}/compose.yaml`]: '' })).toEqual(['"services" is missing. Add a map of services.']);
    expect(await reported({ [`${position}/component.yaml`]: '' })).toEqual([
      'The file must be a map of names to values, not empty. Add the content, or remove the file.',
    ]);
    expect(
      await reported({
        [`${position}/component.yaml`]: soundComponent.replace('volumes:\n  /data: {description: everything}', 'volumes:'),
      }),
    ).toEqual(['"volumes" must be a map of names to values, not empty. Set a value, or remove the line.']);
    const alone = await load({ [`${position}/component.yaml`]: soundComponent });
    expect(alone.problems.map(({ field }) => field)).toEqual(['deploy']);
  });

  it('names the new key, or value, where an entry has one of before 1.0', async () => {
    const reported = async (from: string, to: string) => {
      const text = soundComponent.replace(from, to);
      expect(text).not.toBe(soundComponent);
      return (await load({ ...sound, [`${position}/component.yaml`]: text })).problems.map(({ message }) => message);
    };
    expect(await reported('  states:\n', '  says:\n')).toEqual(['"says" is now "states".']);
    expect(await reported('state: loading', 'word: loading')).toEqual(['"word" is now "state".']);
    expect(await reported('severity: busy', 'tone: busy')).toEqual(['"tone" is now "severity".']);
    expect(await reported('severity: busy', 'severity: warn')).toEqual(['"warn" is now "warning".']);
    expect(await reported('call: health\n', 'call: health\n  usual: false\n')).toEqual(['"usual" is now "defaults".']);
    expect(await reported('target: config, default', 'goes: config, default')).toEqual(['"goes" is now "target".']);
    expect(await reported('target: config}', 'target: config, reach: listen}')).toEqual(['"reach" is now "audience".']);
    expect(await reported('target: config}', 'target: config, proves: {call: add, input: text}}')).toEqual(['"proves" is now "verify".']);
    expect(await reported('{description: everything}', '{meaning: everything}')).toEqual(['"meaning" is now "description".']);
    expect(await reported('{description: everything}', '{description: everything, holds: library}')).toEqual(['"holds" is now "content".']);
    expect(await reported('method: stop', 'way: stop')).toEqual(['"way" is now "method".']);
    expect(await reported('path: /health}', 'path: /health, behind: WEB_URL}')).toEqual(['"behind" is now "publicUrl".']);
    expect(await reported('volumes:\n', 'chain: [{stage: scan, does: it, aside: true}]\nvolumes:\n')).toEqual([
      '"aside" is now "optional".',
    ]);
    expect(await reported('volumes:\n', 'speaks: {name: oidc, port: web}\nvolumes:\n')).toEqual(['"speaks" is now "api".']);
    expect(await reported('volumes:\n', 'api: {api: oidc, port: web}\nvolumes:\n')).toEqual(['"api" is now "name".']);
    expect(await reported('volumes:\n', 'states: []\nvolumes:\n')).toEqual(['"states" is now "transitions".']);
    expect(await reported('volumes:\n', 'sources: [a book]\nvolumes:\n')).toEqual(['"sources" is no longer used.']);
  });

  it('repeats no more of a value than it takes to find it', async () => {
    const { problems } = await load({
      [`${position}/component.yaml`]: `"${'\\u0001x'.repeat(5000)}"`,
      'media/other/component.yaml': soundComponent.replace('group: productivity', `group: ${'x'.repeat(900)}`),
    });
    expect(problems).toHaveLength(2);
    for (const { message } of problems) expect(message.length).toBeLessThan(150);
  });

  it('refuses what cannot be delivered, which is neither a file nor a folder', async () => {
    const { folder } = await load({ ...sound, [`${position}/files/app.yml`]: '' });
    await symlink('nowhere', join(folder, position, 'files', 'gone'));
    const { problems } = await loadFolder(folder, { own: true });
    expect(problems).toMatchObject([
      {
        level: 'error',
        file: join(folder, position, 'files/gone'),
        message: 'files/gone is not a file, a folder or a link to one.',
      },
    ]);
  });

  it.each([
    ['component.yaml', soundComponent, 1],
    ['compose.yaml', soundCompose, 1],
    ['files/motd.txt', 'A greeting.\n', 2],
    ['files/app.conf.liquid', 'tz = {{ TZ }}\n', 2],
    ['extra.json', '{}\n', 2],
  ])('refuses a %s that is not UTF-8, and says where', async (name, text, line) => {
    const { folder, remove } = await catalogFolder({ ...sound, [`${position}/${name}`]: text });
    removals.push(remove);
    const file = join(folder, position, name);
    // Latin-1, after a character of two bytes that counts as one in the line.
    const wrong = Buffer.concat([Buffer.from('# é '), Buffer.from('kan\xe9l\n', 'latin1')]);
    await writeFile(file, line === 1 ? Buffer.concat([wrong, Buffer.from(text)]) : Buffer.concat([Buffer.from(text), wrong]));
    const { entries, problems } = await loadFolder(folder, { own: true });
    expect(entries).toEqual([]);
    expect(problems).toEqual([
      expect.objectContaining({
        level: 'error',
        file,
        line,
        column: 8,
        message: `${file} cannot be read: line ${line} is not valid UTF-8.`,
      }),
    ]);
  });

  it('refuses an id that is there twice, and warns of a component that is not there', async () => {
    const { entries, problems } = await load(
      {
        'a/component.yaml': soundComponent.replace('id: notes', 'id: a').concat('dependsOn: [notse]\n'),
        'a/compose.yaml': soundCompose,
        'notes/component.yaml': soundComponent,
        'notes/compose.yaml': soundCompose,
        'x/notes/component.yaml': soundComponent.replace('productivity', 'media'),
        'x/notes/compose.yaml': soundCompose,
      },
      { own: true },
    );
    expect(entries.map(({ id }) => id)).toEqual(['a', 'notes']);
    expect(problems).toContainEqual(
      expect.objectContaining({ level: 'warning', file: 'a/component.yaml', field: 'dependsOn[0]', remedy: 'Did you mean "notes"?' }),
    );
  });

  it('names the file that has another name, and a link to nothing', async () => {
    const { folder, problems } = await load(
      {
        'a/component.yml': soundComponent,
        'a/compose.yaml': soundCompose,
        'notes/component.yaml': soundComponent,
        'notes/docker-compose.yml': soundCompose,
        'only/docker-compose.yml': soundCompose,
        'b/compose.yaml': soundCompose,
      },
      { own: true },
    );
    expect(problems.map(({ file, message, remedy }) => `${file}: ${message} ${remedy}`)).toEqual([
      'a/component.yaml: component.yaml is missing. Rename component.yml to component.yaml.',
      'b/component.yaml: component.yaml is missing. Add the file; "quarterdeck catalog new" creates a draft.',
      'notes/compose.yaml: compose.yaml is missing. Rename docker-compose.yml to compose.yaml.',
      'only/component.yaml: component.yaml is missing. Add the file; "quarterdeck catalog new" creates a draft.',
    ]);
    await symlink('/nonexistent/component.yaml', join(folder, 'b', 'component.yaml'));
    const { problems: linked } = await loadFolder(folder, { own: true });
    expect(linked.map(({ message }) => message)).toContain('component.yaml is a broken link.');
    await expect(loadFolder(join(folder, 'notes', 'component.yaml'), { own: true })).rejects.toMatchObject({
      code: 'catalog.missing',
      message: `${folder}/notes/component.yaml is a file, not a catalog folder.`,
      remedy: `Use the parent folder: ${folder}/notes`,
    });
  });

  it('tells no more than a person reads of a file that is another one', async () => {
    const other = `${soundComponent}${Array.from({ length: 500 }, (_, at) => `key${at}: 1\n`).join('')}`;
    const { problems } = await load({ ...sound, [`${position}/component.yaml`]: other });
    expect(problems).toHaveLength(20);
    expect(problems.at(-1)?.message).toBe('Unknown keys "key19" and 480 more.');
  });

  it('refuses files that go round in circles, and one that no parser could hold', async () => {
    const { folder } = await load({ ...sound, [`${position}/files/a`]: '' });
    await symlink('..', join(folder, position, 'files', 'up'));
    const { problems } = await loadFolder(folder, { own: true });
    expect(problems).toMatchObject([
      { message: expect.stringMatching(/more than 8 folders deep, or has too many levels of symbolic links\.$/) },
    ]);
    const big = await load(
      { 'notes/component.yaml': `${soundComponent}${'#\n'.repeat(600_000)}`, 'notes/compose.yaml': soundCompose },
      { own: true },
    );
    expect(big.problems).toMatchObject([{ message: expect.stringMatching(/it is larger than 256 KB\.$/) }]);
  });

  it('says so when the folder is not there or cannot be read', async () => {
    await expect(loadFolder('/nonexistent/catalog', { own: true })).rejects.toMatchObject({ code: 'catalog.missing' });
    const { folder } = await load(sound);
    await mkdir(join(folder, 'loop'));
    await symlink(join(folder, 'loop', 'component.yaml'), join(folder, 'loop', 'component.yaml'));
    await chmod(join(folder, 'loop'), 0o700);
    const { entries, problems } = await loadFolder(folder, { own: true });
    expect(entries.map(({ id }) => id)).toEqual(['notes']);
    expect(problems).toContainEqual(
      expect.objectContaining({ file: join(folder, 'loop', 'component.yaml'), message: expect.stringMatching(/cannot be read|missing/) }),
    );
  });

  it('takes any damage to the text calmly, and always says where', { timeout: 60_000 }, async () => {
    const { folder, remove } = await catalogFolder(sound);
    removals.push(remove);
    const { writeOwnFile } = await import('../config/own-files.ts');
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('component', 'compose'),
        fc.nat(),
        fc.nat(60),
        fc.oneof(
          fc.constantFrom('', '{', '"', '\t', ':', '- ', '&a *a', '!!binary x', '<<: *x\n', '---\n', '${', 'null', '[[[[[['),
          fc.string(),
        ),
        async (file, at, length, inserted) => {
          const path = `${position}/${file}.yaml`;
          const text = sound[path] ?? '';
          const start = at % text.length;
          await writeOwnFile(join(folder, path), text.slice(0, start) + inserted + text.slice(start + length));
          const { entries, problems } = await loadFolder(folder, { own: false });
          await writeOwnFile(join(folder, path), text);
          expect(entries.length === 1 || problems.some(({ level }) => level === 'error')).toBe(true);
          for (const { line, column, message, remedy } of problems) {
            expect(line).toBeGreaterThan(0);
            expect(column).toBeGreaterThan(0);
            expect(message.length * remedy.length).toBeGreaterThan(0);
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  it('does not let aliases multiply for ever', async () => {
    const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'
      .split('')
      .map((name, index) => `${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[index]}`).join(',')}]`)
      .join('\n')}\n`;
    const begin = performance.now();
    const { entries, problems } = await load({ ...sound, 'productivity/bomb/component.yaml': bomb });
    expect(entries.map(({ id }) => id)).toEqual(['notes']);
    expect(problems.some(({ file }) => file === 'productivity/bomb/component.yaml')).toBe(true);
    expect(performance.now() - begin).toBeLessThan(3000);
  });
});
