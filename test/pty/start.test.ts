import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Terminal } from './terminal.ts';

const root = join(import.meta.dirname, '../..');

/** Nothing of these is needed to show rows: each is loaded by what needs it. */
const needless = [
  /^source\/(practice|secrets|calls)\//,
  /^source\/products\/(?!([^/]+\/flows|crowdsec\/decision-words)\.ts$)/,
  /^source\/session\/(?!form-checks)/,
  /^source\/stack\/(?!backup\/retention)/,
  /^source\/flows\/(deploy|backup|secrets|hosts|catalog)\/(?!flows\.ts$)/,
  /^source\/flows\/components\/(edit|setup-task|compose|chain)\.ts$/,
  /node_modules\/(yaml|ajv|cel-js|@marcbachmann|commander|write-file-atomic|proper-lockfile|age-encryption|ssh2|@grpc)\//,
];
/** Modules of node that cost a millisecond or more, and that no local engine is asked with. */
const needlessOfNode = [
  'child_process',
  'crypto',
  'dgram',
  'https',
  'inspector',
  'internal/deps/undici/undici',
  'readline',
  'tls',
  'worker_threads',
];

const container = {
  Id: 'c0ffee'.padEnd(64, '0'),
  Names: ['/first-row'],
  Image: 'busybox',
  ImageID: '',
  Command: 'sleep 1',
  Created: 1,
  State: 'running',
  Status: 'Up 1 second',
  Ports: [],
  Labels: {},
  HostConfig: { NetworkMode: 'bridge' },
  NetworkSettings: { Networks: {} },
  Mounts: [],
};

let home: string;
let engine: Server;
let asked: string[];
let shown: Terminal | undefined;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'qd-start-'));
  asked = [];
  engine = createServer(({ url = '' }, response) => {
    asked.push(url.replace(/^\/v[\d.]+/, '').replace(/\?.*/, ''));
    response.setHeader('Api-Version', '1.41');
    if (url.includes('/_ping')) response.end('OK');
    else if (url.includes('/containers/json')) response.end(JSON.stringify([container]));
    else if (url.includes('/images/json')) response.end('[]');
    else if (!url.includes('/events')) response.writeHead(404).end('{"message":"not here"}');
  });
  await new Promise<void>((resolve) => engine.listen(join(home, 'engine.sock'), resolve));
});
afterEach(async () => {
  await shown?.close();
  shown = undefined;
  engine.closeAllConnections();
  await new Promise((resolve) => engine.close(resolve));
  await rm(home, { recursive: true, force: true });
});

interface BundleFacts {
  inputs: Record<string, { format?: string; imports: { path: string; kind: string }[] }>;
  outputs: Record<
    string,
    { inputs: Record<string, { bytesInOutput: number }>; imports: { path: string; kind: string }[]; entryPoint?: string }
  >;
  parts: Record<string, string[]>;
}

async function readBundleFacts(): Promise<BundleFacts> {
  return JSON.parse(await readFile(join(root, 'dist/meta.json'), 'utf8'));
}

/** What the process has loaded when its first frame is written. */
async function loadedAtFirstFrame(): Promise<{ files: string[]; ofNode: string[] }> {
  const [hook, reported] = [join(home, 'hook.cjs'), join(home, 'told.json')];
  await writeFile(
    hook,
    `const vm = require('node:vm');
     const files = [];
     const Script = vm.Script;
     vm.Script = class extends Script { constructor(code, options) { super(code, options); files.push(options.filename); } };
     const { stdout } = process;
     const write = stdout.write;
     stdout.write = function (data, ...rest) {
       if (String(data).includes('quarterdeck')) {
         stdout.write = write;
         require('node:fs').writeFileSync(${JSON.stringify(reported)}, JSON.stringify({ files, ofNode: process.moduleLoadList }));
       }
       return write.call(stdout, data, ...rest);
     };`,
  );
  shown = Terminal.start([process.execPath, '--require', hook, join(root, 'dist/main.js')], {
    env: {
      LANG: 'C.UTF-8',
      HOME: home,
      QUARTERDECK_HOME: join(home, 'own'),
      QUARTERDECK_KEYCHAIN: 'off',
      DOCKER_HOST: `unix://${join(home, 'engine.sock')}`,
    },
  });
  await shown.sees('first-row', 30_000);
  return await vi.waitFor(async () => JSON.parse(await readFile(reported, 'utf8')));
}

test('the first frame is drawn with three files of the bundle, and with nothing of node that it has no use for', async () => {
  const { files, ofNode } = await loadedAtFirstFrame();
  const chunks = files.filter((file) => file.startsWith(join(root, 'dist'))).map((file) => file.slice(join(root, 'dist/chunks/').length));
  expect(chunks).toEqual(['main.js', 'app.js', 'screen.js']);
  const loaded = new Set(ofNode.map((module) => module.replace(/^NativeModule /, '')));
  expect(needlessOfNode.filter((module) => loaded.has(module))).toEqual([]);
  // What it is called is asked for when its containers are seen.
  expect(asked.slice(0, 3).sort()).toEqual(['/_ping', '/containers/json', '/images/json']);
});

test('those files hold nothing of what runs later', async () => {
  const { inputs, outputs, parts } = await readBundleFacts();
  expect(Object.keys(inputs)).toContain('source/main.ts');
  const seen = new Set<string>();
  const add = (chunk: string): void => {
    const output = outputs[chunk];
    if (!output || seen.has(chunk)) return;
    seen.add(chunk);
    for (const { path, kind } of output.imports) if (kind === 'import-statement') add(path);
  };
  for (const entry of Object.values(parts).flat()) {
    for (const [chunk, { entryPoint }] of Object.entries(outputs)) if (entryPoint?.endsWith(entry)) add(chunk);
  }
  const held = [...seen].flatMap((chunk) =>
    Object.entries(outputs[chunk]?.inputs ?? {}).filter(([, { bytesInOutput }]) => bytesInOutput > 0),
  );
  expect(held.length).toBeGreaterThan(100);
  expect(held.map(([input]) => input).filter((input) => needless.some((pattern) => pattern.test(input)))).toEqual([]);
});

/** CommonJS libraries that are loaded for their default export only. */
const defaultOnly = /node_modules\/(dockerode|proper-lockfile|write-file-atomic)\//;

// Run from the sources the other names are there; in the bundle they are undefined. Such a library is imported in a module of its own, and that lazily.
test('no CommonJS library is loaded lazily for more than its default export', async () => {
  const { inputs } = await readBundleFacts();
  const lazy = Object.entries(inputs).flatMap(([importer, { imports }]) =>
    importer.startsWith('source/') ? imports.filter(({ kind }) => kind === 'dynamic-import').map(({ path }) => path) : [],
  );
  expect(lazy.length).toBeGreaterThan(50);
  expect(lazy.filter((path) => inputs[path]?.format === 'cjs' && !defaultOnly.test(path))).toEqual([]);
});
