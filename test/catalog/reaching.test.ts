import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { CallTarget } from '../../source/calls/call.ts';
import { Inputs } from '../../source/calls/inputs.ts';
import { buildRequest, runCall } from '../../source/calls/run-call.ts';
import type { CatalogEntry } from '../../source/catalog/catalog.ts';
import type { ComponentCall } from '../../source/catalog/schema.ts';
import type { Engine } from '../../source/engine/engine.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import { containerDetail } from '../doubles/container-facts.ts';
import { wholeCatalog } from '../doubles/whole-catalog.ts';
import { inventory } from './inventory.ts';

// How components of the catalog are reached: what each request carries, where it goes, and what it does not take along.

const { entries } = await wholeCatalog();
const entryOf = (id: string): CatalogEntry => {
  const found = entries.find((entry) => entry.id === id);
  if (!found) throw new Error(`there is no ${id}`);
  return found;
};

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

/** A value that the type of each input takes; `wild` where any text does. */
async function requestOf(call: ComponentCall, wild = '../x?y=&v=9&c=9&f=9') {
  if (!call.http) throw new Error(`${call.title} is no http call`);
  const values = Object.fromEntries(
    Object.entries(call.inputs).map(([name, { type }]) => [name, /integer|size/.test(type) ? '1' : /string|path/.test(type) ? wild : 'x']),
  );
  return buildRequest(call.http, await Inputs.check(call, values).catch(() => Inputs.check(call, { ...values, user: 'ann' })));
}

describe('the version in a request', () => {
  it('stands in every call of the music server, with the name of who asks and the form, whatever is filled in (R39)', async () => {
    const calls = Object.values(entryOf('music-server').calls).filter(({ http }) => http?.path.startsWith('/rest/'));
    expect(calls.length).toBeGreaterThan(5);
    for (const call of calls) {
      const { path, body } = await requestOf(call, 'a&v=9&c=9&f=9');
      const sent = call.http?.form ? new URLSearchParams(body?.toString()) : new URL(path, 'http://x').searchParams;
      for (const [name, value] of [
        ['v', '1.16.1'],
        ['c', 'quarterdeck'],
        ['f', 'json'],
      ] as const)
        expect(sent.getAll(name), `${call.title}: ${name}`).toEqual([value]);
    }
  });

  it.each([
    ['rss-reader', /^\/(?!v1\/)(?!readiness$|healthcheck$)/],
    ['llm-proxy', /chat\/completions|models/],
    ['tts-high-quality', /audio|models/],
    ['vpn-client-gateway', /./],
  ])('%s is asked below /v1/, and no value leads out of it (R39)', async (id, versioned) => {
    expect(inventory.find((row) => row.id === id)?.versioning?.join()).toContain('/v1/');
    const calls = Object.values(entryOf(id).calls).filter(({ http }) => http && versioned.test(http.path));
    const below = Object.values(entryOf(id).calls).filter(({ http }) => http?.path.startsWith('/v1/'));
    expect(below.length).toBeGreaterThan(0);
    for (const call of [...calls, ...below]) {
      const { path } = await requestOf(call);
      expect(new URL(path, 'http://x').pathname, call.title).toMatch(/^\/v1\//);
    }
  });
});

describe('tokens whose making the specification does not show', () => {
  it.each(['document-manager', 'media-server', 'file-sync'])('%s: pasted by the operator, never made or fetched from here (R48)', (id) => {
    const { calls, fields, firstRun } = entryOf(id);
    const tokens = fields.filter(({ name }) => /^API (token|key)$/.test(name));
    expect(tokens).toHaveLength(1);
    for (const token of tokens) {
      expect(token).toMatchObject({ type: 'secret-string', secret: true, target: 'credential' });
      expect(token).not.toHaveProperty('generator');
      expect(token).not.toHaveProperty('default');
    }
    for (const [name, call] of Object.entries(calls)) {
      // `/api/token/`, `/Auth/Keys`, `/Users/AuthenticateByName`, `/rest/config/gui`: where these products make or tell theirs.
      expect(call.http?.path ?? '', name).not.toMatch(/\btokens?\b|\bkeys?\b|\bauth\/|authenticate|config\/gui/i);
      expect(call.exec?.argv.join(' ') ?? '', name).not.toMatch(/token|api.?key|drf_create/i);
      expect(Object.entries(call.inputs).filter(([input, { secret }]) => secret && !/^API_(TOKEN|KEY)$/.test(input))).toEqual([]);
    }
    // Nor is one read out of the component's own files.
    for (const { file } of Object.values(calls)) expect(file?.path ?? '').not.toMatch(/config\.xml|\.db$/);
    expect(firstRun.filter(({ done }) => /token|api.?key/i.test(done ?? ''))).toEqual([]);
  });
});

async function serve(answer: (request: IncomingMessage) => { headers?: Record<string, string>; body?: string }) {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    seen.push(request);
    const { headers = {}, body = '{}' } = answer(request);
    response.writeHead(200, headers).end(body);
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, seen };
}

/** The component, with each of its ports published at this one. */
function target(entry: CatalogEntry, hostPort?: number): CallTarget {
  const containers = new Map(
    hostPort === undefined
      ? []
      : entry.services.map(({ name }) => [
          name,
          containerDetail({
            id: `${entry.id}-${name}`,
            name,
            ports: entry.ports
              .filter(({ service }) => service === name)
              .map(({ container, protocol }) => ({ address: '127.0.0.1', hostPort, containerPort: container, protocol })),
          }),
        ]),
  );
  return { entry, host: openLocalHost(), engine: {} as Engine, containers, execAllowed: false };
}

const ask = (to: CallTarget, name: string, inputs: Record<string, string> = {}) => {
  const call = to.entry.calls[name];
  if (!call) throw new Error(`${to.entry.id} has no call ${name}`);
  return runCall(to, { name, call, inputs, signal: AbortSignal.timeout(10_000) });
};

describe('components share nothing', () => {
  it('a login, a cookie or a connection of one never reaches another, nor its own next call (R12)', async () => {
    const cookie = { 'set-cookie': 'connect.sid=s%3Asecret; Path=/', 'x-api-key': 'handed-back' };
    const first = await serve(() => ({ headers: cookie }));
    const second = await serve(() => ({}));
    const sync = target(entryOf('file-sync'), first.port);
    const reader = target(entryOf('rss-reader'), second.port);
    expect((await ask(sync, 'connections', { API_KEY: 'key-of-the-one' })).ok).toBe(true);
    await ask(reader, 'export', { API_KEY: 'key-of-the-other' });
    await ask(reader, 'readiness');
    await ask(sync, 'version');
    expect(first.seen).toHaveLength(2);
    expect(second.seen).toHaveLength(2);
    expect(first.seen[0]?.headers['x-api-key']).toBe('key-of-the-one');
    for (const { headers, rawHeaders } of [...second.seen, ...first.seen.slice(1)]) {
      expect(headers).not.toHaveProperty('cookie');
      expect(headers).not.toHaveProperty('authorization');
      expect(headers).not.toHaveProperty('x-api-key');
      expect(rawHeaders.join(' ')).not.toContain('key-of-the-one');
    }
    expect(second.seen.map(({ headers }) => headers['x-auth-token'])).toEqual(['key-of-the-other', undefined]);
    expect(new Set([...first.seen, ...second.seen].map(({ socket }) => socket)).size).toBe(4);
  });

  it('a component declares calls to its own ports and services alone (R12)', () => {
    for (const { id, calls, ports, services } of entries) {
      const own = new Set(ports.map(({ name }) => name));
      const inside = new Set(services.map(({ name }) => name));
      for (const [name, call] of Object.entries(calls)) {
        const port = call.http?.port ?? call.tcp?.port;
        if (port !== undefined) expect(own, `${id} ${name}`).toContain(port);
        const service = call.exec?.service ?? call.file?.service ?? call.engine?.service;
        if (service !== undefined) expect(inside, `${id} ${name}`).toContain(service);
      }
    }
  });
});

describe('cost tools of a cluster', () => {
  it.each([
    ['cost-tool', 9090, ['allocation', 'savings']],
    ['open-cost-tool', 9003, ['allocation']],
  ])('%s is asked at %i alone, and not reachable where that is not forwarded (R74)', async (id, number, names) => {
    const entry = entryOf(id);
    expect(entry.ports.map(({ host, container, exposure }) => [host, container, exposure])).toEqual([[number, number, 'loopback']]);
    expect(Object.keys(entry.calls)).toEqual(names);
    const dialled: unknown[] = [];
    const local = openLocalHost();
    const nobody = {
      ...target(entry),
      host: {
        ...local,
        dial: async (at: { host: string; port: number }) => {
          dialled.push(at);
          // Whatever stands at that port of this machine: here nothing does.
          return local.dial({ host: '127.0.0.1', port: 1 }, AbortSignal.timeout(5_000));
        },
      },
    } as unknown as CallTarget;
    for (const name of names) {
      const answer = await ask(
        nobody,
        name,
        name === 'allocation' ? { span: '7d', ...(id === 'cost-tool' && { dimension: 'namespace' }) } : {},
      );
      expect(answer).toMatchObject({ ok: false, status: 0 });
      expect(answer.failure).toMatch(/^Unreachable\. .* through a forwarded port\.$/);
    }
    expect(dialled).toEqual(names.map(() => ({ host: '127.0.0.1', port: number })));
  });

  it('asks where the port is forwarded (R74)', async () => {
    const { port, seen } = await serve(() => ({ body: '{"code": 200}' }));
    const local = openLocalHost();
    const forwarded = {
      ...target(entryOf('open-cost-tool')),
      host: { ...local, dial: (_: unknown, signal: AbortSignal) => local.dial({ host: '127.0.0.1', port }, signal) },
    } as unknown as CallTarget;
    expect(await ask(forwarded, 'allocation', { span: '7d' })).toMatchObject({ ok: true, status: 200, json: { code: 200 } });
    expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual(['GET /allocation/compute?window=7d']);
  });
});
