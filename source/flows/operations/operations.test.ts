import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { catalogEntry, composeLabels } from '../../../test/doubles/container-facts.ts';
import { componentView } from '../../../test/doubles/fleet-double.ts';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import { type Given, JsonServer } from '../../../test/doubles/json-server.ts';
import { catalogOf } from '../../catalog/open-catalog.ts';
import { type Component, componentSchema } from '../../catalog/schema.ts';
import { Fault } from '../../faults/fault.ts';
import { openLocalHost } from '../../hosts/local-host.ts';
import type { FlowInput } from '../flow.ts';

const key = { API_KEY: { type: 'secret-string', description: 'API key from the settings', secret: true } };
const headers = { 'X-Key': '<API_KEY>' };

const declared = {
  calls: {
    list: { title: 'List items', reads: true, http: { method: 'GET', port: 'web', path: '/items' } },
    state: {
      title: 'Show the state',
      reads: true,
      http: { method: 'GET', port: 'web', path: '/state' },
      error: 'has(json.status) && json.status == "error" ? json.errorMessage : ""',
    },
    add: {
      title: 'Add an item',
      inputs: {
        ...key,
        name: { type: 'string', description: 'name of the item' },
        count: { type: 'integer', description: 'how many', required: false },
      },
      http: { method: 'POST', port: 'web', path: '/items', headers, json: { name: '<name>', count: '<count>' } },
    },
    remove: {
      title: 'Remove an item',
      inputs: { name: { type: 'string', description: 'name of the item' } },
      http: { method: 'DELETE', port: 'web', path: '/items/<name>' },
    },
    upload: {
      title: 'Upload a file',
      inputs: { data: { type: 'path', description: 'file to upload', file: true } },
      http: { method: 'POST', port: 'web', path: '/files', multipart: { data: '<data>' } },
    },
    count: {
      title: 'Count',
      reads: true,
      inputs: { of: { type: 'string', description: 'what to count' } },
      exec: { service: 'shop', argv: ['shop', 'count', '<of>'] },
    },
    pull: {
      title: 'Download a model',
      inputs: { model: { type: 'string', description: 'name of the model', languageModel: true } },
      http: { method: 'POST', port: 'web', path: '/pull', json: { name: '<model>' } },
    },
  },
  operations: [
    { id: 'pull', title: 'Download a model', call: 'pull', right: 'operate' },
    { id: 'list', title: 'List items', call: 'list', right: 'read' },
    { id: 'state', title: 'Show the state', call: 'state', right: 'read' },
    { id: 'add', title: 'Add an item', call: 'add', right: 'operate' },
    { id: 'remove', title: 'Remove an item', call: 'remove', right: 'destroy', consequences: ['The item is deleted.'] },
    { id: 'upload', title: 'Upload a file', call: 'upload', right: 'operate' },
    { id: 'count', title: 'Count', call: 'count', right: 'read' },
  ],
};

let fixture: FlowFixture;
let server: JsonServer;
let answer: Given;

beforeEach(async () => {
  fixture = await FlowFixture.open();
  answer = { body: [] };
  server = await JsonServer.open(() => answer);
  const component: Component = componentSchema.parse({
    ...{ id: 'shop', group: 'media', kind: 'Shop', deploy: 'compose', product: { name: 'Shop' } },
    ...declared,
  });
  const port = { name: 'web', service: 'shop', host: server.port, container: 80, protocol: 'tcp', exposure: 'loopback' } as const;
  const entry = catalogEntry(
    'shop',
    { shop: { image: 'shop', main: true } },
    {
      calls: component.calls,
      operations: component.operations,
      ports: [{ ...port, role: 'page', fixed: false, web: true, tls: false }],
    },
  );
  fixture.catalog = catalogOf([entry], []);
  fixture.engine.add('shop', {
    labels: composeLabels('shop', 'shop'),
    ports: [{ address: '127.0.0.1', hostPort: server.port, containerPort: 80, protocol: 'tcp' }],
  });
  fixture.fleet.current = { ...fixture.fleet.current, components: [componentView('shop', { project: 'shop', known: true })] };
});
afterEach(async () => {
  await server.close();
  await fixture.close();
});

const shop = () => componentView('shop', { project: 'shop', known: true });
const op = (words: readonly string[], options: FlowInput['options'] = {}) => fixture.run('op', shop(), { words, options });
const fault = async (running: Promise<unknown>): Promise<Fault> => {
  const thrown = await running.catch((error: unknown) => error);
  if (thrown instanceof Fault) return thrown;
  throw new Error(`no fault but ${JSON.stringify(thrown)}`);
};
const shown = () => fixture.operator.shown;

test('a model that is too large for the memory of the host is warned of before it is downloaded (R78)', async () => {
  const local = openLocalHost();
  const facts = async (signal: AbortSignal) => ({ ...(await local.facts(signal)), memoryBytes: 16.5e9 });
  fixture.host = { ...local, facts };
  await op(['pull'], { set: ['model=llama3.1:8b'] });
  await op(['pull'], { set: ['model=llama3'] });
  expect(shown().filter(({ kind }) => kind === 'item')).toEqual([]);
  await op(['pull'], { set: ['model=llama3.3:70b'] });
  const title = 'The model llama3.3:70b requires about 40 GB of memory; the host has 17 GB.';
  expect(shown().filter(({ kind }) => kind === 'item')).toEqual([{ kind: 'item', id: 'model', title, state: 'warning' }]);
});

describe('what is shown of a response', () => {
  test('records as a table, those with most values first, and how many properties are left out', async () => {
    answer.body = {
      total: 2,
      items: [
        { id: 1, displayName: 'Bread', tags: ['a'] },
        { id: 2, displayName: 'Salt', tags: [], note: null },
      ],
    };
    const outcome = await op(['list']);
    expect(shown()).toMatchObject([
      {
        kind: 'table',
        columns: ['ID', 'DISPLAY NAME'],
        rows: [
          ['1', 'Bread'],
          ['2', 'Salt'],
        ],
      },
      { kind: 'text', text: '2 more properties are shown with --json.' },
    ]);
    expect(outcome.data).toMatchObject({ component: 'shop', operation: 'list', status: 200, response: answer.body });
  });

  test('other JSON as a tree, and text as it was received', async () => {
    answer.body = { name: 'Bread', parts: { flour: 500 } };
    await op(['list']);
    answer.body = 'plain\ntext';
    await op(['list']);
    expect(shown()).toMatchObject([
      { kind: 'text', text: 'name: Bread\nparts:\n  flour: 500' },
      { kind: 'output', stream: 'stdout', bytes: Buffer.from('plain\ntext') },
    ]);
  });

  test('a text that is longer than what conditions see is whole in --json', async () => {
    answer.body = 'x'.repeat(100_000);
    expect((await op(['list'])).data).toMatchObject({ bytes: 100_000, response: answer.body });
  });

  test('a long tree is cut, and says how to see the rest', async () => {
    answer.body = { lines: Array.from({ length: 3000 }, (_, index) => `line ${index}`) };
    await op(['list']);
    expect(shown()).toMatchObject([
      { kind: 'text', text: expect.stringMatching(/\n\.\.\. 1,001 more lines; use --json or --out FILE to get all of them$/) },
    ]);
  });
});

describe('a response that reports a failure is never called done', () => {
  test.each([
    [{ status: 401, body: { message: 'no key' } }, 'refused.login', /denied access \(status 401\): no key\./],
    [{ status: 422, body: { error: { message: 'Name is taken.' } } }, 'failed.operation', /with status 422: Name is taken\.$/],
    [{ status: 404, body: 'no such item' }, 'failed.operation', /responded with status 404: no such item\./],
    [{ status: 500, body: '<!doctype html><title>Oops</title>' }, 'failed.operation', /responded with status 500\.$/],
    [{ status: 429, headers: { 'retry-after': '30' } }, 'failed.operation', /is busy \(status 429\)/],
    [
      { status: 302, headers: { location: 'https://elsewhere.example/login' } },
      'failed.operation',
      /redirects to https:\/\/elsewhere\.example\/login/,
    ],
    [{ status: 500, body: 'red\u001b[31m\nmore' }, 'failed.operation', /status 500: red\.$/],
  ] as const)('%o', async (given, code, message) => {
    answer = given;
    const thrown = await fault(op(['list']));
    expect([thrown.code, thrown.message]).toEqual([code, expect.stringMatching(message)]);
    expect(server.requests).toEqual(['GET /items']);
  });

  test('an error in a response with status 200', async () => {
    answer.body = { status: 'error', errorMessage: 'Out of bread.' };
    expect((await fault(op(['state']))).message).toBe('shop reported an error: Out of bread.');
    answer.body = { status: 'ok' };
    expect((await op(['state'])).message).toMatch(/responded/);
  });

  test('one that is busy names the time to wait', async () => {
    answer = { status: 429, headers: { 'retry-after': '30' } };
    expect((await fault(op(['list']))).remedy).toBe('Try again in 30 s.');
  });

  test('a program that ends with an exit code, and its message', async () => {
    fixture.engine.execResult = { exitCode: 3, stdout: new Uint8Array(), stderr: Buffer.from('no salt'), cut: false };
    expect((await fault(op(['count'], { set: ['of=salt'] }))).message).toBe('shop ended with exit code 3: no salt.');
  });
});

describe('inputs', () => {
  test('from --set and the secret store, with their types', async () => {
    await fixture.vault.write(undefined, 'local/shop/login:API_KEY' as never, 'key-4711', 'login');
    await op(['add'], { set: ['name=Bread', 'count=2'] });
    expect(server.asked[0]?.body.toString()).toBe('{"name":"Bread","count":2}');
    expect(server.asked[0]?.headers['x-key']).toBe('key-4711');
  });

  test.each([
    ['count=many', 'usage.set', /--set count: /],
    ['colour=red', 'usage.set', /has no input "colour"/],
    ['name', 'usage.set', /requires NAME=VALUE/],
    ['API_KEY=key-4711', 'usage.secretOnCommandLine', /API_KEY is a secret/],
  ])('%s is refused before anything is sent', async (word, code, message) => {
    const thrown = await fault(op(['add'], { set: [word] }));
    expect([thrown.code, thrown.message]).toEqual([code, expect.stringMatching(message)]);
    expect(server.requests).toEqual([]);
    expect(thrown.message).not.toContain('key-4711');
  });

  test('a file is sent byte for byte', async () => {
    const bytes = Buffer.from([0, 1, 0xff, 0xfe, 0x0d, 0x0a, 0x80]);
    const path = join(fixture.folder, 'data.bin');
    await writeFile(path, bytes);
    await op(['upload'], { file: path });
    expect(server.asked[0]?.body.includes(bytes)).toBe(true);
    expect(server.asked[0]?.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
  });

  test.each([
    ['nowhere.bin', /does not exist/],
    ['.', /is not a regular file/],
  ])('a file that cannot be sent: %s', async (name, message) => {
    const thrown = await fault(op(['upload'], { file: join(fixture.folder, name) }));
    expect([thrown.code, thrown.message]).toEqual(['usage.file', expect.stringMatching(message)]);
  });
});

test('what deletes data states its consequences, and nothing is sent where it is declined', async () => {
  fixture.operator.confirms = false;
  await fault(op(['remove'], { set: ['name=Bread'] }));
  expect(fixture.operator.confirmations).toMatchObject([{ request: 'DELETE /items/Bread', consequences: ['The item is deleted.'] }]);
  expect(server.requests).toEqual([]);
});

test('an unknown operation, and one with a name that is nearly right', async () => {
  const thrown = await fault(op(['lits']));
  expect([thrown.code, thrown.remedy]).toEqual(['usage.operation', expect.stringContaining('"list"')]);
});

test('in a read-only session nothing is sent that logs in, runs a program or changes something', async () => {
  fixture.policy = { ...fixture.policy, readOnly: true };
  await fixture.vault.write(undefined, 'local/shop/login:API_KEY' as never, 'key-4711', 'login');
  for (const [words, options] of [
    [['count'], { set: ['of=salt'] }],
    [['add'], { set: ['name=Bread'] }],
  ] as const)
    expect((await fault(op(words, options))).code).toBe('refused.readOnly');
  await op(['list']);
  expect(server.requests).toEqual(['GET /items']);
  expect(fixture.engine.requests).toEqual([]);
});
