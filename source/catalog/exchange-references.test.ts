import { afterEach, describe, expect, it } from 'vitest';
import { catalogFolder, soundComponent, soundCompose } from '../../test/doubles/catalog-folder.ts';
import { namesLoopback } from '../text/loopback.ts';
import { compileExpression, isProblem } from './expressions.ts';
import { loadFolder } from './load-folder.ts';

const removals: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const remove of removals.splice(0)) await remove();
});

const field = '  - {name: RUNTIME_URL, type: url, target: environment}\n';

/** Loads the valid entry twice, as `notes` and as `runtime`; each with more text, or with another compose file. */
async function load(more: { notes?: string; runtime?: string; notesCompose?: string; field?: string }) {
  const withField = soundComponent.replace('fields:\n', () => `fields:\n${more.field ?? field}`);
  const compose = soundCompose.replace('SIGNUP: ', () => 'RUNTIME_URL: "${RUNTIME_URL:-}"\n      SIGNUP: ');
  const made = await catalogFolder({
    'notes/component.yaml': `${withField}\n${more.notes ?? ''}`,
    'notes/compose.yaml': more.notesCompose ?? compose,
    'runtime/component.yaml': `${soundComponent.replace('id: notes', 'id: runtime')}\n${more.runtime ?? ''}`,
    'runtime/compose.yaml': soundCompose,
  });
  removals.push(made.remove);
  const { problems, entries } = await loadFolder(made.folder, { own: true });
  for (const { message, remedy } of problems) expect(`${message} ${remedy}`).toMatch(/^["A-Z].*[.?]$/s);
  return { found: problems.map((problem) => `${problem.field}: ${problem.message}`), entries };
}

const provides = 'provides: {api: {port: web, scheme: http}}\n';
const uses = 'uses: [{component: runtime, what: api, field: RUNTIME_URL}]\n';

describe('what components give to each other', () => {
  it('is kept, and leaves nothing to say, when both sides fit', async () => {
    const { found, entries } = await load({ notes: uses, runtime: provides });
    expect(found).toEqual([]);
    expect(entries.find(({ id }) => id === 'notes')?.uses).toEqual([{ component: 'runtime', what: 'api', field: 'RUNTIME_URL' }]);
  });

  it('a use without a field is typed in the product, and what it names is looked at all the same', async () => {
    const typed = uses.replace(', field: RUNTIME_URL', '');
    const { found, entries } = await load({ notes: typed, runtime: provides });
    expect(found).toEqual([]);
    expect(entries.find(({ id }) => id === 'notes')?.uses).toEqual([{ component: 'runtime', what: 'api' }]);
    expect((await load({ notes: typed.replace('api', 'app'), runtime: provides })).found).toEqual([
      'uses[0].what: The component "runtime" does not provide "app".',
    ]);
    expect((await load({ notes: typed.replace('}]', ', services: [web]}]'), runtime: provides })).found).toEqual([
      'uses[0].services[0]: Unknown service "web".',
    ]);
  });

  it.each([
    ['a component that nobody knows', uses.replace('runtime', 'runtme'), provides, 'uses[0].component: Unknown component "runtme".'],
    [
      'what the other does not provide',
      uses.replace('api', 'app'),
      provides,
      'uses[0].what: The component "runtime" does not provide "app".',
    ],
    ['a field that is not there', uses.replace('RUNTIME_URL', 'RUNTIME_UR'), provides, 'uses[0].field: Unknown field "RUNTIME_UR".'],
    [
      'a secret field',
      uses.replace('RUNTIME_URL', 'APP_SECRET'),
      provides,
      'uses[0].field: The field "APP_SECRET" is secret or does not set an environment variable.',
    ],
    ['itself', uses.replace('runtime', 'notes'), provides, 'uses[0].component: The component uses itself.'],
    ['a service that is not there', uses.replace('}]', ', services: [web]}]'), provides, 'uses[0].services[0]: Unknown service "web".'],
    ['a port that is not there', '', provides.replace('port: web', 'port: api'), 'provides.api.port: Unknown port "api".'],
  ])('%s is told', async (_, notes, runtime, expected) => {
    expect((await load({ notes, runtime })).found).toContain(expected);
  });

  it('an error may name a check that every such component has', async () => {
    const found = (check: string) => load({ notes: `errors:\n  - {condition: c, outcome: o, check: ${check}}\n` });
    expect((await found('runtime-url-at-localhost')).found).toEqual([]);
    // It stores no secrets that the network must not see.
    expect((await found('wider-than-loopback')).found).toEqual(['errors[0].check: Unknown check "wider-than-loopback".']);
  });

  it('files that it needs to start lie where its main service looks', async () => {
    const wanted = (file: string) => `beforeStart:\n  - {id: keys, files: [${file}], message: It wants a key., remedy: Make one.}\n`;
    expect((await load({ notes: wanted('/data/key') })).found).toEqual([]);
    expect((await load({ notes: wanted('/etc/key') })).found).toEqual([
      'beforeStart[0].files[0]: "/etc/key" is not inside a mount of the main service.',
    ]);
    expect((await load({ notes: wanted('RUNTIME_UR') })).found).toEqual(['beforeStart[0].files[0]: Unknown field "RUNTIME_UR".']);
  });

  it('a service on the host network cannot join', async () => {
    const notesCompose = soundCompose.replace('    depends_on: [db]\n', '    network_mode: host\n');
    const { found } = await load({ notes: uses.replace('}]', ', services: [app]}]'), runtime: provides, notesCompose });
    expect(found).toContain('uses[0].services[0]: The service "app" sets network_mode, so it cannot join another network.');
  });
});

describe('the site of a component', () => {
  it.each([
    ['site: {port: wbe}\n', 'site.port: Unknown port "wbe".'],
    ['site: {routes: [{path: /hub, port: hub}]}\n', 'site.routes[0].port: Unknown port "hub".'],
    ['site: {routes: [{path: "/a b", port: web}]}\n', 'site.routes[0].path'],
    ['site: {portal: address}\n', 'site.portal: Unknown field "address".'],
  ])('%s', async (notes, expected) => {
    expect((await load({ notes })).found.join('\n')).toContain(expected);
  });
});

describe('addresses that a container follows', () => {
  it('may not default to the container itself, unless others follow them (R14)', async () => {
    const inside = '  - {name: runtime address, type: url, target: config, default: "http://localhost:1"}\n';
    expect((await load({ field: `${inside}${field}` })).found).toEqual([
      'fields[0].default: "runtime address" is used inside a container, where http://localhost:1 is the container itself.',
    ]);
    expect((await load({ field: `${inside.replace('target', 'audience: browser, target')}${field}` })).found).toEqual([]);
    const name = inside.replace('url', 'hostname').replace('http://localhost:1', 'localhost');
    expect((await load({ field: `${name}${field}` })).found).toEqual([
      'fields[0].default: "runtime address" is used inside a container, where localhost is the container itself.',
    ]);
    const written = soundCompose.replace('SIGNUP: ', () => 'RUNTIME_URL: "${RUNTIME_URL:-http://[::1]:1}"\n      SIGNUP: ');
    expect((await load({ notesCompose: written })).found).toEqual([
      'services.app.environment.RUNTIME_URL: "RUNTIME_URL" is used inside a container, where http://[::1]:1 is the container itself.',
    ]);
  });

  it.each([
    ['http://localhost:11434', true],
    ['https://LOCALHOST', true],
    ['127.0.0.1:80', true],
    ['http://127.1.2.3/x', true],
    ['jdbc:postgresql://[::1]:5432/db', true],
    ['postgres://me:pw@localhost/db', true],
    ['::1', true],
    ['http://localhost.example.org', false],
    ['http://mylocalhost:1', false],
    ['http://localhost-x:1', false],
    ['http://db:5432/localhost', false],
    ['0.0.0.0:8080', false],
    ['', false],
  ])('%s names the loopback: %s (R14)', (address, expected) => {
    expect(namesLoopback(address)).toBe(expected);
    // Conditions use the same check.
    const asked = compileExpression('namesLoopback(env.URL)', 'check');
    expect(!isProblem(asked) && asked.run({ env: { URL: address } })).toBe(expected);
  });
});
