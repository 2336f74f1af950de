import { afterEach, describe, expect, it } from 'vitest';
import { catalogFolder, soundComponent, soundCompose } from '../../test/doubles/catalog-folder.ts';
import { loadFolder } from './load-folder.ts';

const removals: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const remove of removals.splice(0)) await remove();
});

/** Returns `level line:column message remedy` of this rule, for the valid entry with one piece of compose.yaml replaced. */
async function reported(from: string, to: string, component = soundComponent): Promise<string[]> {
  expect(soundCompose.split(from)).toHaveLength(2);
  const made = await catalogFolder({ 'notes/component.yaml': component, 'notes/compose.yaml': soundCompose.replace(from, () => to) });
  removals.push(made.remove);
  const { problems } = await loadFolder(made.folder, { own: true });
  return problems.flatMap(({ rule, level, line, column, message, remedy }) =>
    rule === 'meaning' ? [`${level} ${line}:${column} ${message} ${remedy}`] : [],
  );
}

const deps = '    depends_on: [db]\n';
const secret = '      APP_SECRET: "${APP_SECRET:?kept by Quarterdeck}"';
const map = `    environment:\n${secret}\n      SIGNUP: "\${SIGNUP:-true}"\n`;

describe('a compose file of the right form', () => {
  it.each<[string, string, string, RegExp]>([
    [
      'a secret that nobody hands over',
      secret,
      '      APP_SECRET:',
      /^error 9:7 APP_SECRET without a value is read from the compose environment, .* Use APP_SECRET: \$\{APP_SECRET:\?kept by Quarterdeck, use/,
    ],
    [
      'a setting that nobody is asked for',
      '      SIGNUP: "${SIGNUP:-true}"',
      '      SIGNUP:',
      /^warning 10:7 SIGNUP without a value .* Use SIGNUP: \$\{SIGNUP\}\.$/,
    ],
    [
      'a service that is waited for, and never ends',
      '[db]',
      '{db: {condition: service_completed_successfully}}',
      /^error 5:34 "app" would wait forever, because "db" is not a one-shot service\./,
    ],
    ['a port twice', '  db:\n', '  db:\n    ports: ["127.0.0.1:8300:5432"]\n', /^error 15:13 Port 8300\/tcp is already used by "app"\./],
    ['a name with a space', '  db:\n', '  my db:\n', /^error 14:3 "my db" is not a valid service name\./],
    [
      'networks and a mode',
      deps,
      `${deps}    network_mode: bridge\n    networks: [default]\n`,
      /^error 7:5 A service cannot have both networks and network_mode\./,
    ],
    [
      'a test without its kind',
      deps,
      `${deps}    healthcheck: {test: [curl, localhost]}\n`,
      /^error 6:26 A health check test must begin with CMD, .* Use \[CMD, curl, localhost\]\.$/,
    ],
    [
      'a duration that is none',
      deps,
      `${deps}    healthcheck: {interval: 30 s}\n`,
      /^error 6:29 "30 s" is not a valid duration\. Use numbers/,
    ],
  ])('has %s', async (_, from, to, expected) => {
    expect(await reported(from, to)).toEqual([expect.stringMatching(expected)]);
  });

  it('has a list for its environment, in which quotes and spaces count', async () => {
    const list =
      '    environment:\n      - APP_SECRET="${APP_SECRET:?kept}"\n      - SIGNUP =${SIGNUP:-true}\n      - SIGNUP=a\n      - SIGNUP=b\n';
    const whole = soundCompose.slice(soundCompose.indexOf(map), soundCompose.indexOf('    volumes:\n'));
    expect(await reported(whole, list)).toEqual([
      'warning 9:9 In a list, the quotes become part of the value of APP_SECRET. Quote the whole entry, or use a map.',
      'error 10:9 The space before the equals sign would be part of the name. Use SIGNUP=${SIGNUP:-true}.',
      'warning 12:9 SIGNUP is set twice; the last value applies. Keep one of the two.',
    ]);
  });

  it('has the numbers of its ports, whatever component.yaml says of them', async () => {
    const port = 'exposure: loopback, web: true';
    const said = (more: string) => reported('[db]', '[ db ]', soundComponent.replace(port, `${port}, ${more}`));
    expect(await said('number: 9999')).toEqual([
      'warning 12:64 The port "web" is 8300 in compose.yaml, which takes precedence over 9999. Remove number, which is only for ports that compose.yaml does not define.',
    ]);
    expect(await said('container: 8080')).toEqual([
      expect.stringMatching(/^warning 12:67 The port "web" is 80 in compose\.yaml, .* over 8080\./),
    ]);
    expect(await said('number: 8300, container: 80')).toEqual([]);
  });

  it('may wait for a job that ends', async () => {
    const job = soundComponent.replace('db: {role: database}', 'db: {role: job, oneShot: true}');
    expect(await reported('[db]', '{db: {condition: service_completed_successfully}}', job)).toEqual([]);
  });

  it('may take from its surroundings what is no field, and hold durations of several units', async () => {
    expect(
      await reported(
        '    volumes:\n',
        '      LANG:\n    healthcheck: {test: [CMD, "true"], interval: 1m30s, timeout: "${SIGNUP:-5s}"}\n    volumes:\n',
      ),
    ).toEqual([]);
  });
});
